#include "src/kube/objects/apply_set.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <optional>
#include <set>
#include <utility>

#include "src/kube/api/api_error.h"
#include "src/kube/api/conditions.h"
#include "src/kube/api/json.h"
#include "src/kube/api/writes.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"

namespace kgpu::kube {
namespace {

namespace json = boost::json;
using std::chrono::milliseconds;

constexpr Resource kDefinitions{"apiextensions.k8s.io", "v1", "customresourcedefinitions"};
constexpr milliseconds kLookAgain{500};
constexpr milliseconds kServedTime{10'000};

constexpr std::string_view kConflict = "others have set fields to other values: ";
constexpr std::string_view kConflictFix = ": undo that, or overwrite it with --force-conflicts";

// A conflict in the words of the person who must decide.
Status ExplainConflict(const Status& status) {
  const std::optional<ApiError> error = ApiErrorOf(status);
  if (!error || !HasReason(status, "FieldManagerConflict")) {
    return status;
  }
  std::vector<std::string> fields;
  for (const ErrorCause& cause : error->causes) {
    fields.push_back(fmt::format("{} ({})", cause.field, cause.message));
  }
  return MakeStatus(StatusCode::kAborted,
                    fmt::format("{}{}{}", kConflict, Join(fields, ", "), kConflictFix));
}

bool IsConflict(const ApplyResult& result) {
  return result.status.code() == StatusCode::kAborted &&
         std::string_view(Message(result.status)).starts_with(kConflict);
}

// Without what all conflicts have in common.
std::string FieldsOf(const ApplyResult& conflict) {
  std::string text(Message(conflict.status));
  text.resize(text.size() - kConflictFix.size());
  return fmt::format("{}: {}", TextOf(conflict.ref), text.substr(kConflict.size()));
}

Status StatusOfConflicts(const std::vector<ApplyResult>& results) {
  std::vector<std::string> conflicts;
  size_t others = 0;
  for (const ApplyResult& result : results) {
    if (IsConflict(result)) {
      conflicts.push_back(FieldsOf(result));
    } else {
      others += result.status.ok() ? 0 : 1;
    }
  }
  const std::string rest = others == 0 ? "" : fmt::format(" (and {} more objects failed)", others);
  return MakeStatus(StatusCode::kAborted,
                    fmt::format("{}{}{}{}", kConflict, Join(conflicts, "; "), kConflictFix, rest));
}

// Both ways to apply with kubectl; `kubectl edit` is a change by a person.
bool IsKubectlApply(const json::value& entry) {
  const std::string_view manager = TextField(entry, {"manager"});
  return manager == "kubectl-client-side-apply" ||
         (manager == "kubectl" && TextField(entry, {"operation"}) == "Apply");
}

bool IsSilent(const Status& status) {
  return status.code() == StatusCode::kUnavailable ||
         status.code() == StatusCode::kDeadlineExceeded;
}

class Applier {
 public:
  Applier(BlockingClient& client, Kinds& kinds, const ApplyOptions& options)
      : client_(client), kinds_(kinds), options_(options) {}

  ApplyResult Apply(const json::value& object) {
    ApplyResult result{.ref = RefOf(object)};
    if (options_.is_dry_run && IsInNewPlace(result.ref)) {
      result.outcome = ApplyOutcome::kCreated;
      return result;
    }
    result.status = Send(object, result);
    if (!result.status.ok()) {
      result.outcome = ApplyOutcome::kFailed;
    } else if (result.outcome == ApplyOutcome::kCreated) {
      created_.insert(result.ref);
    }
    return result;
  }

 private:
  // Whether the namespace or the kind would only exist after an earlier object of this dry run.
  bool IsInNewPlace(const ObjectRef& ref) const {
    return new_kinds_.contains({ref.api_version, ref.kind}) ||
           std::ranges::any_of(created_, [&](const ObjectRef& created) {
             return created.kind == "Namespace" && created.name == ref.space;
           });
  }

  Status Send(const json::value& object, ApplyResult& result) {
    ASSIGN_OR_RETURN(const std::string path, kinds_.PathOf(result.ref));
    const StatusOr<json::value> before =
        SendUntilReached(client_, {.path = path}, options_.reach_time);
    if (!before.ok() && before.status().code() != StatusCode::kNotFound) {
      return before.status();
    }
    ASSIGN_OR_RETURN(const ApiRequest request,
                     ApplyRequest(path, object, options_.force,
                                  {.field_manager = options_.field_manager,
                                   .is_dry_run = options_.is_dry_run,
                                   .is_strict = true}));
    const StatusOr<json::value> after = SendToNewKind(request, result.ref);
    if (!after.ok()) {
      return ExplainConflict(after.status());
    }
    if (!before.ok()) {
      result.outcome = ApplyOutcome::kCreated;
    } else {
      result.changes = DiffObjects(*before, *after);
      result.outcome = result.changes.empty() ? ApplyOutcome::kUnchanged : ApplyOutcome::kChanged;
    }
    if (before.ok() || !options_.is_dry_run) {
      result.uid = TextField(*after, {"metadata", "uid"});
    }
    RETURN_IF_ERROR(ReplaceKubectl(path, *after, result.ref));
    return AfterDefinition(object, result);
  }

  Status ReplaceKubectl(const std::string& path, const json::value& object, const ObjectRef& ref) {
    const json::value* managers = FindField(object, {"metadata", "managedFields"});
    if (options_.is_dry_run || !options_.replaces_kubectl || !options_.replaces_kubectl(ref) ||
        managers == nullptr || !managers->is_array()) {
      return OkStatus();
    }
    json::array others;
    std::ranges::copy_if(managers->get_array(), std::back_inserter(others),
                         [](const json::value& entry) { return !IsKubectlApply(entry); });
    if (others.size() == managers->get_array().size()) {
      return OkStatus();
    }
    const json::array patch = {
        {{"op", "test"},
         {"path", "/metadata/resourceVersion"},
         {"value", json::string(VersionOf(object))}},
        {{"op", "replace"}, {"path", "/metadata/managedFields"}, {"value", std::move(others)}}};
    return SendUntilReached(client_,
                            PatchRequest(path, PatchType::kJson, patch,
                                         {.field_manager = options_.field_manager}),
                            options_.reach_time)
        .status();
  }

  // A definition that is established may be unknown to some of the servers for a moment.
  StatusOr<json::value> SendToNewKind(const ApiRequest& request, const ObjectRef& ref) {
    const SteadyTime until = client_.clock().Now() + kServedTime;
    for (;;) {
      StatusOr<json::value> answer = SendUntilReached(client_, request, options_.reach_time);
      if (answer.status().code() != StatusCode::kNotFound ||
          !new_groups_.contains(std::string(GroupOf(ref.api_version))) ||
          client_.clock().Now() > until) {
        return answer;
      }
      client_.Wait(kLookAgain);
    }
  }

  Status AfterDefinition(const json::value& object, const ApplyResult& result) {
    if (result.ref.kind != "CustomResourceDefinition") {
      return OkStatus();
    }
    kinds_.Learn(object);
    new_groups_.emplace(TextField(object, {"spec", "group"}));
    if (!options_.is_dry_run) {
      return WaitEstablished(client_, result.ref.name, options_.established_time);
    }
    if (result.outcome == ApplyOutcome::kCreated) {
      const json::value* versions = FindField(object, {"spec", "versions"});
      const std::string kind(TextField(object, {"spec", "names", "kind"}));
      const std::string_view group = TextField(object, {"spec", "group"});
      for (const json::value& version :
           versions != nullptr && versions->is_array() ? versions->get_array() : json::array()) {
        new_kinds_.emplace(fmt::format("{}/{}", group, TextField(version, {"name"})), kind);
      }
    }
    return OkStatus();
  }

  BlockingClient& client_;
  Kinds& kinds_;
  const ApplyOptions& options_;
  std::set<ObjectRef> created_;
  std::set<std::string> new_groups_;                         // of definitions in the set
  std::set<std::pair<std::string, std::string>> new_kinds_;  // apiVersion, kind: of a dry run
};

}  // namespace

std::string_view ToString(ApplyOutcome outcome) {
  static constexpr std::array<std::string_view, 4> kWords = {"created", "changed", "unchanged",
                                                             "failed"};
  return kWords.at(static_cast<size_t>(outcome));
}

std::vector<ApplyResult> ApplyObjects(BlockingClient& client, Kinds& kinds,
                                      std::vector<json::value> objects,
                                      const ApplyOptions& options) {
  SortForApply(objects);
  Applier applier(client, kinds, options);
  std::vector<ApplyResult> results;
  for (const json::value& object : objects) {
    results.push_back(applier.Apply(object));
    if (options.on_result) {
      options.on_result(results.back());
    }
    if (IsSilent(results.back().status) && !ApiErrorOf(results.back().status)) {
      break;
    }
  }
  return results;
}

Status StatusOfResults(const std::vector<ApplyResult>& results) {
  const auto failed = [](const ApplyResult& result) { return !result.status.ok(); };
  const auto first = std::ranges::find_if(results, failed);
  if (first == results.end()) {
    return OkStatus();
  }
  if (IsConflict(*first)) {
    return StatusOfConflicts(results);
  }
  const auto others = std::ranges::count_if(results, failed) - 1;
  const Status status = Annotate(first->status, "{}", TextOf(first->ref));
  return others == 0 ? status
                     : MakeStatus(status.code(), fmt::format("{} (and {} more objects failed)",
                                                             Message(status), others));
}

Status WaitEstablished(BlockingClient& client, const std::string& definition, milliseconds time) {
  const SteadyTime until = client.clock().Now() + time;
  for (;;) {
    ASSIGN_OR_RETURN(const json::value object,
                     SendUntilReached(client, {.path = kDefinitions.Object("", definition)}, time));
    const std::optional<Condition> names = FindCondition(object, "NamesAccepted");
    if (names && names->status == "False") {
      return InvalidArgument("the names of {} are taken: {}", definition, names->message);
    }
    const std::optional<Condition> established = FindCondition(object, "Established");
    if (established && established->status == "True") {
      return OkStatus();
    }
    if (client.clock().Now() + kLookAgain > until) {
      return DeadlineExceeded("{} is not established after {} s: {}", definition,
                              std::chrono::duration_cast<std::chrono::seconds>(time).count(),
                              established ? established->message : "no condition Established yet");
    }
    client.Wait(kLookAgain);
  }
}

}  // namespace kgpu::kube
