// The inputs below testdata/edits with lines and bytes lost, doubled and swapped: each is refused,
// or edited so that a second edit finds nothing to do and taking it back restores every byte.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "src/container/engine/config_edit.h"
#include "src/container/engine/test_edit_cases.h"
#include "src/platform/base/strings.h"
#include "testing/status_matchers.h"

namespace kgpu::engine {
namespace {

using ::testing::IsEmpty;

constexpr int kRounds = 25;

std::string JoinLines(const std::vector<std::string_view>& lines) {
  std::string text;
  for (size_t i = 0; i < lines.size(); ++i) {
    text += fmt::format("{}{}", i == 0 ? "" : "\n", lines[i]);
  }
  return text;
}

std::string Mutate(const std::string& text, std::mt19937& random) {
  if (text.empty()) {
    return text;
  }
  const auto below = [&random](size_t limit) { return random() % limit; };
  std::string mutated = text;
  std::vector<std::string_view> lines = Split(text, '\n');
  const size_t line = below(lines.size());
  const size_t other = below(lines.size());
  switch (below(5)) {
    case 0:
      lines.erase(lines.begin() + static_cast<ptrdiff_t>(line));
      return JoinLines(lines);
    case 1:
      lines.insert(lines.begin() + static_cast<ptrdiff_t>(line), lines[other]);
      return JoinLines(lines);
    case 2:
      std::swap(lines[line], lines[other]);
      return JoinLines(lines);
    case 3:
      mutated.erase(below(mutated.size()), 1 + below(4));
      return mutated;
    default:
      mutated[below(mutated.size())] = " \n\t\"',.=#[]{}ax1"[below(16)];
      return mutated;
  }
}

// How many texts were edited, not refused.
int CheckOne(const EditCase& c, const Texts& before) {
  const auto edits = Edit(c, before);
  if (!edits.ok()) {
    EXPECT_NE(edits.status().code(), StatusCode::kInternal) << edits.status();
    return 0;
  }
  Texts after = before;
  for (const FileEdit& file : *edits) {
    const auto reverted =
        Revert(file.kind, {.path = file.path, .text = file.edit.text}, file.edit.changes);
    EXPECT_THAT(reverted, IsOk());
    EXPECT_EQ(reverted.ok() ? reverted->text : "", TextAt(before, Relative(c, file.path)))
        << file.edit.text;
    after[Relative(c, file.path)] = file.edit.text;
  }
  const auto again = Edit(c, after);
  EXPECT_THAT(again, IsOk());
  if (again.ok()) {
    for (const FileEdit& file : *again) {
      EXPECT_THAT(file.edit.changes, IsEmpty()) << file.edit.text;
    }
  }
  return 1;
}

TEST(EditsMutationTest, EditsOrRefusesDamagedTexts) {
  std::mt19937 random(1);  // NOLINT(cert-msc51-cpp): the same texts in every run
  int edited = 0;
  for (const EditCase& c : EditCases()) {
    const Texts inputs = ReadInputs(c);
    for (int round = 0; round < kRounds && !HasFailure(); ++round) {
      SCOPED_TRACE(c.name);
      Texts mutated = inputs;
      for (auto& [path, text] : mutated) {
        text = Mutate(text, random);
      }
      edited += CheckOne(c, mutated);
    }
  }
  EXPECT_GT(edited, 200);  // else the damage is too great to show anything
}

}  // namespace
}  // namespace kgpu::engine
