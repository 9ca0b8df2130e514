#include "testing/kubelet/resource_name.h"

#include <algorithm>

#include "src/platform/base/ascii.h"
#include "src/platform/base/strings.h"

namespace kgpu::kubelet {
namespace {

constexpr size_t kMaxName = 63;
constexpr size_t kMaxPrefix = 253;
// The quota of a resource has this in front of it, and must be a legal name too.
constexpr std::string_view kQuotaPrefix = "requests.";

bool IsLowerOrDigit(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

bool IsNamePart(std::string_view name) {
  return !name.empty() && name.size() <= kMaxName && IsAlphanumeric(name.front()) &&
         IsAlphanumeric(name.back()) && std::ranges::all_of(name, [](char c) {
           return IsAlphanumeric(c) || c == '-' || c == '_' || c == '.';
         });
}

bool IsDnsLabel(std::string_view label) {
  return !label.empty() && IsLowerOrDigit(label.front()) && IsLowerOrDigit(label.back()) &&
         std::ranges::all_of(label, [](char c) { return IsLowerOrDigit(c) || c == '-'; });
}

bool IsSubdomain(std::string_view prefix) {
  return prefix.size() + kQuotaPrefix.size() <= kMaxPrefix &&
         std::ranges::all_of(Split(prefix, '.'), IsDnsLabel);
}

}  // namespace

bool IsExtendedResourceName(std::string_view name) {
  const size_t slash = name.find('/');
  return slash != std::string_view::npos && slash == name.rfind('/') &&
         name.find("kubernetes.io/") == std::string_view::npos && !name.starts_with(kQuotaPrefix) &&
         IsSubdomain(name.substr(0, slash)) && IsNamePart(name.substr(slash + 1));
}

}  // namespace kgpu::kubelet
