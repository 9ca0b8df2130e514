// Collectors defined by the path of fields to a value: most series are made this way.
#pragma once

#include <optional>
#include <type_traits>

#include "src/node/telemetry/series.h"

namespace kgpu::telemetry {

template <typename T>
inline constexpr bool kIsOptional = false;
template <typename T>
inline constexpr bool kIsOptional<std::optional<T>> = true;

// The field at the end of `path`, as an optional; nothing if an optional on the way is empty.
template <auto field, auto... path>
auto Follow(const auto& from) {
  const auto& value = from.*field;
  using Value = std::remove_cvref_t<decltype(value)>;
  if constexpr (sizeof...(path) == 0) {
    if constexpr (kIsOptional<Value>) {
      return value;
    } else {
      return std::optional<Value>(value);
    }
  } else if constexpr (kIsOptional<Value>) {
    return value ? Follow<path...>(*value) : decltype(Follow<path...>(*value))();
  } else {
    return Follow<path...>(value);
  }
}

// A value in a GPU's or MIG device's sample, unchanged or divided by `divisor`.
template <auto... path>
void Plain(const GpuView& view, Values& out) {
  out.Put(Follow<path...>(*view.sample));
}
template <double divisor, auto... path>
void Divided(const GpuView& view, Values& out) {
  out.Divided(Follow<path...>(*view.sample), divisor);
}
template <auto... path>
void MigPlain(const MigView& view, Values& out) {
  out.Put(Follow<path...>(*view.sample));
}
template <double divisor, auto... path>
void MigDivided(const MigView& view, Values& out) {
  out.Divided(Follow<path...>(*view.sample), divisor);
}

}  // namespace kgpu::telemetry
