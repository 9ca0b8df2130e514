#include "src/node/loans/lent_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

#include "src/node/loans/test_stock.h"
#include "src/platform/base/log.h"

namespace kgpu::loans {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::SizeIs;

class LentWatchTest : public ::testing::Test {
 public:
  ~LentWatchTest() override { SetLogSink({}); }

 protected:
  LentWatchTest() {
    SetLogSink([this](LogLevel, std::string_view line) { log_.emplace_back(line); });
    for (unsigned i = 0; i < 2; ++i) {
      EXPECT_OK(ledger_.Add({.holder = fmt::format("fn/a/{}", i),
                             .model = "T4",
                             .gpus = loans::TestGpus({0}),
                             .slices = {loans::TestSlice(0, i, 4)}},
                            WallTime(std::chrono::seconds(1))));
    }
    EXPECT_OK(ledger_.Add({.holder = "fn/b/0", .model = "T4", .gpus = loans::TestGpus({1})},
                          WallTime(std::chrono::seconds(1))));
  }

  static device::ProcessSample ProcessWith(uint64_t gibi) {
    device::ProcessSample process;
    process.pid = 7;
    process.memory = GibiBytes(gibi);
    return process;
  }
  // A round in which processes use this much of GPU 0.
  void Round(const std::vector<uint64_t>& gibi) {
    device::SampleSet samples;
    samples.gpus.resize(2);
    samples.gpus[0].uuid = loans::TestGpu(0);
    samples.gpus[1].uuid = loans::TestGpu(1);
    for (const uint64_t amount : gibi) {
      samples.gpus[0].processes.push_back(ProcessWith(amount));
    }
    samples.gpus[1].processes.push_back(ProcessWith(15));  // of a GPU that is lent whole
    watch_.OnSample(ledger_, samples, SteadyTime(std::chrono::seconds(15 * ++round_)),
                    std::chrono::seconds(15));
  }

  std::vector<std::string> log_;
  loans::Ledger ledger_;
  LentWatch watch_;
  int round_ = 0;
};

TEST_F(LentWatchTest, WhatIsLentMayBeUsed) {
  for (int i = 0; i < 3; ++i) {
    Round({4, 4});
  }
  EXPECT_EQ(watch_.problem(), "");
  EXPECT_THAT(log_, SizeIs(0));
}

TEST_F(LentWatchTest, NamesTheGpuAndItsBorrowersInTheSecondRound) {
  Round({4, 6});
  EXPECT_EQ(watch_.problem(), "") << "the sample may be older than the ledger";
  Round({4, 6});
  EXPECT_THAT(watch_.problem(),
              AllOf(HasSubstr("processes use 10 GiB of " + loans::TestGpu(0).str()),
                    HasSubstr("(fn/a/0, fn/a/1) have 8 GiB")));
  for (int hour = 0; hour < 3600; ++hour) {
    Round({4, 6});
  }
  EXPECT_THAT(log_, SizeIs(1)) << "one line, however long it takes";
  Round({4, 3});
  EXPECT_EQ(watch_.problem(), "");
}

TEST_F(LentWatchTest, WhoAvoidsTheLimitAloneIsSeenBesideIdleNeighboursThatBorrowNothing) {
  ledger_.Remove(ledger_.FindByHolder("fn/a/1")->id);
  Round({6});
  Round({6});
  EXPECT_THAT(watch_.problem(), HasSubstr("(fn/a/0) have 4 GiB"));
}

}  // namespace
}  // namespace kgpu::loans
