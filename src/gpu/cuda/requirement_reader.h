// Parses NVIDIA_REQUIRE_* values: alternatives separated by blanks, each a list of conditions
// separated by commas, each condition a property, an operator and a value.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "src/gpu/cuda/version.h"
#include "src/platform/base/status.h"

namespace kgpu::cuda {

enum class Property : uint8_t { kCuda, kDriver, kArch, kBrand };
enum class Operator : uint8_t { kEqual, kNotEqual, kLess, kLessOrEqual, kGreater, kGreaterOrEqual };

// Borrows from the text that was read.
struct Condition {
  Property property = Property::kCuda;
  Operator op = Operator::kEqual;
  std::string_view text;     // as written: "cuda>=12.4"
  std::string_view value;    // likewise: "12.4"
  VersionNumbers version{};  // for every property except the brand
};

struct Alternative {
  std::string_view text;
  std::vector<Condition> conditions;  // at least one
  std::string problem;                // why it is malformed; empty if it is not
  size_t position = 0;                // of the problem: 1 is the first byte of the whole text
};

// Returns the alternatives of `text` one by one, so that a long text takes no memory.
class AlternativeReader {
 public:
  explicit AlternativeReader(std::string_view text) : text_(text) {}

  // False if there are no more. Overwrites `alternative`.
  bool Next(Alternative& alternative);

 private:
  void ReadConditions(size_t start, Alternative& alternative) const;

  std::string_view text_;
  size_t at_ = 0;
};

// Whether `actual` satisfies the condition's operator and version.
bool Holds(const Condition& condition, const VersionNumbers& actual);
// The same for a brand, ignoring case.
bool Holds(const Condition& condition, std::string_view actual);

}  // namespace kgpu::cuda
