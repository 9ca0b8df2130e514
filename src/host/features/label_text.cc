#include "src/host/features/label_text.h"

#include <algorithm>

#include "src/platform/base/ascii.h"
#include "src/platform/base/strings.h"

namespace kgpu::features {
namespace {

constexpr size_t kNameLimit = 63;
constexpr size_t kPrefixLimit = 253;

bool IsLowerOrDigit(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z');
}

bool IsName(std::string_view text) {
  return !text.empty() && text.size() <= kNameLimit && IsAlphanumeric(text.front()) &&
         IsAlphanumeric(text.back()) && std::ranges::all_of(text, [](char c) {
           return IsAlphanumeric(c) || c == '-' || c == '_' || c == '.';
         });
}

bool IsDnsPart(std::string_view text) {
  return !text.empty() && IsLowerOrDigit(text.front()) && IsLowerOrDigit(text.back()) &&
         std::ranges::all_of(text, [](char c) { return IsLowerOrDigit(c) || c == '-'; });
}

bool IsPrefix(std::string_view text) {
  return text.size() <= kPrefixLimit && std::ranges::all_of(Split(text, '.'), IsDnsPart);
}

}  // namespace

bool IsLabelKey(std::string_view text) {
  const size_t slash = text.find('/');
  if (slash == std::string_view::npos) {
    return IsName(text);
  }
  return IsPrefix(text.substr(0, slash)) && IsName(text.substr(slash + 1));
}

bool IsLabelValue(std::string_view text) {
  return text.empty() || IsName(text);
}

}  // namespace kgpu::features
