#include "src/node/object/pod_scan.h"

#include <fmt/format.h>

#include <boost/json.hpp>
#include <utility>

#include "src/kube/api/json.h"
#include "src/kube/api/resource.h"

namespace kgpu::node {
namespace {

// A pod is 10 to 20 kB of JSON: no more than this many are in memory at a time.
constexpr char kChunk[] = "20";

}  // namespace

PodScan::PodScan(kube::Client& client, std::string node, Done done)
    : client_(client), node_(std::move(node)), done_(std::move(done)) {
  Ask("");
}

void PodScan::Ask(const std::string& continue_token) {
  kube::ApiRequest request;
  request.path = kube::kPods.Collection();
  request.query = {{"fieldSelector", fmt::format("spec.nodeName={}", node_)}, {"limit", kChunk}};
  if (!continue_token.empty()) {
    request.query.emplace_back("continue", continue_token);
  }
  call_ = client_.Send(std::move(request), [this](const StatusOr<boost::json::value>& answer) {
    call_.reset();
    OnAnswer(answer);
  });
}

void PodScan::OnAnswer(const StatusOr<boost::json::value>& answer) {
  // A copy: the caller may destroy the scan.
  const Done done = done_;
  if (!answer.ok()) {
    return done(Annotate(answer.status(), "listing the pods of node {}", node_));
  }
  const boost::json::value* items = kube::FindField(*answer, {"items"});
  if (items != nullptr && items->is_array()) {
    for (const boost::json::value& item : items->get_array()) {
      SeenPod pod = ReadPod(item);
      if (OwnerOfPod(pod)) {
        found_.push_back(std::move(pod));
      }
    }
  }
  const std::string next(kube::TextField(*answer, {"metadata", "continue"}));
  if (next.empty()) {
    return done(std::move(found_));
  }
  Ask(next);
}

}  // namespace kgpu::node
