#include "src/cli/progress.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <vector>

namespace kgpu::cli {
namespace {

using ::testing::IsEmpty;

TEST(ProgressTest, SlowWorkIsNamedAndErasedAtTheEnd) {
  std::vector<std::string> written;
  std::promise<void> shown;
  {
    const Progress progress("asking the driver", {.delay = std::chrono::milliseconds(0),
                                                  .repeat = std::chrono::hours(1),
                                                  .write = [&](std::string_view text) {
                                                    written.emplace_back(text);
                                                    if (written.size() == 1) {
                                                      shown.set_value();
                                                    }
                                                  }});
    shown.get_future().wait();
  }
  ASSERT_EQ(written.size(), 2U);
  EXPECT_EQ(written[0], "\r\033[Kasking the driver … 0 s");
  EXPECT_EQ(written[1], "\r\033[K");
}

TEST(ProgressTest, QuickWorkShowsNothing) {
  std::vector<std::string> written;
  {
    const Progress progress("asking the driver",
                            {.delay = std::chrono::hours(1),
                             .write = [&](std::string_view text) { written.emplace_back(text); }});
  }
  EXPECT_THAT(written, IsEmpty());
}

TEST(ProgressTest, WithoutATerminalThereIsNothingToWriteTo) {
  testing::internal::CaptureStderr();
  {
    const Progress progress("asking the driver");
  }
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

}  // namespace
}  // namespace kgpu::cli
