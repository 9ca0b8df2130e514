#include "src/kube/api/warnings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "src/platform/base/log.h"

namespace kgpu::kube {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(WarningsTest, TakesTheTextOutOfTheField) {
  EXPECT_THAT(WarningsOf({{"Warning", "299 - \"v1beta1 is old\""},
                          {"warning", "299 - \"a \\\"b\\\" c\" \"some date\""},
                          {"Warning", "199 - \"not of an API server\""},
                          {"Warning", "299 - no quotes"},
                          {"Other", "299 - \"x\""}}),
              ElementsAre("v1beta1 is old", "a \"b\" c"));
}

TEST(WarningsTest, LogsEachOnce) {
  std::vector<std::string> lines;
  SetLogSink([&](LogLevel, std::string_view line) { lines.emplace_back(line); });
  WarningLog log;
  for (int i = 0; i < 3; ++i) {
    log.Note({{"Warning", "299 - \"old\""}}, "GET /x");
  }
  log.Note({{"Warning", "299 - \"older\""}}, "GET /y");
  SetLogSink(nullptr);
  EXPECT_THAT(lines, ElementsAre(HasSubstr("old"), HasSubstr("older")));
}

}  // namespace
}  // namespace kgpu::kube
