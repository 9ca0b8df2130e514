#include "testing/driver/counters.h"

#include <gtest/gtest.h>

#include <memory>

#include "testing/driver/sample_state.h"

namespace kgpu::sim {
namespace {

constexpr uint64_t kSecond = kNanosecondsPerSecond;

class CountersTest : public ::testing::Test {
 protected:
  std::unique_ptr<SimState> state_ = SampleState(2);
  SimGpu& gpu_ = state_->gpus[0];
};

TEST_F(CountersTest, StandStillUntilTheyAreSettled) {
  EXPECT_EQ(EnergyMj(gpu_, 100 * kSecond), gpu_.power.energy_mj);
}

TEST_F(CountersTest, GrowByTheRatesOfNow) {
  const uint64_t energy = gpu_.power.energy_mj;
  gpu_.settled_ns = 10 * kSecond;
  gpu_.nvlink_tx_kib_s = 500;
  EXPECT_EQ(EnergyMj(gpu_, 12 * kSecond + kSecond / 2), energy + 62000 * 5 / 2);
  EXPECT_EQ(PcieTxBytes(gpu_, 12 * kSecond), 2U * 100 * 1024);
  EXPECT_EQ(LinkTxKib(gpu_, gpu_.nvlinks[2], 12 * kSecond), 1002U + 1000);
}

TEST_F(CountersTest, ALinkThatIsDownCarriesNothing) {
  gpu_.settled_ns = kSecond;
  gpu_.nvlink_rx_kib_s = 500;
  gpu_.nvlinks[2].is_active = 0;
  EXPECT_EQ(LinkRxKib(gpu_, gpu_.nvlinks[2], 9 * kSecond), 2002U);
}

TEST_F(CountersTest, SlowdownIsCountedByItsCause) {
  gpu_.settled_ns = kSecond;
  gpu_.throttle_reasons = 0x40;
  EXPECT_EQ(ViolationNs(gpu_, 0, 3 * kSecond), 0U);
  EXPECT_EQ(ViolationNs(gpu_, 1, 3 * kSecond), 2 * kSecond);
}

TEST_F(CountersTest, SettlingKeepsWhatCameByTheOldRates) {
  gpu_.settled_ns = kSecond;
  const uint64_t energy = EnergyMj(gpu_, 3 * kSecond);
  Settle(gpu_, 3 * kSecond);
  gpu_.power.usage = 0;
  EXPECT_EQ(EnergyMj(gpu_, 9 * kSecond), energy);
}

TEST_F(CountersTest, WhatAModelLacksStaysAway) {
  gpu_.settled_ns = kSecond;
  gpu_.power.energy_mj = kUnsupported64;
  gpu_.pcie.tx_kib_s = kUnsupported;
  Settle(gpu_, 5 * kSecond);
  EXPECT_EQ(EnergyMj(gpu_, 9 * kSecond), kUnsupported64);
  EXPECT_EQ(PcieTxBytes(gpu_, 9 * kSecond), 0U);
}

}  // namespace
}  // namespace kgpu::sim
