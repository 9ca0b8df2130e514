#include "testing/driver/command.h"

#include <gmock/gmock.h>

#include <string>

#include "testing/driver/sample_state.h"
#include "testing/status_matchers.h"

namespace kgpu::sim {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(CommandTest, EveryVerbWorks) {
  const auto state = SampleState(2);
  for (const char* line : {"xid 0 31",
                           "ecc 0 corrected 2 sram",
                           "lose 0",
                           "heal 0",
                           "hang 0",
                           "heal all",
                           "slow all 5 nvmlDeviceGetName",
                           "refuse 0 3 nvmlDeviceGetMemoryInfo",
                           "unload",
                           "load 550.54.15 12.4",
                           "add",
                           "remove 2",
                           "mig-mode 0 on",
                           "mig-activate 0",
                           "mig-create 0 3g.40gb 0",
                           "gi-create 0 19 4",
                           "ci-create 0 11 0",
                           "ci-destroy 0 11 0",
                           "gi-destroy 0 11",
                           "mig-destroy 0 1",
                           "mig-destroy 0",
                           "process 1 4242 1024 compute train 80",
                           "process-end 1 4242",
                           "util 0 90 40",
                           "temp 0 55",
                           "throttle 0 power-cap",
                           "throttle 0 0x8",
                           "throttle 0 off",
                           "nvlink 0 3",
                           "set 0 power-usage 250000"}) {
    EXPECT_THAT(ApplyCommand(*state, line), IsOk()) << line;
  }
  EXPECT_STREQ(state->driver.version, "550.54.15");
  EXPECT_EQ(state->driver.cuda_version, 12040U);
  EXPECT_EQ(state->gpus[0].utilization.gpu, 90U);
}

TEST(CommandTest, AnswersWhatWasMade) {
  const auto state = SampleState(1);
  ASSERT_THAT(ApplyCommand(*state, "mig-mode 0 on"), IsOkAndHolds(HasSubstr("pending")));
  ASSERT_OK(ApplyCommand(*state, "heal 0"));
  EXPECT_THAT(ApplyCommand(*state, "mig-create 0 1g.10gb 2"),
              IsOkAndHolds(StartsWith("gi 9 ci 0 MIG-")));
  EXPECT_THAT(ApplyCommand(*state, "add"), IsOkAndHolds(StartsWith("gpu GPU-")));
}

TEST(CommandTest, SlowTakesMilliseconds) {
  const auto state = SampleState(1);
  ASSERT_OK(ApplyCommand(*state, "slow 0 20"));
  EXPECT_EQ(state->gpus[0].knobs[0].slow_ns, 20'000'000U);
}

struct BadLine {
  const char* line;
  const char* text;
};

class BadCommandTest : public ::testing::TestWithParam<BadLine> {};

TEST_P(BadCommandTest, SaysWhatIsWrongAndHowToFixIt) {
  const auto state = SampleState(1);
  const auto result = ApplyCommand(*state, GetParam().line);
  EXPECT_FALSE(result.ok());
  EXPECT_THAT(std::string(Message(result.status())), HasSubstr(GetParam().text));
}

INSTANTIATE_TEST_SUITE_P(
    Lines, BadCommandTest,
    ::testing::Values(BadLine{"", "empty"}, BadLine{"throtle 0 off", "did you mean throttle?"},
                      BadLine{"xid", "GPU is missing"}, BadLine{"xid 0", "XID is missing"},
                      BadLine{"xid 0 x", "\"x\" must be an integer"},
                      BadLine{"xid 0 79 1 1 1", "unexpected argument"},
                      BadLine{"xid 5 79", "there are 1 GPUs"},
                      BadLine{"ecc 0 wrong 1", "corrected or uncorrected"},
                      BadLine{"ecc 0 corrected 1 registr", "did you mean register?"},
                      BadLine{"ecc 0 corrected 1 4294967298", "must be 0 to 7"},
                      BadLine{"mig-mode 0 yes", "on or off"},
                      BadLine{"load 550 12", "must look like 12.2"},
                      BadLine{"load 550 12.2", "unload it first"},
                      BadLine{"process 0 1 1 shader", "compute, graphics or mps"},
                      BadLine{"temp 0 4294967296", "below 2^32"}));

TEST(CommandTest, RefusesLongLines) {
  const auto state = SampleState(1);
  EXPECT_THAT(ApplyCommand(*state, std::string(kMaxCommand + 1, 'x')),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("1024")));
}

}  // namespace
}  // namespace kgpu::sim
