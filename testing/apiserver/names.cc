#include "testing/apiserver/names.h"

#include <fmt/format.h>

#include <algorithm>

#include "src/platform/base/ascii.h"
#include "src/platform/base/strings.h"

namespace kgpu::apiserver {
namespace {

bool IsLowerOrDigit(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

bool IsDnsLabel(std::string_view text) {
  return !text.empty() && text.size() <= 63 && IsLowerOrDigit(text.front()) &&
         IsLowerOrDigit(text.back()) &&
         std::ranges::all_of(text, [](char c) { return IsLowerOrDigit(c) || c == '-'; });
}

// Letters, digits, "-", "_", "."; an alphanumeric at both ends.
bool IsQualifiedWord(std::string_view text) {
  return IsAlphanumeric(text.front()) && IsAlphanumeric(text.back()) &&
         std::ranges::all_of(
             text, [](char c) { return IsAlphanumeric(c) || c == '-' || c == '_' || c == '.'; });
}

}  // namespace

std::optional<std::string> SubdomainProblem(std::string_view text) {
  if (text.empty() || text.size() > 253) {
    return "must have 1 to 253 characters";
  }
  for (const std::string_view part : Split(text, '.')) {
    if (part.empty() || !IsLowerOrDigit(part.front()) || !IsLowerOrDigit(part.back()) ||
        !std::ranges::all_of(part, [](char c) { return IsLowerOrDigit(c) || c == '-'; })) {
      return "a lowercase RFC 1123 subdomain has lower case letters, digits, '-' and '.', with a "
             "letter or digit at each end";
    }
  }
  return std::nullopt;
}

std::optional<std::string> DnsLabelProblem(std::string_view text) {
  if (!IsDnsLabel(text)) {
    return "a lowercase RFC 1123 label has 1 to 63 lower case letters, digits and '-', with a "
           "letter or digit at each end";
  }
  return std::nullopt;
}

std::optional<std::string> LabelKeyProblem(std::string_view text) {
  const size_t slash = text.find('/');
  std::string_view name = text;
  if (slash != std::string_view::npos) {
    if (const auto problem = SubdomainProblem(text.substr(0, slash)); problem) {
      return fmt::format("prefix part {}", *problem);
    }
    name = text.substr(slash + 1);
  }
  if (name.empty() || name.size() > 63) {
    return "name part must have 1 to 63 characters";
  }
  if (!IsQualifiedWord(name)) {
    return "name part must have letters, digits, '-', '_' and '.', with a letter or digit at each "
           "end";
  }
  return std::nullopt;
}

std::optional<std::string> LabelValueProblem(std::string_view text) {
  if (text.size() > 63) {
    return "must have at most 63 characters";
  }
  if (!text.empty() && !IsQualifiedWord(text)) {
    return "a valid label value is empty or has letters, digits, '-', '_' and '.', with a letter "
           "or digit at each end";
  }
  return std::nullopt;
}

std::optional<std::string> DriverNameProblem(std::string_view text) {
  return text.size() > 63 ? "must have at most 63 characters" : SubdomainProblem(text);
}

std::optional<std::string> QualifiedNameProblem(std::string_view text) {
  const size_t slash = text.find('/');
  if (slash != std::string_view::npos) {
    if (auto problem = DriverNameProblem(text.substr(0, slash)); problem) {
      return problem;
    }
  }
  const std::string_view id = slash == std::string_view::npos ? text : text.substr(slash + 1);
  const bool is_identifier =
      !id.empty() && id.size() <= 32 && (id[0] < '0' || id[0] > '9') &&
      std::ranges::all_of(id, [](char c) { return IsAlphanumeric(c) || c == '_'; });
  if (!is_identifier) {
    return "must be a C identifier of 1 to 32 characters, after an optional domain and '/'";
  }
  return std::nullopt;
}

std::optional<std::string> RoleNameProblem(std::string_view text) {
  if (text.empty() || text == "." || text == ".." || text.find('/') != std::string_view::npos ||
      text.find('%') != std::string_view::npos) {
    return "must not be empty, '.', '..' or contain '/' or '%'";
  }
  return std::nullopt;
}

}  // namespace kgpu::apiserver
