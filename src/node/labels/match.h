// The expressions of rules: an operator and its values, compared with an element of a feature.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/node/labels/version.h"
#include "src/platform/base/status.h"
#include "src/platform/pattern/pattern.h"

namespace kgpu::labels {

enum class Op : uint8_t {
  kIn,
  kNotIn,
  kInRegexp,
  kExists,
  kDoesNotExist,
  kGt,
  kGe,
  kLt,
  kLe,
  kGtLt,
  kGeLe,
  kIsTrue,
  kIsFalse,
};

// "In", "NotIn", …
std::string_view ToString(Op op);

// An element of a feature as an expression sees it.
struct Element {
  bool exists = false;
  // A flag has none.
  std::optional<std::string_view> value;
};

class MatchExpression {
 public:
  enum class Outcome : uint8_t {
    kNo,
    kYes,
    kNotComparable,  // the element's value is no number, or no version; counts as no match
  };

  // Errors: InvalidArgument: a wrong number of values, values that are no numbers or versions, low
  // above high, an invalid regular expression, a version for an operator that only compares texts.
  static StatusOr<MatchExpression> Create(Op op, std::vector<std::string> values,
                                          bool are_versions = false);

  Op op() const { return op_; }
  const std::vector<std::string>& values() const { return values_; }
  // "Gt 5", "In a, b", "Ge 5.10 (versions)".
  std::string Text() const;

  Outcome Match(const Element& element) const;
  // The cost of Match, in comparisons of short texts.
  size_t Work(const Element& element) const;

  // Compares operator, values and type.
  bool operator==(const MatchExpression& other) const {
    return op_ == other.op_ && values_ == other.values_ && are_versions_ == other.are_versions_;
  }

 private:
  MatchExpression(Op op, std::vector<std::string> values, bool are_versions)
      : op_(op), values_(std::move(values)), are_versions_(are_versions) {}

  Status Compile();
  Status CompileBounds();
  bool IsAmong(std::string_view value) const;
  Outcome Compare(std::string_view value) const;

  Op op_;
  std::vector<std::string> values_;
  bool are_versions_;
  std::vector<Pattern> patterns_;  // for InRegexp
  std::vector<int64_t> numbers_;   // for the comparing operators
  std::vector<Version> versions_;
};

}  // namespace kgpu::labels
