#include "src/cluster/controller/feature_sweeper.h"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <algorithm>
#include <chrono>
#include <utility>

#include "src/kube/api/json.h"
#include "src/kube/api/lister.h"
#include "src/kube/api/resource.h"
#include "src/kube/api/writes.h"
#include "src/node/labels/node_feature.h"

namespace kgpu::controller {
namespace {

namespace json = boost::json;
using std::chrono::hours;
using std::chrono::nanoseconds;
using std::chrono::seconds;

constexpr kube::Resource kNodeFeatures{"nfd.k8s-sigs.io", "v1alpha1", "nodefeatures"};
constexpr seconds kSoon{30};
constexpr hours kRegularly{1};
// The field manager of the agents.
constexpr std::string_view kAgent = "kgpu";

std::string_view NodeOf(const json::value& object) {
  return kube::TextField(object, {"metadata", "labels", labels::kNodeNameLabel});
}

bool IsOfAnAgent(const json::value& object) {
  const json::value* managers = kube::FindField(object, {"metadata", "managedFields"});
  return managers != nullptr && managers->is_array() &&
         std::ranges::any_of(managers->get_array(), [](const json::value& one) {
           return kube::TextField(one, {"manager"}) == kAgent;
         });
}

}  // namespace

FeatureSweeper::FeatureSweeper(EventLoop& loop, kube::Client& client, std::string space,
                               HasNode has_node)
    : loop_(loop), client_(client), space_(std::move(space)), has_node_(std::move(has_node)) {
  Arm(kSoon);
}

FeatureSweeper::~FeatureSweeper() = default;

void FeatureSweeper::Sweep() {
  Arm(kSoon);
}

void FeatureSweeper::Arm(nanoseconds delay) {
  const SteadyTime due = loop_.clock().Now() + delay;
  if (timer_.is_armed() && due_ <= due) {
    return;
  }
  due_ = due;
  timer_.Arm(delay, [this] {
    List();
    Arm(kRegularly);
  });
}

void FeatureSweeper::List() {
  if (call_ != nullptr) {
    return;
  }
  call_ = kube::ListObjects(
      client_,
      {.selection = {.path = kNodeFeatures.Collection(space_)},
       .chunk = 100,
       .keeps =
           [this](const json::value& object) {
             return IsOfAnAgent(object) && !NodeOf(object).empty() && !has_node_(NodeOf(object));
           },
       .trim =
           [](json::value& object) { object = json::object{{"metadata", object.at("metadata")}}; }},
      [this](const StatusOr<kube::ListResult>& result) {
        call_.reset();
        // Most clusters do not have the API.
        for (const json::value& object : result.ok() ? result->items : std::vector<json::value>()) {
          deletes_.push_back(kube::DeleteRequest(
              kNodeFeatures.Object(space_, kube::NameOf(object)),
              {.uid = std::string(kube::TextField(object, {"metadata", "uid"}))}));
        }
        DeleteNext();
      });
}

void FeatureSweeper::DeleteNext() {
  if (deletes_.empty()) {
    return;
  }
  kube::ApiRequest request = std::move(deletes_.back());
  deletes_.pop_back();
  call_ = client_.Send(std::move(request), [this](const StatusOr<json::value>& answer) {
    call_.reset();
    deleted_ += answer.ok() ? 1 : 0;
    DeleteNext();
  });
}

}  // namespace kgpu::controller
