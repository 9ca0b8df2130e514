// The naming rules of CDI: vendors, classes, device names. Source: SPEC.md, "Kind" and "Devices".
#pragma once

#include <string>
#include <string_view>

#include "src/platform/base/status.h"

namespace kgpu::cdi {

// "vendor.com/class", split in two.
struct Kind {
  std::string vendor;
  std::string device_class;
};
// Errors: InvalidArgument with the violated rule.
StatusOr<Kind> ParseKind(std::string_view text);

// Letters, digits, "-", "_", "." and ":", with a letter or digit at both ends.
Status ValidateDeviceName(std::string_view name);

// "vendor.com/class=name", the form in which engines are asked for a device.
std::string QualifiedName(std::string_view kind, std::string_view device);

}  // namespace kgpu::cdi
