#include "src/platform/base/log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "src/platform/base/log_format.h"

namespace kgpu {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class LogTest : public ::testing::Test {
 public:
  LogTest() {
    SetLogSink([this](LogLevel, std::string_view line) { lines_.emplace_back(line); });
  }
  ~LogTest() override {
    SetLogSink(nullptr);
    SetLogLevel(LogLevel::kInfo);
    SetLogFormat(LogFormat::kKeyValue);
  }

 protected:
  std::vector<std::string> lines_;
};

TEST_F(LogTest, WritesLevelEventAndFields) {
  KGPU_LOG(kWarning, "probe restarted", {"attempt", 3}, {"path", "/x"});
  EXPECT_THAT(lines_,
              ElementsAre(EndsWith("level=warning event=\"probe restarted\" attempt=3 path=/x")));
  EXPECT_THAT(lines_[0], StartsWith("time=20"));
}

TEST_F(LogTest, IsPlainTextForPeople) {
  SetLogFormat(LogFormat::kText);
  KGPU_LOG(kWarning, "driver does not answer", {"reason", "it \x1b[2J hangs"}, {"attempt", 3});
  EXPECT_THAT(lines_, ElementsAre("kgpu: warning: driver does not answer; reason: it  [2J hangs; "
                                  "attempt: 3"));
}

TEST_F(LogTest, EscapesWhatWouldBreakALine) {
  KGPU_LOG(kInfo, "x", {"text", "a\"b\n\x1b[2J"});
  EXPECT_THAT(lines_, ElementsAre(HasSubstr("text=\"a\\\"b\\x0a\\x1b[2J\"")));
}

TEST_F(LogTest, DropsLinesBelowTheLevel) {
  KGPU_LOG(kDebug, "quiet");
  EXPECT_THAT(lines_, ElementsAre());
  SetLogLevel(LogLevel::kDebug);
  KGPU_LOG(kDebug, "loud");
  EXPECT_THAT(lines_, ElementsAre(HasSubstr("event=loud")));
}

TEST_F(LogTest, CutsValuesThatAreTooLong) {
  KGPU_LOG(kInfo, "x", {"text", std::string(5000, 'a')});
  EXPECT_LT(lines_.at(0).size(), 1200u);
}

}  // namespace
}  // namespace kgpu
