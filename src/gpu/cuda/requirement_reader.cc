#include "src/gpu/cuda/requirement_reader.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "src/platform/base/strings.h"

namespace kgpu::cuda {
namespace {

constexpr std::string_view kBlanks = " \t\r\n";
constexpr std::string_view kOperatorBytes = "<>=!";

template <typename Enum>
using Word = std::pair<std::string_view, Enum>;

constexpr std::array<Word<Property>, 4> kProperties = {{{"cuda", Property::kCuda},
                                                        {"driver", Property::kDriver},
                                                        {"arch", Property::kArch},
                                                        {"brand", Property::kBrand}}};

constexpr std::array<Word<Operator>, 6> kOperators = {{{"=", Operator::kEqual},
                                                       {"!=", Operator::kNotEqual},
                                                       {"<", Operator::kLess},
                                                       {"<=", Operator::kLessOrEqual},
                                                       {">", Operator::kGreater},
                                                       {">=", Operator::kGreaterOrEqual}}};

bool EqualsInAnyCase(std::string_view a, std::string_view b) {
  const auto lower = [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  };
  return std::ranges::equal(a, b, {}, lower, lower);
}

template <typename Enum, size_t kCount>
std::optional<Enum> Find(const std::array<Word<Enum>, kCount>& words, std::string_view text) {
  for (const Word<Enum>& word : words) {
    if (EqualsInAnyCase(word.first, text)) {
      return word.second;
    }
  }
  return std::nullopt;
}

// The error and its position in the condition.
struct Complaint {
  size_t offset = 0;
  std::string text;
};

Complaint NoOperator(std::string_view text) {
  return {0, fmt::format("\"{}\" has no operator: write a property, one of = != < <= > >= and a "
                         "value without spaces, e.g. cuda>=12.4",
                         Printable(text, 40))};
}

// Reads one condition; returns a complaint if it is none.
std::optional<Complaint> Read(std::string_view text, Condition& condition) {
  const size_t name_end = text.find_first_of(kOperatorBytes);
  if (name_end == std::string_view::npos) {
    return NoOperator(text);
  }
  const std::string_view name = text.substr(0, name_end);
  const size_t value_start =
      std::min(text.find_first_not_of(kOperatorBytes, name_end), text.size());
  const std::string_view op = text.substr(name_end, value_start - name_end);
  const std::optional<Property> property = Find(kProperties, name);
  if (!property) {
    return Complaint{
        0, fmt::format("\"{}\" must be one of the properties cuda, driver, arch and brand",
                       Printable(name, 40))};
  }
  const std::optional<Operator> found = Find(kOperators, op);
  if (!found) {
    return Complaint{name_end, fmt::format("\"{}\" must be one of the operators = != < <= > >=",
                                           Printable(op, 10))};
  }
  condition = {*property, *found, text, text.substr(value_start), {}};
  if (condition.value.empty()) {
    return Complaint{value_start, fmt::format("missing value after \"{}\"", Printable(text, 40))};
  }
  if (*property == Property::kBrand) {
    return *found == Operator::kEqual || *found == Operator::kNotEqual
               ? std::nullopt
               : std::optional(Complaint{
                     name_end,
                     fmt::format("brands can be compared only with = and !=, not with {}", op)});
  }
  const StatusOr<VersionNumbers> version = ParseVersionNumbers(condition.value);
  if (!version.ok()) {
    return Complaint{value_start, std::string(Message(version.status()))};
  }
  condition.version = *version;
  return std::nullopt;
}

template <typename T>
bool Compare(Operator op, const T& actual, const T& wanted) {
  switch (op) {
    case Operator::kEqual:
      return actual == wanted;
    case Operator::kNotEqual:
      return actual != wanted;
    case Operator::kLess:
      return actual < wanted;
    case Operator::kLessOrEqual:
      return actual <= wanted;
    case Operator::kGreater:
      return actual > wanted;
    case Operator::kGreaterOrEqual:
      return actual >= wanted;
  }
  return false;
}

}  // namespace

bool AlternativeReader::Next(Alternative& alternative) {
  while (true) {
    const size_t start = text_.find_first_not_of(kBlanks, at_);
    if (start == std::string_view::npos) {
      return false;
    }
    at_ = std::min(text_.find_first_of(kBlanks, start), text_.size());
    ReadConditions(start, alternative);
    // Empty parts between commas are skipped; only commas is no alternative.
    if (!alternative.conditions.empty()) {
      return true;
    }
  }
}

// Reads the word from `start` to at_, up to the first error.
void AlternativeReader::ReadConditions(size_t start, Alternative& alternative) const {
  alternative.text = text_.substr(start, at_ - start);
  alternative.conditions.clear();
  alternative.problem.clear();
  for (size_t from = start; from < at_ && alternative.problem.empty();) {
    const size_t end =
        start + std::min(alternative.text.find(',', from - start), alternative.text.size());
    if (end > from) {
      const std::string_view text = text_.substr(from, end - from);
      if (auto complaint = Read(text, alternative.conditions.emplace_back())) {
        alternative.problem = std::move(complaint->text);
        alternative.position = from + complaint->offset + 1;
      }
    }
    from = end + 1;
  }
}

bool Holds(const Condition& condition, const VersionNumbers& actual) {
  return Compare(condition.op, actual, condition.version);
}

bool Holds(const Condition& condition, std::string_view actual) {
  return EqualsInAnyCase(actual, condition.value) == (condition.op == Operator::kEqual);
}

}  // namespace kgpu::cuda
