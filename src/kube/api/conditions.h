// Conditions in the status of objects, written only when they say something new.
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
  // Of metav1 conditions: the metadata.generation that was looked at.
  std::optional<int64_t> observed_generation{};
  bool operator==(const Condition&) const = default;
};

// The condition of that type in `object`'s status.conditions; nothing when there is none.
std::optional<Condition> FindCondition(const boost::json::value& object, std::string_view type);

// `condition` as it is to be written into the list; nothing when `object` says just that already:
// a write of the same would be an event for everybody who watches, ourselves among them.
// lastTransitionTime is that of before unless the status is another one. Errors: InvalidArgument (a
// status or reason that the server refuses).
StatusOr<std::optional<boost::json::value>> ConditionToWrite(const boost::json::value& object,
                                                             const Condition& condition,
                                                             WallTime now);

}  // namespace kgpu::kube
