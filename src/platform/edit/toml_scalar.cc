#include "src/platform/edit/toml_scalar.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>

#include "src/platform/base/ascii.h"
#include "src/platform/base/strings.h"

namespace kgpu::edit {
namespace {

// Far more than any number needs.
constexpr size_t kMaxNumber = 60;

int ValueOf(char c) {
  const char lower = static_cast<char>(c | 0x20);
  if (IsDigit(c)) {
    return c - '0';
  }
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : 99;
}

// Removes and returns the digits at the start of `text`, with single underscores between them.
// Nothing if there are none.
std::optional<std::string> TakeDigits(std::string_view& text, int base = 10) {
  std::string digits;
  size_t at = 0;
  while (at < text.size()) {
    const bool is_gap = text[at] == '_' && !digits.empty() && at + 1 < text.size();
    const size_t digit = is_gap ? at + 1 : at;
    if (ValueOf(text[digit]) >= base) {
      break;
    }
    digits += text[digit];
    at = digit + 1;
  }
  text.remove_prefix(at);
  return digits.empty() ? std::nullopt : std::optional(digits);
}

bool Take(std::string_view& text, std::string_view any_of) {
  if (text.empty() || any_of.find(text.front()) == std::string_view::npos) {
    return false;
  }
  text.remove_prefix(1);
  return true;
}

bool FitsInt64(const std::string& digits, int base) {
  const std::optional<uint64_t> value = ParseUint(digits, base);
  return value.has_value() && *value <= static_cast<uint64_t>(INT64_MAX);
}

// ParseUint knows bases 10 and 16 alone.
bool IsPrefixed(std::string_view text) {
  const int base = text[1] == 'x' ? 16 : text[1] == 'o' ? 8 : 2;
  const size_t max_digits = base == 16 ? 15 : base == 8 ? 20 : 62;
  text.remove_prefix(2);
  const std::optional<std::string> digits = TakeDigits(text, base);
  return digits.has_value() && text.empty() && digits->size() <= max_digits;
}

bool IsNumber(std::string_view text) {
  if (text.size() > kMaxNumber) {
    return false;
  }
  if (text.size() > 2 && text[0] == '0' && std::string_view("xob").find(text[1]) != text.npos) {
    return IsPrefixed(text);
  }
  Take(text, "+-");
  if (text == "inf" || text == "nan") {
    return true;
  }
  const std::optional<std::string> whole = TakeDigits(text);
  if (!whole.has_value() || (whole->size() > 1 && whole->front() == '0')) {
    return false;
  }
  if (text.empty()) {
    return FitsInt64(*whole, 10);
  }
  if (Take(text, ".") && !TakeDigits(text).has_value()) {
    return false;
  }
  if (Take(text, "eE")) {
    Take(text, "+-");
    const std::optional<std::string> exponent = TakeDigits(text);
    return exponent.has_value() && exponent->size() <= 3 && text.empty();
  }
  return text.empty();
}

// Exactly `count` digits that are a number in [low, high]; takes them off.
std::optional<int> TakeField(std::string_view& text, size_t count, int low, int high) {
  const std::string_view field = text.substr(0, count);
  if (field.size() < count || !std::ranges::all_of(field, IsDigit)) {
    return std::nullopt;
  }
  text.remove_prefix(count);
  const int value = static_cast<int>(ParseUint(field).value_or(0));
  return value >= low && value <= high ? std::optional(value) : std::nullopt;
}

bool TakeDate(std::string_view& text) {
  const std::optional<int> year = TakeField(text, 4, 0, 9999);
  if (!year.has_value() || !Take(text, "-")) {
    return false;
  }
  const std::optional<int> month = TakeField(text, 2, 1, 12);
  if (!month.has_value() || !Take(text, "-")) {
    return false;
  }
  const bool is_leap = *year % 4 == 0 && (*year % 100 != 0 || *year % 400 == 0);
  const bool is_short = *month == 4 || *month == 6 || *month == 9 || *month == 11;
  const int days = *month == 2 ? (is_leap ? 29 : 28) : (is_short ? 30 : 31);
  return TakeField(text, 2, 1, days).has_value();
}

bool TakeHourAndMinute(std::string_view& text) {
  return TakeField(text, 2, 0, 23).has_value() && Take(text, ":") &&
         TakeField(text, 2, 0, 59).has_value();
}

bool TakeTime(std::string_view& text) {
  if (!TakeHourAndMinute(text) || !Take(text, ":") || !TakeField(text, 2, 0, 59).has_value()) {
    return false;
  }
  if (!Take(text, ".")) {
    return true;
  }
  const size_t end = std::min(text.find_first_not_of("0123456789"), text.size());
  text.remove_prefix(end);
  return end > 0 && end <= 9;
}

bool IsDateOrTime(std::string_view text) {
  if (text.size() > 2 && text[2] == ':') {
    return TakeTime(text) && text.empty();
  }
  if (!TakeDate(text)) {
    return false;
  }
  if (text.empty()) {
    return true;
  }
  if (!Take(text, "Tt ") || !TakeTime(text)) {
    return false;
  }
  return text.empty() ||
         ((Take(text, "Zz") || (Take(text, "+-") && TakeHourAndMinute(text))) && text.empty());
}

}  // namespace

bool IsTomlScalar(std::string_view text) {
  return text == "true" || text == "false" || IsNumber(text) || IsDateOrTime(text);
}

}  // namespace kgpu::edit
