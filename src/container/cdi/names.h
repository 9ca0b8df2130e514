// The naming rules of CDI: vendors, classes, device names. Source: SPEC.md, "Kind" and "Devices".
#pragma once

#include <string>
#include <string_view>

#include "src/platform/base/status.h"

namespace kgpu::cdi {

// "vendor.com/class" in its two halves.
struct Kind {
  std::string vendor;
  std::string device_class;
};
// Errors: InvalidArgument saying which rule is broken.
StatusOr<Kind> ParseKind(std::string_view text);

// Letters, digits, "-", "_", "." and ":" between a letter or digit at either end.
Status ValidateDeviceName(std::string_view name);

// "vendor.com/class=name", as engines are asked for a device.
std::string QualifiedName(std::string_view kind, std::string_view device);

}  // namespace kgpu::cdi
