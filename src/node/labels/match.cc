#include "src/node/labels/match.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <compare>
#include <span>

#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"

namespace kgpu::labels {
namespace {

struct OpFacts {
  std::string_view name;
  size_t least = 0;  // values
  size_t most = 0;
};

constexpr size_t kMany = SIZE_MAX;
// In the order of Op.
constexpr std::array<OpFacts, 13> kOps = {
    OpFacts{"In", 1, kMany},  OpFacts{"NotIn", 1, kMany},    OpFacts{"InRegexp", 1, kMany},
    OpFacts{"Exists", 0, 0},  OpFacts{"DoesNotExist", 0, 0}, OpFacts{"Gt", 1, 1},
    OpFacts{"Ge", 1, 1},      OpFacts{"Lt", 1, 1},           OpFacts{"Le", 1, 1},
    OpFacts{"GtLt", 2, 2},    OpFacts{"GeLe", 2, 2},         OpFacts{"IsTrue", 0, 0},
    OpFacts{"IsFalse", 0, 0},
};

const OpFacts& FactsOf(Op op) {
  return kOps.at(static_cast<size_t>(op));
}

bool IsComparing(Op op) {
  return op >= Op::kGt && op <= Op::kGeLe;
}

// As Go's Atoi.
std::optional<int64_t> ParseNumber(std::string_view text) {
  text.remove_prefix(text.starts_with('+') && !text.starts_with("+-") ? 1 : 0);
  int64_t number = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || stop != text.data() + text.size()) {
    return std::nullopt;
  }
  return number;
}

template <typename T>
bool Holds(Op op, const T& value, std::span<const T> bounds) {
  switch (op) {
    case Op::kGt:
      return value > bounds[0];
    case Op::kGe:
      return value >= bounds[0];
    case Op::kLt:
      return value < bounds[0];
    case Op::kLe:
      return value <= bounds[0];
    case Op::kGtLt:
      return value > bounds[0] && value < bounds[1];
    default:
      return value >= bounds[0] && value <= bounds[1];
  }
}

}  // namespace

std::string_view ToString(Op op) {
  return FactsOf(op).name;
}

StatusOr<MatchExpression> MatchExpression::Create(Op op, std::vector<std::string> values,
                                                  bool are_versions) {
  const OpFacts& facts = FactsOf(op);
  if (values.size() < facts.least || values.size() > facts.most) {
    return InvalidArgument("{} takes {}, not {}", facts.name,
                           facts.most == kMany ? "one or more values"
                           : facts.most == 0   ? "no values"
                           : facts.most == 1   ? "one value"
                                               : "two values: minimum and maximum",
                           values.size());
  }
  if (are_versions && !IsComparing(op)) {
    return InvalidArgument("{} does not compare versions: remove type", facts.name);
  }
  MatchExpression expression(op, std::move(values), are_versions);
  RETURN_IF_ERROR(expression.Compile());
  return expression;
}

Status MatchExpression::Compile() {
  if (op_ == Op::kInRegexp) {
    for (const std::string& value : values_) {
      ASSIGN_OR_RETURN(Pattern pattern, Pattern::Compile(value));
      patterns_.push_back(std::move(pattern));
    }
  }
  return IsComparing(op_) ? CompileBounds() : OkStatus();
}

Status MatchExpression::CompileBounds() {
  for (const std::string& value : values_) {
    if (are_versions_) {
      const auto version = ParseVersion(value);
      if (!version) {
        return InvalidArgument("\"{}\" must be a version such as 5.10 or 5.10.3",
                               Printable(value, 40));
      }
      versions_.push_back(*version);
      continue;
    }
    const auto number = ParseNumber(value);
    if (!number) {
      return InvalidArgument("\"{}\" must be an integer{}", Printable(value, 40),
                             ParseVersion(value) ? ": add type: version" : "");
    }
    numbers_.push_back(*number);
  }
  if (values_.size() == 2) {
    const auto order = are_versions_ ? versions_[0] <=> versions_[1] : numbers_[0] <=> numbers_[1];
    if (order > 0 || (order == 0 && op_ == Op::kGtLt)) {
      return InvalidArgument("{} needs the smaller value first: there is nothing between {} and {}",
                             ToString(op_), values_[0], values_[1]);
    }
  }
  return OkStatus();
}

std::string MatchExpression::Text() const {
  if (values_.empty()) {
    return std::string(ToString(op_));
  }
  return fmt::format("{} {}{}", ToString(op_), Printable(Join(values_, ", "), 80),
                     are_versions_ ? " (versions)" : "");
}

bool MatchExpression::IsAmong(std::string_view value) const {
  return std::ranges::find(values_, value) != values_.end();
}

MatchExpression::Outcome MatchExpression::Compare(std::string_view value) const {
  bool holds = false;
  if (are_versions_) {
    const auto version = ParseVersion(value);
    if (!version) {
      return Outcome::kNotComparable;
    }
    holds = Holds<Version>(op_, *version, versions_);
  } else {
    const auto number = ParseNumber(value);
    if (!number) {
      return Outcome::kNotComparable;
    }
    holds = Holds<int64_t>(op_, *number, numbers_);
  }
  return holds ? Outcome::kYes : Outcome::kNo;
}

size_t MatchExpression::Work(const Element& element) const {
  const size_t bytes = element.value.value_or("").size();
  // A regular expression costs more than looking, and looks at each byte.
  return op_ == Op::kInRegexp ? values_.size() * (8 + bytes / 8) : 1 + values_.size() / 4;
}

MatchExpression::Outcome MatchExpression::Match(const Element& element) const {
  const auto outcome = [](bool holds) { return holds ? Outcome::kYes : Outcome::kNo; };
  if (op_ == Op::kExists || op_ == Op::kDoesNotExist) {
    return outcome(element.exists == (op_ == Op::kExists));
  }
  // Every other operator looks at a value, which what is missing has not, nor a flag.
  if (!element.exists || !element.value) {
    return Outcome::kNo;
  }
  const std::string_view value = *element.value;
  switch (op_) {
    case Op::kIn:
      return outcome(IsAmong(value));
    case Op::kNotIn:
      return outcome(!IsAmong(value));
    case Op::kInRegexp:
      return outcome(std::ranges::any_of(
          patterns_, [&](const Pattern& pattern) { return pattern.Matches(value); }));
    case Op::kIsTrue:
      return outcome(value == "true");
    case Op::kIsFalse:
      return outcome(value == "false");
    default:
      return Compare(value);
  }
}

}  // namespace kgpu::labels
