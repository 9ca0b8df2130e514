#include "src/node/labels/names.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "src/platform/base/ascii.h"
#include "src/platform/base/strings.h"

namespace kgpu::labels {
namespace {

constexpr size_t kMaxLabelName = 63;
constexpr size_t kMaxNamespace = 253;

bool IsNameChar(char c) {
  return IsAlphanumeric(c) || c == '-' || c == '_' || c == '.';
}

// One part of a DNS name.
bool IsDnsLabel(std::string_view part) {
  const auto is_plain = [](char c) { return IsLower(c) || IsDigit(c); };
  return !part.empty() && is_plain(part.front()) && is_plain(part.back()) &&
         std::ranges::all_of(part, [&](char c) { return is_plain(c) || c == '-'; });
}

bool IsDnsName(std::string_view text) {
  return !text.empty() && text.size() <= kMaxNamespace &&
         std::ranges::all_of(Split(text, '.'), IsDnsLabel);
}

bool IsName(std::string_view text) {
  return !text.empty() && text.size() <= kMaxLabelName && IsAlphanumeric(text.front()) &&
         IsAlphanumeric(text.back()) && std::ranges::all_of(text, IsNameChar);
}

bool IsBelow(std::string_view name_space, std::string_view parent) {
  return name_space == parent ||
         (name_space.size() > parent.size() && name_space.ends_with(parent) &&
          name_space[name_space.size() - parent.size() - 1] == '.');
}

struct Suffix {
  std::string_view text;
  uint64_t factor;
};
constexpr std::array kSuffixes = {
    Suffix{"", 1},
    Suffix{"k", 1'000},
    Suffix{"M", 1'000'000},
    Suffix{"G", 1'000'000'000},
    Suffix{"T", 1'000'000'000'000},
    Suffix{"P", 1'000'000'000'000'000},
    Suffix{"E", 1'000'000'000'000'000'000},
    Suffix{"Ki", uint64_t{1} << 10},
    Suffix{"Mi", uint64_t{1} << 20},
    Suffix{"Gi", uint64_t{1} << 30},
    Suffix{"Ti", uint64_t{1} << 40},
    Suffix{"Pi", uint64_t{1} << 50},
    Suffix{"Ei", uint64_t{1} << 60},
};

std::optional<uint64_t> FactorOf(std::string_view suffix) {
  const auto* const known = std::ranges::find(kSuffixes, suffix, &Suffix::text);
  if (known != kSuffixes.end()) {
    return known->factor;
  }
  if (suffix.size() < 2 || (suffix.front() != 'e' && suffix.front() != 'E')) {
    return std::nullopt;
  }
  const auto power = ParseUint(suffix.substr(suffix[1] == '+' ? 2 : 1));
  if (!power || *power > 18) {
    return std::nullopt;
  }
  uint64_t factor = 1;
  for (uint64_t i = 0; i < *power; ++i) {
    factor *= 10;
  }
  return factor;
}

// Nothing: no whole quantity.
std::optional<uint64_t> ValueOf(std::string_view quantity) {
  const size_t end = std::min(quantity.find_first_not_of("0123456789."), quantity.size());
  const auto factor = FactorOf(quantity.substr(end));
  const auto parts = Split(quantity.substr(0, end), '.');
  const bool has_fraction = parts.size() == 2;
  if (!factor || parts.size() > 2 || (has_fraction && parts[1].size() > 9)) {
    return std::nullopt;
  }
  uint64_t unit = 1;  // how many of the last digit's make one
  for (size_t i = 0; has_fraction && i < parts[1].size(); ++i) {
    unit *= 10;
  }
  const auto digits =
      ParseUint(has_fraction ? fmt::format("{}{}", parts[0], parts[1]) : std::string(parts[0]));
  if (!digits) {
    return std::nullopt;
  }
  // No quantity of Kubernetes is larger.
  constexpr auto kMost = static_cast<unsigned __int128>(INT64_MAX);
  const unsigned __int128 value = static_cast<unsigned __int128>(*digits) * *factor;
  if (value % unit != 0 || value / unit > kMost) {
    return std::nullopt;
  }
  return static_cast<uint64_t>(value / unit);
}

}  // namespace

std::string_view NamespaceOf(std::string_view key) {
  const size_t slash = key.find('/');
  return slash == std::string_view::npos ? std::string_view() : key.substr(0, slash);
}

std::string_view BaseOf(std::string_view key) {
  const size_t slash = key.find('/');
  return slash == std::string_view::npos ? key : key.substr(slash + 1);
}

std::string WholeKey(std::string_view key) {
  return key.find('/') == std::string_view::npos ? fmt::format("{}/{}", kFeatureNamespace, key)
                                                 : std::string(key);
}

Status CheckKey(std::string_view key) {
  const bool has_namespace = key.find('/') != std::string_view::npos;
  if (has_namespace && !IsDnsName(NamespaceOf(key))) {
    return InvalidArgument(
        "\"{}\": the part before the slash must be a DNS name: lower-case letters, digits, - and "
        "., at most {}",
        Printable(key, 80), kMaxNamespace);
  }
  if (!IsName(BaseOf(key))) {
    return InvalidArgument(
        "\"{}\": a name must have 1 to {} letters, digits, -, _ and ., and begin and end with a "
        "letter or digit",
        Printable(key, 80), kMaxLabelName);
  }
  return OkStatus();
}

Status CheckLabelValue(std::string_view value) {
  if (value.empty() || IsName(value)) {
    return OkStatus();
  }
  return InvalidArgument(
      "\"{}\": a label value must have at most {} letters, digits, -, _ and ., and begin and end "
      "with a letter or digit",
      Printable(value, 80), kMaxLabelName);
}

Status CheckWholeQuantity(std::string_view text) {
  return ValueOf(text) ? OkStatus()
                       : InvalidArgument(
                             "\"{}\": the quantity of an extended resource must be an integer such "
                             "as 8, 93Mi or 2k",
                             Printable(text, 40));
}

bool IsSameQuantity(std::string_view a, std::string_view b) {
  const auto value = ValueOf(a);
  return a == b || (value && value == ValueOf(b));
}

Status CheckTaintEffect(std::string_view effect) {
  if (effect == "NoSchedule" || effect == "PreferNoSchedule" || effect == "NoExecute") {
    return OkStatus();
  }
  return InvalidArgument(
      "\"{}\": a taint's effect must be NoSchedule, PreferNoSchedule or NoExecute",
      Printable(effect, 40));
}

bool IsReserved(std::string_view name_space, NamespaceUse use) {
  if (!IsBelow(name_space, "kubernetes.io") || IsBelow(name_space, kFeatureNamespace)) {
    return false;
  }
  return use != NamespaceUse::kLabel || !IsBelow(name_space, kProfileNamespace);
}

}  // namespace kgpu::labels
