#include "src/node/config/selector_text.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "src/gpu/device/mig.h"
#include "src/gpu/device/model.h"
#include "src/platform/base/ascii.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"

namespace kgpu::config {
namespace {

// Longer ones first, so that "<=" is not taken for "<".
constexpr std::array<std::pair<std::string_view, Comparison>, 5> kComparisons = {{
    {"<=", Comparison::kLessOrEqual},
    {">=", Comparison::kGreaterOrEqual},
    {"<", Comparison::kLess},
    {">", Comparison::kGreater},
    {"=", Comparison::kEqual},
}};

std::string_view ToString(Comparison comparison) {
  const auto* found =
      std::ranges::find(kComparisons, comparison, &decltype(kComparisons)::value_type::second);
  return found->first;
}

// Removes the comparison and the blanks after it from the front.
std::optional<Comparison> TakeComparison(std::string_view& text) {
  text = Trim(text);
  for (const auto& [sign, comparison] : kComparisons) {
    if (text.starts_with(sign)) {
      text = Trim(text.substr(sign.size()));
      return comparison;
    }
  }
  return std::nullopt;
}

bool IsHex(char c) {
  return IsDigit(c) || (c >= 'a' && c <= 'f');
}

// The beginning of a UUID: dashes where a UUID has them, and 8 digits at least.
bool IsUuidPrefix(std::string_view text) {
  if (text.size() < 8 || text.size() > 36) {
    return false;
  }
  for (size_t i = 0; i < text.size(); ++i) {
    const bool is_dash = i == 8 || i == 13 || i == 18 || i == 23;
    if (is_dash ? text[i] != '-' : !IsHex(text[i])) {
      return false;
    }
  }
  return true;
}

bool IsModelCharacter(char c) {
  return IsAlphanumeric(c) || c == '.' || c == '-' || c == '*';
}

Status AppendRange(std::string_view text, std::vector<unsigned>& numbers) {
  const size_t dash = text.find('-');
  const auto first = ParseUint(Trim(text.substr(0, dash)));
  const auto last = dash == std::string_view::npos ? first : ParseUint(Trim(text.substr(dash + 1)));
  if (!first || !last || *first > kMaxIndex || *last > kMaxIndex) {
    return InvalidArgument("\"{}\" must be a number or range from 0 to {}: 3 or 0-3",
                           Printable(text, 40), kMaxIndex);
  }
  if (*last < *first) {
    return InvalidArgument("\"{}\" is in reverse order: write {}-{}", Printable(text, 40), *last,
                           *first);
  }
  if (numbers.size() + (*last - *first) > kMaxIndex) {
    return InvalidArgument("more than {} numbers", kMaxIndex);
  }
  for (uint64_t number = *first; number <= *last; ++number) {
    numbers.push_back(static_cast<unsigned>(number));
  }
  return OkStatus();
}

}  // namespace

StatusOr<MemoryBound> ParseMemoryBound(std::string_view text) {
  std::string_view rest = text;
  const auto comparison = TakeComparison(rest);
  if (!comparison) {
    return InvalidArgument("\"{}\" must begin with <, <=, =, >= or >: \">= 40Gi\", in quotes",
                           Printable(text, 40));
  }
  ASSIGN_OR_RETURN(const Bytes bytes, ParseQuantity(rest));
  return MemoryBound{.comparison = *comparison, .bytes = bytes};
}

StatusOr<ComputeBound> ParseComputeBound(std::string_view text) {
  std::string_view rest = text;
  const auto comparison = TakeComparison(rest);
  const size_t point = rest.find('.');
  const auto major = ParseUint(rest.substr(0, point));
  const auto minor = point == std::string_view::npos ? std::optional<uint64_t>(0)
                                                     : ParseUint(rest.substr(point + 1));
  if (!comparison || !major || !minor || *major > 99 || *minor > 9) {
    return InvalidArgument(
        "\"{}\" must be a comparison with a compute capability: \">= 8.0\", in quotes",
        Printable(text, 40));
  }
  return ComputeBound{
      .comparison = *comparison,
      .compute = {.major = static_cast<int>(*major), .minor = static_cast<int>(*minor)}};
}

StatusOr<std::vector<unsigned>> ParseNumbers(std::string_view text) {
  std::vector<unsigned> numbers;
  for (const std::string_view piece : Split(text, ',')) {
    RETURN_IF_ERROR(AppendRange(piece, numbers));
  }
  return numbers;
}

StatusOr<std::string> ParseModel(std::string_view text) {
  if (!text.empty() && text.size() <= 63 && std::ranges::all_of(text, IsModelCharacter)) {
    return std::string(text);
  }
  if (Trim(text).empty() || text.size() > 100) {
    return InvalidArgument(
        "\"{}\" must be a model, e.g. A100-SXM4-80GB: run kgpu devices to list them",
        Printable(text, 40));
  }
  return InvalidArgument("\"{}\" must be a model: use \"{}\"; run kgpu devices to list them",
                         Printable(text, 100), device::ModelId(text, 0));
}

StatusOr<std::string> ParseUuid(std::string_view text) {
  if (text.starts_with("MIG-GPU-")) {
    ASSIGN_OR_RETURN(const device::MigUuid uuid, device::MigUuid::Parse(text));
    return uuid.str();
  }
  for (const std::string_view prefix : {"GPU-", "MIG-"}) {
    if (text.starts_with(prefix)) {
      const std::string digits = ToLower(text.substr(prefix.size()));
      if (IsUuidPrefix(digits)) {
        return fmt::format("{}{}", prefix, digits);
      }
    }
  }
  return InvalidArgument(
      "\"{}\" must be a UUID: GPU- or MIG- and at least the first 8 hex digits; run kgpu devices "
      "to list them",
      Printable(text, 80));
}

StatusOr<std::string> ParseMigProfile(std::string_view text) {
  const bool is_pattern = text.find('*') != std::string_view::npos;
  if (is_pattern ? text.size() <= 32 &&
                       text.find_first_not_of("0123456789cglmefbx.+-*a") == std::string_view::npos
                 : device::IsMigProfileName(text)) {
    return std::string(text);
  }
  // In the form used in a resource's name.
  std::string spelled(text);
  if (const size_t point = spelled.rfind(".me"); point != std::string::npos) {
    spelled[point] = '+';
    if (device::IsMigProfileName(spelled)) {
      return InvalidArgument("\"{}\" must be a MIG profile: use \"{}\"", Printable(text, 40),
                             spelled);
    }
  }
  return InvalidArgument("\"{}\" must be a MIG profile: 1g.10gb, or 1g.* for all of that size",
                         Printable(text, 40));
}

StatusOr<device::PciBusId> ParsePci(std::string_view text) {
  // As lspci prints it on hosts with one domain.
  if (std::ranges::count(text, ':') == 1) {
    auto pci = device::PciBusId::Parse(fmt::format("0000:{}", text));
    if (pci.ok()) {
      return pci;
    }
  }
  return device::PciBusId::Parse(text);
}

std::string ToString(const MemoryBound& bound) {
  return fmt::format("{} {}", ToString(bound.comparison), FormatQuantity(bound.bytes));
}

std::string ToString(const ComputeBound& bound) {
  return fmt::format("{} {}.{}", ToString(bound.comparison), bound.compute.major,
                     bound.compute.minor);
}

std::vector<std::string> NumberWords(const std::vector<unsigned>& numbers) {
  std::vector<std::string> words;
  for (size_t i = 0; i < numbers.size();) {
    size_t end = i + 1;
    while (end < numbers.size() && numbers[end] == numbers[end - 1] + 1) {
      ++end;
    }
    if (end - i >= 3) {
      words.push_back(fmt::format("{}-{}", numbers[i], numbers[end - 1]));
      i = end;
    } else {
      words.push_back(fmt::format("{}", numbers[i++]));
    }
  }
  return words;
}

bool MatchesPattern(std::string_view pattern, std::string_view text) {
  // The last star, and how much text it matches: on a mismatch it takes one more character.
  size_t star = std::string_view::npos;
  size_t covered = 0;
  size_t p = 0;
  size_t t = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      covered = t;
    } else if (p < pattern.size() && pattern[p] == text[t]) {
      ++p;
      ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++covered;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', p) == std::string_view::npos;
}

}  // namespace kgpu::config
