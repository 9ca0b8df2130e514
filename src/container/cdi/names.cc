#include "src/container/cdi/names.h"

#include <algorithm>

#include "src/platform/base/ascii.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"

namespace kgpu::cdi {
namespace {

constexpr size_t kMaxVendor = 253;
constexpr size_t kMaxClass = 63;

// The shape that vendors, classes and device names share.
bool HasShape(std::string_view text, std::string_view extra) {
  return !text.empty() && IsAlphanumeric(text.front()) && IsAlphanumeric(text.back()) &&
         std::ranges::all_of(text, [extra](char c) {
           return IsAlphanumeric(c) || extra.find(c) != std::string_view::npos;
         });
}

}  // namespace

StatusOr<Kind> ParseKind(std::string_view text) {
  const size_t slash = text.find('/');
  if (slash == std::string_view::npos) {
    return InvalidArgument("kind \"{}\" must have the form vendor.com/class", Printable(text));
  }
  const std::string_view vendor = text.substr(0, slash);
  const std::string_view device_class = text.substr(slash + 1);
  if (vendor.size() > kMaxVendor || !HasShape(vendor, "-_.") || !IsLetter(vendor.front())) {
    return InvalidArgument(
        "kind \"{}\": the vendor must begin with a letter, end with a letter or digit, contain "
        "only letters, digits, \"-\", \"_\" and \".\", and have at most {} characters",
        Printable(text), kMaxVendor);
  }
  if (device_class.size() > kMaxClass || !HasShape(device_class, "-_.") ||
      !IsLetter(device_class.front())) {
    return InvalidArgument(
        "kind \"{}\": the class must begin with a letter, end with a letter or digit, contain only "
        "letters, digits, \"-\", \"_\" and \".\", and have at most {} characters",
        Printable(text), kMaxClass);
  }
  return Kind{std::string(vendor), std::string(device_class)};
}

Status ValidateDeviceName(std::string_view name) {
  if (!HasShape(name, "-_.:")) {
    return InvalidArgument(
        "device name \"{}\" must begin and end with a letter or digit and contain only letters, "
        "digits, \"-\", \"_\", \".\" and \":\"",
        Printable(name));
  }
  return OkStatus();
}

std::string QualifiedName(std::string_view kind, std::string_view device) {
  return fmt::format("{}={}", kind, device);
}

}  // namespace kgpu::cdi
