// The grammar of NVIDIA_REQUIRE_* values: alternatives between blanks, each a list of conditions
// between commas, each a property, an operator and a value.
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

// Text is borrowed of what was read.
struct Condition {
  Property property = Property::kCuda;
  Operator op = Operator::kEqual;
  std::string_view text;     // as written: "cuda>=12.4"
  std::string_view value;    // likewise: "12.4"
  VersionNumbers version{};  // of every property but the brand
};

struct Alternative {
  std::string_view text;
  std::vector<Condition> conditions;  // at least one
  std::string problem;                // why it means nothing; empty for a good one
  size_t position = 0;                // of the problem: the first byte of the whole text is 1
};

// Dependencies out the alternatives of `text` one by one, so that a long text takes no memory.
class AlternativeReader {
 public:
  explicit AlternativeReader(std::string_view text) : text_(text) {}

  // False when there are no more. `alternative` is overwritten.
  bool Next(Alternative& alternative);

 private:
  void ReadConditions(size_t start, Alternative& alternative) const;

  std::string_view text_;
  size_t at_ = 0;
};

// Whether `actual` stands in the relation to the condition's version that it asks for.
bool Holds(const Condition& condition, const VersionNumbers& actual);
// Likewise for a brand, whatever the case.
bool Holds(const Condition& condition, std::string_view actual);

}  // namespace kgpu::cuda
