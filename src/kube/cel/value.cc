#include "src/kube/cel/value.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "src/platform/base/ascii.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"

namespace kgpu::cel {
namespace {

bool IsNumber(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, IsDigit);
}

std::optional<uint64_t> VersionNumber(std::string_view text) {
  const bool has_leading_zero = text.size() > 1 && text.front() == '0';
  return IsNumber(text) && !has_leading_zero ? ParseUint(text) : std::nullopt;
}

// An identifier of a pre-release or, if `may_have_zeros`, of a build.
bool IsIdentifier(std::string_view text, bool may_have_zeros) {
  const bool has_leading_zero = IsNumber(text) && text.size() > 1 && text.front() == '0';
  return !text.empty() && (may_have_zeros || !has_leading_zero) &&
         std::ranges::all_of(text, [](char c) { return IsAlphanumeric(c) || c == '-'; });
}

template <typename T>
int OrderOf(const T& a, const T& b) {
  return a < b ? -1 : b < a ? 1 : 0;
}

int CompareIdentifiers(const std::string& a, const std::string& b) {
  const bool is_number = IsNumber(a);
  if (is_number != IsNumber(b)) {
    return is_number ? -1 : 1;
  }
  // Without leading zeros, the longer number is the larger one.
  return is_number ? OrderOf(std::pair(a.size(), a), std::pair(b.size(), b)) : OrderOf(a, b);
}

// CEL compares whole numbers with others by value.
std::optional<long double> NumberIn(const Value& value) {
  if (const auto* whole = value.If<int64_t>()) {
    return *whole;
  }
  const auto* real = value.If<double>();
  return real == nullptr ? std::nullopt : std::optional<long double>(*real);
}

Status NoOverload(const Value& a, const Value& b) {
  return InvalidArgument("no such overload: {} and {} cannot be compared", TypeName(a),
                         TypeName(b));
}

StatusOr<bool> AreListsEqual(const List& a, const List& b) {
  bool are_equal = a.size() == b.size();
  for (size_t i = 0; are_equal && i < a.size(); ++i) {
    ASSIGN_OR_RETURN(are_equal, AreEqual(a[i], b[i]));
  }
  return are_equal;
}

}  // namespace

std::optional<Semver> ParseSemver(std::string_view text) {
  const size_t plus = text.find('+');
  if (plus != std::string_view::npos &&
      !std::ranges::all_of(Split(text.substr(plus + 1), '.'),
                           [](std::string_view part) { return IsIdentifier(part, true); })) {
    return std::nullopt;
  }
  text = text.substr(0, plus);
  const size_t dash = text.find('-');
  const std::vector<std::string_view> numbers = Split(text.substr(0, dash), '.');
  Semver version;
  if (numbers.size() != version.numbers.size()) {
    return std::nullopt;
  }
  for (size_t i = 0; i < numbers.size(); ++i) {
    const auto number = VersionNumber(numbers[i]);
    if (!number) {
      return std::nullopt;
    }
    version.numbers.at(i) = *number;
  }
  if (dash != std::string_view::npos) {
    for (const std::string_view part : Split(text.substr(dash + 1), '.')) {
      if (!IsIdentifier(part, false)) {
        return std::nullopt;
      }
      version.pre_release.emplace_back(part);
    }
  }
  return version;
}

int Compare(const Semver& a, const Semver& b) {
  if (a.numbers != b.numbers) {
    return OrderOf(a.numbers, b.numbers);
  }
  // A pre-release is below its release.
  if (a.pre_release.empty() != b.pre_release.empty()) {
    return a.pre_release.empty() ? 1 : -1;
  }
  const size_t common = std::min(a.pre_release.size(), b.pre_release.size());
  for (size_t i = 0; i < common; ++i) {
    if (const int order = CompareIdentifiers(a.pre_release[i], b.pre_release[i]); order != 0) {
      return order;
    }
  }
  return OrderOf(a.pre_release.size(), b.pre_release.size());
}

const Map* Value::IfMap() const {
  const auto* map = If<std::shared_ptr<const Map>>();
  return map == nullptr ? nullptr : map->get();
}

const List* Value::IfList() const {
  const auto* list = If<std::shared_ptr<const List>>();
  return list == nullptr ? nullptr : list->get();
}

Value MapValue(Map map) {
  return {std::make_shared<const Map>(std::move(map))};
}

Value ListValue(List list) {
  return {std::make_shared<const List>(std::move(list))};
}

StatusOr<Value> QuantityValue(std::string_view text) {
  const size_t point = text.find('.');
  const size_t end = std::min(text.find_first_not_of("+.0123456789"), text.size());
  const size_t decimals = point == std::string_view::npos ? 0 : end - point - 1;
  const bool is_fine = text.ends_with('n') || text.ends_with('u') || decimals > 3 ||
                       (decimals > 0 && text.ends_with('m')) ||
                       text.find("e-") != std::string_view::npos ||
                       text.find("E-") != std::string_view::npos;
  const auto amount = ParseAmount(text);
  const bool is_large = amount && amount->milli == INT64_MAX;
  if (is_large || (amount && is_fine) || text.starts_with('-')) {
    return Unimplemented("kgpu cannot evaluate the quantity \"{}\"", Printable(text, 40));
  }
  if (!amount) {
    return InvalidArgument("\"{}\" is no quantity", Printable(text, 40));
  }
  return Value{*amount};
}

std::string_view TypeName(const Value& value) {
  static constexpr std::array<std::string_view, std::variant_size_v<decltype(Value::of)>> kNames = {
      "null", "bool", "int", "double", "string", "quantity", "semver", "list", "map", "optional"};
  return kNames.at(value.of.index());
}

std::string TextOf(const Value& value) {
  if (const auto* text = value.If<std::string>()) {
    return fmt::format("\"{}\"", Printable(*text));
  }
  if (const auto* flag = value.If<bool>()) {
    return *flag ? "true" : "false";
  }
  if (const auto number = NumberIn(value)) {
    return fmt::format("{}", *number);
  }
  if (const auto* amount = value.If<Amount>()) {
    return AmountText("memory", *amount);
  }
  if (const auto* version = value.If<Semver>()) {
    const std::string rest = Join(version->pre_release, ".");
    return fmt::format("{}{}{}", fmt::join(version->numbers, "."), rest.empty() ? "" : "-", rest);
  }
  return std::string(TypeName(value));
}

StatusOr<bool> AreEqual(const Value& a, const Value& b) {
  if (a.If<std::monostate>() != nullptr || b.If<std::monostate>() != nullptr) {
    return a.of.index() == b.of.index();
  }
  const auto number = NumberIn(a);
  if (const auto other = NumberIn(b); number && other) {
    return *number == *other;
  }
  if (a.of.index() != b.of.index()) {
    const bool is_strict = a.If<Amount>() != nullptr || a.If<Semver>() != nullptr;
    return is_strict ? StatusOr<bool>(NoOverload(a, b)) : false;
  }
  if (a.IfMap() != nullptr || a.If<Optional>() != nullptr) {
    return Unimplemented("kgpu cannot compare values of type {}", TypeName(a));
  }
  if (const auto* version = a.If<Semver>()) {
    return Compare(*version, *b.If<Semver>()) == 0;
  }
  if (const List* list = a.IfList()) {
    return AreListsEqual(*list, *b.IfList());
  }
  if (const auto* amount = a.If<Amount>()) {
    return *amount == *b.If<Amount>();
  }
  if (const auto* text = a.If<std::string>()) {
    return *text == *b.If<std::string>();
  }
  return *a.If<bool>() == *b.If<bool>();
}

StatusOr<int> Order(const Value& a, const Value& b) {
  const auto number = NumberIn(a);
  if (const auto other = NumberIn(b); number && other) {
    return OrderOf(*number, *other);
  }
  if (a.of.index() != b.of.index()) {
    return NoOverload(a, b);
  }
  if (const auto* text = a.If<std::string>()) {
    return OrderOf(*text, *b.If<std::string>());
  }
  if (const auto* flag = a.If<bool>()) {
    return OrderOf(*flag, *b.If<bool>());
  }
  return NoOverload(a, b);
}

}  // namespace kgpu::cel
