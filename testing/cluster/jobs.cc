#include "testing/cluster/jobs.h"

#include <boost/json.hpp>

#include <algorithm>

#include "src/platform/doc/json_texts.h"
#include "testing/apiserver/json_fields.h"
#include "testing/apiserver/time_text.h"

namespace kgpu::simcluster {
namespace {

namespace json = boost::json;
using apiserver::FieldAt;
using apiserver::FlagAt;
using apiserver::ItemsAt;
using apiserver::MakeObject;
using apiserver::NumberAt;
using apiserver::SecondsOf;
using apiserver::TextAt;

constexpr int kMostJobDoublings = 6;

// When the pod's last container ended.
int64_t EndTime(const json::object& pod) {
  int64_t last = 0;
  for (const json::value& item : ItemsAt(pod, {"status", "containerStatuses"})) {
    if (item.is_object()) {
      last = std::max(last,
                      SecondsOf(TextAt(item.get_object(), {"state", "terminated", "finishedAt"})));
    }
  }
  return last;
}

bool IsFinished(const json::object& job) {
  return std::ranges::any_of(ItemsAt(job, {"status", "conditions"}), [](const json::value& item) {
    const json::object* condition = item.if_object();
    return condition != nullptr && TextAt(*condition, {"status"}) == "True" &&
           (TextAt(*condition, {"type"}) == "Complete" || TextAt(*condition, {"type"}) == "Failed");
  });
}

}  // namespace

Jobs::Jobs(EventLoop& loop, apiserver::Api& api, const Index& index,
           std::function<void(ObjectKey, std::chrono::nanoseconds)> again,
           std::chrono::milliseconds backoff, std::vector<std::string>& problems)
    : loop_(loop),
      api_(api),
      index_(index),
      again_(std::move(again)),
      backoff_(backoff),
      writer_(api, "kube-controller-manager", problems) {
}

int64_t Jobs::Now() const {
  return SecondsOf(apiserver::TimeText(loop_.clock().WallNow()));
}

Jobs::Pods Jobs::PodsOf(std::string_view uid) const {
  Pods pods;
  for (const ObjectKey& key : index_.PodsOf(uid)) {
    const PodInfo& pod = *index_.Pod(key);
    if (pod.phase == "Succeeded") {
      ++pods.succeeded;
    } else if (pod.phase == "Failed") {
      ++pods.failed;
      pods.last_failure = std::max(pods.last_failure, EndTime(pod.object->object()));
    } else if (!pod.is_deleted) {
      pods.active.push_back(&pod);
      pods.ready += pod.is_ready ? 1 : 0;
    }
  }
  return pods;
}

void Jobs::Sync(const ObjectKey& key) {
  const auto found = api_.Find(PathOf("batch/v1", "jobs", key));
  if (found == nullptr || FieldAt(found->object(), {"metadata", "deletionTimestamp"}) != nullptr) {
    return;
  }
  const json::object& job = found->object();
  if (IsFinished(job)) {
    RemoveWhenOld(key, job);
    return;
  }
  const Pods pods = PodsOf(TextAt(job, {"metadata", "uid"}));
  const End end = EndOf(key, job, pods);
  if (!end.type.empty() || FlagAt(job, {"spec", "suspend"})) {
    for (const PodInfo* pod : pods.active) {
      writer_.DeletePod(pod->object->object());
    }
  } else {
    Start(key, job, pods);
  }
  WriteStatus(key, job, pods, end);
}

Jobs::End Jobs::EndOf(const ObjectKey& key, const json::object& job, const Pods& pods) {
  if (pods.succeeded >= NumberAt(job, {"spec", "completions"}, 1)) {
    return {.type = "Complete",
            .reason = "CompletionsReached",
            .message = "Reached expected number of succeeded pods"};
  }
  if (pods.failed > NumberAt(job, {"spec", "backoffLimit"}, 6)) {
    return {.type = "Failed",
            .reason = "BackoffLimitExceeded",
            .message = "Job has reached the specified backoff limit"};
  }
  const int64_t deadline = NumberAt(job, {"spec", "activeDeadlineSeconds"}, 0);
  const int64_t started = SecondsOf(TextAt(job, {"status", "startTime"}));
  if (deadline > 0 && started > 0) {
    const int64_t left = started + deadline - Now();
    if (left <= 0) {
      return {.type = "Failed",
              .reason = "DeadlineExceeded",
              .message = "Job was active longer than specified deadline"};
    }
    again_(key, std::chrono::seconds(left));
  }
  return {};
}

void Jobs::Start(const ObjectKey& key, const json::object& job, const Pods& pods) {
  if (pods.failed > 0) {
    const auto wait = backoff_ * (1 << std::min<int64_t>(pods.failed - 1, kMostJobDoublings));
    const auto due = std::chrono::seconds(pods.last_failure) + wait;
    if (const auto left = due - std::chrono::seconds(Now()); left.count() > 0) {
      again_(key, left);
      return;
    }
  }
  const auto active = static_cast<int64_t>(pods.active.size());
  const int64_t wanted = std::min(NumberAt(job, {"spec", "parallelism"}, 1),
                                  NumberAt(job, {"spec", "completions"}, 1) - pods.succeeded);
  const json::object pod = PodFromTemplate(job, "batch/v1", "Job");
  for (int64_t more = wanted - active; more > 0; --more) {
    writer_.Create(fmt::format("/api/v1/namespaces/{}/pods", key.name_space), pod);
  }
}

void Jobs::RemoveWhenOld(const ObjectKey& key, const json::object& job) {
  const int64_t keeps = NumberAt(job, {"spec", "ttlSecondsAfterFinished"}, -1);
  if (keeps < 0) {
    return;
  }
  int64_t ended = SecondsOf(TextAt(job, {"status", "completionTime"}));
  for (const json::value& item : ItemsAt(job, {"status", "conditions"})) {
    ended = std::max(ended, SecondsOf(TextAt(item.as_object(), {"lastTransitionTime"})));
  }
  if (const int64_t left = ended + keeps - Now(); left > 0) {
    again_(key, std::chrono::seconds(left));
    return;
  }
  writer_.Delete(PathOf("batch/v1", "jobs", key), TextAt(job, {"metadata", "uid"}));
}

void Jobs::WriteStatus(const ObjectKey& key, const json::object& job, const Pods& pods,
                       const End& end) {
  const std::string now = apiserver::TimeText(loop_.clock().WallNow());
  const bool goes_on = end.type.empty();
  json::object status = {{"active", goes_on ? static_cast<int64_t>(pods.active.size()) : 0},
                         {"ready", goes_on ? pods.ready : 0},
                         {"succeeded", pods.succeeded},
                         {"failed", pods.failed}};
  if (TextAt(job, {"status", "startTime"}).empty()) {
    status["startTime"] = now;
  }
  if (!goes_on) {
    // As the real controller: first that it will end so, then that it has.
    const bool is_complete = end.type == "Complete";
    json::array conditions =
        WithCondition(ItemsAt(job, {"status", "conditions"}),
                      {{"type", is_complete ? "SuccessCriteriaMet" : "FailureTarget"},
                       {"status", "True"},
                       {"reason", doc::View(end.reason)},
                       {"message", doc::View(end.message)}},
                      now);
    status["conditions"] = WithCondition(conditions,
                                         {{"type", doc::View(end.type)},
                                          {"status", "True"},
                                          {"reason", doc::View(end.reason)},
                                          {"message", doc::View(end.message)}},
                                         now);
    if (is_complete) {
      status["completionTime"] = now;
    }
  }
  writer_.PatchStatus(PathOf("batch/v1", "jobs", key), job, status);
}

}  // namespace kgpu::simcluster
