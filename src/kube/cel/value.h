// The values of CEL, as far as selectors of devices have them. Pure functions.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "src/platform/base/amount.h"
#include "src/platform/base/status.h"

namespace kgpu::cel {

// Semantic Versioning 2.0, without the build, which no comparison looks at.
struct Semver {
  std::array<uint64_t, 3> numbers{};       // major, minor, patch
  std::vector<std::string> pre_release{};  // "rc.1" in its parts
};
// Strict, as Kubernetes reads it: three numbers without leading zeros. Nothing for other texts.
std::optional<Semver> ParseSemver(std::string_view text);
// Below, equal to or above zero.
int Compare(const Semver& a, const Semver& b);

struct Value;
using List = std::vector<Value>;

struct Map;

// Of `.?field`: null if there is no such field.
struct Optional {
  std::shared_ptr<const Value> value{};
};

struct Value {
  std::variant<std::monostate, bool, int64_t, double, std::string, Amount, Semver,
               std::shared_ptr<const List>, std::shared_ptr<const Map>, Optional>
      of{};

  template <typename T>
  const T* If() const {
    return std::get_if<T>(&of);
  }
  // Null if it is no map.
  const Map* IfMap() const;
  const List* IfList() const;
};

struct Map {
  std::map<std::string, Value, std::less<>> fields{};
  bool has_every_key = false;  // a key that is missing stands for an empty map: device.attributes
};

Value MapValue(Map map);
Value ListValue(List list);
// Kubernetes computes with quantities without limits, kgpu in thousandths. Errors: InvalidArgument
// (no quantity), Unimplemented (negative, finer or larger).
StatusOr<Value> QuantityValue(std::string_view text);

// "string", "int", "quantity", …
std::string_view TypeName(const Value& value);
// For messages: `"A100"`, `8`, `40Gi`; of a list or a map the type.
std::string TextOf(const Value& value);

// The operator ==: numbers by value, false for two types. Errors: InvalidArgument (a quantity or a
// version with another type), Unimplemented (of maps).
StatusOr<bool> AreEqual(const Value& a, const Value& b);
// The order of two numbers, texts or booleans; equal for NaN. Errors: InvalidArgument (other
// types).
StatusOr<int> Order(const Value& a, const Value& b);

}  // namespace kgpu::cel
