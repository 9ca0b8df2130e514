#include "src/gpu/probe/output_limit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace kgpu::probe {
namespace {

using std::chrono::seconds;
using ::testing::ElementsAre;

class OutputLimitTest : public ::testing::Test {
 protected:
  std::vector<std::string> lines_;
  OutputLimit limit_{{.line_bytes = 5, .lines = 2, .period = seconds(10)},
                     [this](std::string_view line) { lines_.emplace_back(line); }};
  SteadyTime now_{seconds(1000)};
};

TEST_F(OutputLimitTest, LinesMayComeInPieces) {
  limit_.Add("a", now_);
  limit_.Add("b\n\nc", now_);
  EXPECT_THAT(lines_, ElementsAre("ab"));
  limit_.Finish(now_);
  EXPECT_THAT(lines_, ElementsAre("ab", "c"));
}

TEST_F(OutputLimitTest, CutsLongLines) {
  limit_.Add("12345\n123", now_);
  limit_.Add("4567890\n", now_);
  EXPECT_THAT(lines_, ElementsAre("12345", "12345…"));
}

TEST_F(OutputLimitTest, CountsWhatAPeriodHasTooMuch) {
  limit_.Add("1\n2\n3\n4\n", now_);
  EXPECT_THAT(lines_, ElementsAre("1", "2"));
  EXPECT_EQ(limit_.TakeDropped(), 2U);
  EXPECT_FALSE(limit_.has_dropped());
  limit_.Add("5\n", now_ + seconds(9));
  EXPECT_EQ(limit_.TakeDropped(), 1U);
  limit_.Add("6\n", now_ + seconds(10));
  EXPECT_THAT(lines_, ElementsAre("1", "2", "6"));
}

}  // namespace
}  // namespace kgpu::probe
