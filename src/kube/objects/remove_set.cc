#include "src/kube/objects/remove_set.h"

#include <boost/json.hpp>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "src/kube/api/api_error.h"
#include "src/kube/api/json.h"
#include "src/kube/api/writes.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"
#include "src/platform/doc/json_values.h"

namespace kgpu::kube {
namespace {

namespace json = boost::json;
using std::chrono::milliseconds;

constexpr milliseconds kGonePause{500};

// What keeps an object that is being deleted.
std::string HolderOf(const json::value& object) {
  std::vector<std::string> reasons;
  const std::vector<std::string> finalizers =
      doc::TextsOf(FindField(object, {"metadata", "finalizers"}));
  if (!finalizers.empty()) {
    reasons.push_back(fmt::format("its finalizers {}", Join(finalizers, ", ")));
  }
  // A namespace says what is left in it.
  const json::value* conditions = FindField(object, {"status", "conditions"});
  if (TextField(object, {"kind"}) == "Namespace" && conditions != nullptr &&
      conditions->is_array()) {
    for (const json::value& condition : conditions->get_array()) {
      if (TextField(condition, {"status"}) == "True") {
        reasons.emplace_back(TextField(condition, {"message"}));
      }
    }
  }
  return reasons.empty() ? "what belongs to it" : Join(reasons, "; ");
}

class Remover {
 public:
  Remover(BlockingClient& client, Kinds& kinds, const RemoveOptions& options)
      : client_(client), kinds_(kinds), options_(options) {}

  RemoveResult Remove(const RemoveTarget& target) {
    RemoveResult result{.ref = target.ref};
    StatusOr<RemoveOutcome> outcome = Try(target);
    result.outcome = outcome.ok() ? *outcome : RemoveOutcome::kFailed;
    result.status = outcome.status();
    return result;
  }

 private:
  StatusOr<RemoveOutcome> Try(const RemoveTarget& target) {
    StatusOr<std::string> path = kinds_.PathOf(target.ref);
    if (path.status().code() == StatusCode::kNotFound) {
      return RemoveOutcome::kAbsent;  // as its whole kind
    }
    RETURN_IF_ERROR(path.status());
    const StatusOr<json::value> object = Get(*path);
    if (object.status().code() == StatusCode::kNotFound) {
      return RemoveOutcome::kAbsent;
    }
    RETURN_IF_ERROR(object.status());
    const std::string uid(TextField(*object, {"metadata", "uid"}));
    if (!target.uid.empty() && target.uid != uid) {
      return RemoveOutcome::kReplaced;
    }
    const StatusOr<json::value> answer = SendUntilReached(
        client_,
        DeleteRequest(*path,
                      {.uid = uid, .propagation = "Foreground", .is_dry_run = options_.is_dry_run}),
        options_.reach_time);
    if (answer.status().code() == StatusCode::kNotFound) {
      return RemoveOutcome::kRemoved;
    }
    if (answer.status().code() == StatusCode::kAborted) {
      return RemoveOutcome::kReplaced;
    }
    RETURN_IF_ERROR(answer.status());
    if (options_.is_dry_run) {
      return RemoveOutcome::kRemoved;
    }
    return WaitGone(*path, uid);
  }

  StatusOr<json::value> Get(const std::string& path) {
    return SendUntilReached(client_, {.path = path}, options_.reach_time);
  }

  StatusOr<RemoveOutcome> WaitGone(const std::string& path, const std::string& uid) {
    const SteadyTime until = client_.clock().Now() + options_.gone_time;
    for (;;) {
      const StatusOr<json::value> object = Get(path);
      if (object.status().code() == StatusCode::kNotFound ||
          (object.ok() && TextField(*object, {"metadata", "uid"}) != uid)) {
        return RemoveOutcome::kRemoved;
      }
      RETURN_IF_ERROR(object.status());
      if (client_.clock().Now() + kGonePause > until) {
        return DeadlineExceeded(
            "still there after {} s: waits for {}",
            std::chrono::duration_cast<std::chrono::seconds>(options_.gone_time).count(),
            HolderOf(*object));
      }
      client_.Wait(kGonePause);
    }
  }

  BlockingClient& client_;
  Kinds& kinds_;
  const RemoveOptions& options_;
};

}  // namespace

std::string_view ToString(RemoveOutcome outcome) {
  static constexpr std::array<std::string_view, 4> kNames = {"removed", "absent", "replaced",
                                                             "failed"};
  return kNames.at(static_cast<size_t>(outcome));
}

std::vector<RemoveResult> RemoveObjects(BlockingClient& client, Kinds& kinds,
                                        std::vector<RemoveTarget> targets,
                                        const RemoveOptions& options) {
  std::ranges::stable_sort(targets, std::greater(),
                           [](const RemoveTarget& target) { return OrderOf(target.ref); });
  Remover remover(client, kinds, options);
  std::vector<RemoveResult> results;
  for (const RemoveTarget& target : targets) {
    results.push_back(remover.Remove(target));
    if (options.on_result) {
      options.on_result(results.back());
    }
    if (results.back().status.code() == StatusCode::kUnavailable &&
        !ApiErrorOf(results.back().status)) {
      break;
    }
  }
  return results;
}

Status StatusOfResults(const std::vector<RemoveResult>& results) {
  const auto first =
      std::ranges::find_if(results, [](const RemoveResult& result) { return !result.status.ok(); });
  return first == results.end() ? OkStatus() : Annotate(first->status, "{}", TextOf(first->ref));
}

}  // namespace kgpu::kube
