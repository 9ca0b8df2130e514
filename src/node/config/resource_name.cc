#include "src/node/config/resource_name.h"

#include <algorithm>

#include "src/platform/base/ascii.h"
#include "src/platform/base/strings.h"

namespace kgpu::config {
namespace {

// A DNS subdomain has at most 253 characters, including "requests." before the name.
constexpr size_t kMaxPrefix = 253 - std::string_view("requests.").size();
constexpr size_t kMaxName = 63;

bool IsLowerOrDigit(char c) {
  return IsLower(c) || IsDigit(c);
}

bool IsDnsLabel(std::string_view label) {
  return !label.empty() && label.size() <= kMaxName && IsLowerOrDigit(label.front()) &&
         IsLowerOrDigit(label.back()) &&
         std::ranges::all_of(label, [](char c) { return IsLowerOrDigit(c) || c == '-'; });
}

bool IsNameCharacter(char c) {
  return IsAlphanumeric(c) || c == '-' || c == '_' || c == '.';
}

Status CheckName(std::string_view name, const std::string& shown) {
  if (name.size() > kMaxName) {
    return InvalidArgument("\"{}\" has {} characters after the slash, limit {}", shown, name.size(),
                           kMaxName);
  }
  if (name.empty() || !IsAlphanumeric(name.front()) || !IsAlphanumeric(name.back()) ||
      !std::ranges::all_of(name, IsNameCharacter)) {
    return InvalidArgument(
        "\"{}\": after the slash only letters, digits, \"-\", \"_\" and \".\" are allowed, with a "
        "letter or digit first and last: nvidia.com/gpu-large",
        shown);
  }
  return OkStatus();
}

// `shown` is what the error calls it.
Status CheckWhole(std::string_view name, const std::string& shown) {
  if (std::ranges::count(name, '/') != 1) {
    return InvalidArgument("\"{}\" must be a domain, one slash and a name: nvidia.com/gpu", shown);
  }
  const size_t slash = name.find('/');
  const std::string_view prefix = name.substr(0, slash);
  if (prefix.ends_with("kubernetes.io")) {
    return InvalidArgument(
        "\"{}\": the domain kubernetes.io belongs to Kubernetes: use another one", shown);
  }
  if (prefix.starts_with("requests.")) {
    return InvalidArgument("\"{}\": the prefix \"requests.\" is reserved: remove it", shown);
  }
  if (prefix.size() > kMaxPrefix) {
    return InvalidArgument("\"{}\" has {} characters before the slash, limit {}", shown,
                           prefix.size(), kMaxPrefix);
  }
  if (!std::ranges::all_of(Split(prefix, '.'), IsDnsLabel)) {
    return InvalidArgument(
        "\"{}\": the part before the slash must be a lower-case domain: nvidia.com/gpu", shown);
  }
  return CheckName(name.substr(slash + 1), shown);
}

std::string WithReplaced(std::string_view name, std::string_view placeholder,
                         std::string_view text) {
  std::string result(name);
  for (size_t at = result.find(placeholder); at != std::string::npos;
       at = result.find(placeholder, at + text.size())) {
    result.replace(at, placeholder.size(), text);
  }
  return result;
}

}  // namespace

Status CheckResourceName(std::string_view name) {
  return CheckWhole(name, Printable(name, 400));
}

Status CheckResourceTemplate(std::string_view name) {
  const std::string shown = Printable(name, 400);
  const std::string example = ResourceOfSize(ResourceOfModel(name, "X"), "1gi");
  if (example.find_first_of("{}") != std::string::npos) {
    return InvalidArgument("\"{}\": only {} and {} are allowed in braces", shown, kModelPlaceholder,
                           kSizePlaceholder);
  }
  return CheckWhole(example, shown);
}

std::string ResourceOfModel(std::string_view name, std::string_view model) {
  std::string legal(model);
  const auto is_illegal = [](char c) { return !IsNameCharacter(c); };
  std::ranges::replace_if(legal, is_illegal, '-');
  return WithReplaced(name, kModelPlaceholder, legal);
}

std::string ResourceOfSize(std::string_view name, std::string_view size) {
  return WithReplaced(name, kSizePlaceholder, size);
}

std::string ResourceOfMigProfile(std::string_view profile) {
  std::string name = fmt::format("nvidia.com/mig-{}", profile);
  std::ranges::replace(name, '+', '.');
  return name;
}

}  // namespace kgpu::config
