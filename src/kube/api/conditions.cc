#include "src/kube/api/conditions.h"

#include <boost/json.hpp>

#include <algorithm>

#include "src/kube/api/json.h"
#include "src/platform/base/ascii.h"
#include "src/platform/base/strings.h"
#include "src/platform/base/time_text.h"

namespace kgpu::kube {
namespace {

namespace json = boost::json;

const json::value* FindEntry(const json::value& object, std::string_view type) {
  const json::value* conditions = FindField(object, {"status", "conditions"});
  const json::array* list = conditions == nullptr ? nullptr : conditions->if_array();
  if (list == nullptr) {
    return nullptr;
  }
  const auto* found = std::ranges::find_if(
      *list, [&](const json::value& entry) { return TextField(entry, {"type"}) == type; });
  return found == list->end() ? nullptr : found;
}

Condition Read(const json::value& entry) {
  return {.type = std::string(TextField(entry, {"type"})),
          .status = std::string(TextField(entry, {"status"})),
          .reason = std::string(TextField(entry, {"reason"})),
          .message = std::string(TextField(entry, {"message"})),
          .observed_generation = IntField(entry, {"observedGeneration"})};
}

// Source: metav1.Condition, reason.
bool IsReason(std::string_view text) {
  const auto is_word = [](char c) { return IsAlphanumeric(c) || c == '_'; };
  return !text.empty() && text.size() <= 1024 && IsLetter(text.front()) && is_word(text.back()) &&
         std::ranges::all_of(text, [&](char c) { return is_word(c) || c == ',' || c == ':'; });
}

Status CheckCondition(const Condition& condition) {
  if (condition.status != "True" && condition.status != "False" && condition.status != "Unknown") {
    return InvalidArgument("condition {}: status \"{}\" must be True, False or Unknown",
                           condition.type, Printable(condition.status, 40));
  }
  if (!IsReason(condition.reason)) {
    return InvalidArgument("condition {}: reason \"{}\" must be one CamelCase word", condition.type,
                           Printable(condition.reason, 80));
  }
  return OkStatus();
}

}  // namespace

std::optional<Condition> FindCondition(const json::value& object, std::string_view type) {
  const json::value* entry = FindEntry(object, type);
  return entry == nullptr ? std::nullopt : std::optional(Read(*entry));
}

StatusOr<std::optional<json::value>> ConditionToWrite(const json::value& object,
                                                      const Condition& condition, WallTime now) {
  if (const Status status = CheckCondition(condition); !status.ok()) {
    return status;
  }
  const json::value* before = FindEntry(object, condition.type);
  if (before != nullptr && Read(*before) == condition) {
    return std::optional<json::value>();
  }
  std::string since = FormatTime(now);
  if (before != nullptr && TextField(*before, {"status"}) == condition.status &&
      !TextField(*before, {"lastTransitionTime"}).empty()) {
    since = TextField(*before, {"lastTransitionTime"});
  }
  json::object entry = {{"type", condition.type},
                        {"status", condition.status},
                        {"reason", condition.reason},
                        {"message", condition.message},
                        {"lastTransitionTime", since}};
  if (condition.observed_generation) {
    entry["observedGeneration"] = *condition.observed_generation;
  }
  return std::optional<json::value>(std::move(entry));
}

}  // namespace kgpu::kube
