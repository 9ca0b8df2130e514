#include "src/node/dra/publisher.h"

#include <boost/json.hpp>

#include <algorithm>
#include <chrono>
#include <utility>

#include "src/kube/api/json.h"
#include "src/kube/api/resource.h"
#include "src/kube/api/writes.h"
#include "src/platform/base/log.h"
#include "src/platform/base/strings.h"

namespace kgpu::dra {
namespace {

namespace json = boost::json;
using std::chrono::nanoseconds;
using std::chrono::seconds;

constexpr kube::Resource kSlices{"resource.k8s.io", "v1", "resourceslices"};
// How long the watch may lag behind the response to a write.
constexpr seconds kWatchLag{60};
// Larger ones are not ours: a node has at most a few hundred devices.
constexpr size_t kMaxSlices = 1000;

// Versions of one resource grow, as numbers (Kubernetes 1.35). 0: it has none.
uint64_t NumberOf(const json::value& slice) {
  return ParseUint(kube::VersionOf(slice)).value_or(0);
}

}  // namespace

Publisher::Publisher(EventLoop& loop, kube::Client& client, Random& random, std::string node,
                     std::function<void()> changed)
    : loop_(loop),
      client_(client),
      random_(random),
      node_(std::move(node)),
      changed_(std::move(changed)),
      backoff_(random, {.first = seconds(1), .longest = seconds(60)}) {
}

void Publisher::SetWanted(WantedSlices wanted) {
  wanted_ = std::move(wanted);
  std::erase_if(taken_, [&](const auto& taken) {
    return std::ranges::none_of(
        wanted_->specs, [&](const auto& slice) { return ContentOf(slice.second) == taken.first; });
  });
  if (slices_ == nullptr) {
    Follow();
  }
  Step();
}

void Publisher::Follow() {
  kube::ReflectorOptions options{.max_objects = kMaxSlices};
  options.selection = {
      .path = kSlices.Collection(),
      .field_selector = fmt::format("spec.nodeName={},spec.driver={}", node_, kDriverName)};
  slices_ = std::make_unique<kube::Reflector>(
      loop_, client_, random_, std::move(options),
      kube::ReflectorHandlers{
          .on_changed = [this](const kube::ObjectPtr& slice) { OnWatched(*slice); },
          .on_gone = [this](const kube::ObjectPtr& slice) { OnWatched(*slice); },
          .on_synced = [this] { Step(); },
          .on_trouble =
              [this](const Status& status) {
                if (!state_.is_published) {
                  Report(false, std::string(Message(status)));
                }
              }});
}

// Whether the watch knows what the response to a write said, or something later.
bool Publisher::HasSeen(const std::string& name, const Answered& answered) const {
  const kube::ObjectPtr now = slices_->Find(name);
  if (!answered.slice) {
    return now == nullptr || kube::TextField(*now, {"metadata", "uid"}) != answered.uid;
  }
  return now != nullptr && NumberOf(*now) >= NumberOf(*answered.slice);
}

// The slice has changed, or is gone: then it is the last version of it.
void Publisher::OnWatched(const json::value& slice) {
  const auto found = answered_.find(std::string(kube::NameOf(slice)));
  if (found != answered_.end()) {
    const std::optional<json::value>& written = found->second.slice;
    const bool is_gone = slices_->Find(found->first) == nullptr && written.has_value() &&
                         NumberOf(slice) >= NumberOf(*written);
    if (is_gone || HasSeen(found->first, found->second)) {
      answered_.erase(found);
    }
  }
  timer_.Arm(nanoseconds(0), [this] { Step(); });
}

// As the responses say, where the watch may not have seen them.
std::map<std::string, json::value> Publisher::Existing() {
  std::map<std::string, json::value> existing;
  for (const auto& [name, slice] : slices_->objects()) {
    existing.emplace(name, *slice);
  }
  std::erase_if(answered_, [&](const auto& answer) {
    return loop_.clock().Now() - answer.second.at >= kWatchLag ||
           HasSeen(answer.first, answer.second);
  });
  for (const auto& [name, answer] : answered_) {
    if (answer.slice) {
      existing[name] = *answer.slice;
    } else {
      existing.erase(name);
    }
  }
  return existing;
}

void Publisher::Step() {
  if (call_ != nullptr || !wanted_ || wanted_->node.uid.empty() || !slices_->is_synced()) {
    return;
  }
  auto next = NextWrite(*wanted_, Existing(), taken_, loop_.clock().WallNow());
  if (next) {
    return Send(*std::move(next));
  }
  if (!answered_.empty()) {
    timer_.Arm(kWatchLag, [this] { Step(); });
  }
  backoff_.Reset();
  Report(true, "");
}

void Publisher::Send(SliceWrite write) {
  const std::string path = kSlices.Object("", write.name);
  StatusOr<kube::ApiRequest> request = write.is_delete()
                                           ? kube::DeleteRequest(path, {.uid = write.uid})
                                           : kube::ApplyRequest(path, write.object, true);
  if (!request.ok()) {
    return Report(false, std::string(Message(request.status())));
  }
  request->is_repeated = false;
  Report(false, state_.problem);
  call_ = client_.Send(*std::move(request),
                       [this, write = std::move(write)](StatusOr<json::value> answer) {
                         const std::unique_ptr<kube::Call> ended = std::move(call_);
                         OnWritten(write, std::move(answer));
                       });
}

void Publisher::OnWritten(const SliceWrite& write, StatusOr<json::value> answer) {
  const bool is_gone = write.is_delete() && answer.status().code() == StatusCode::kNotFound;
  if (!answer.ok() && !is_gone) {
    Report(false, fmt::format("slice {}: {}", write.name, Message(answer.status())));
    timer_.Arm(backoff_.Next(loop_.clock().Now()), [this] { Step(); });
    return;
  }
  ++state_.writes;
  Answered& answered = answered_[write.name];
  answered = {.uid = write.uid, .at = loop_.clock().Now()};
  if (!write.is_delete()) {
    const json::value* stored = kube::FindField(*answer, {"spec"});
    if (stored != nullptr && stored->is_object()) {
      taken_[ContentOf(write.object.at("spec").as_object())] = ContentOf(stored->get_object());
    }
    answered.slice = *std::move(answer);
  }
  Step();
}

void Publisher::Report(bool is_published, std::string problem) {
  if (state_.is_published == is_published && state_.problem == problem) {
    return;
  }
  if (!problem.empty() && problem != state_.problem) {
    KGPU_LOG(kWarning, "ResourceSlices are not published", {"reason", problem});
  }
  state_.is_published = is_published;
  state_.problem = std::move(problem);
  changed_();
}

}  // namespace kgpu::dra
