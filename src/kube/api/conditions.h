// Conditions in an object's status, written only if they change.
#pragma once

#include <boost/json/fwd.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "src/platform/base/clock.h"
#include "src/platform/base/status.h"

namespace kgpu::kube {

struct Condition {
  std::string type{};
  std::string status{};  // "True", "False", "Unknown"
  std::string reason{};  // CamelCase, never empty
  std::string message{};
  // Of metav1 conditions: the metadata.generation that was observed.
  std::optional<int64_t> observed_generation{};
  bool operator==(const Condition&) const = default;
};

// The condition of that type in `object`'s status.conditions; nothing if there is none.
std::optional<Condition> FindCondition(const boost::json::value& object, std::string_view type);

// `condition` as it should be written into the list; nothing if `object` already has it: an
// unchanged write would be an event for every watcher, ourselves included. lastTransitionTime stays
// the same unless the status changes. Errors: InvalidArgument (a status or reason that the server
// would reject).
StatusOr<std::optional<boost::json::value>> ConditionToWrite(const boost::json::value& object,
                                                             const Condition& condition,
                                                             WallTime now);

}  // namespace kgpu::kube
