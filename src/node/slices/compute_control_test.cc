#include "src/node/slices/compute_control.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "src/preload/turns.h"

namespace kgpu::slices {
namespace {

using preload::GateTurn;
using preload::kGateParts;
using preload::kGatePeriod;
using ::testing::DoubleNear;
using ::testing::ElementsAre;

constexpr uint64_t kMs = 1'000'000;
constexpr uint64_t kTick = kMs / 10;
constexpr uint64_t kSlice = 2 * kMs;  // that the driver lets a process have before the next one

// A process that launches kernels, by the rules of the library in its container.
struct Tenant {
  std::string id;
  unsigned share = 25;
  uint64_t kernel = kMs;   // nanoseconds of the device
  unsigned depth = 1'000;  // launches that it does not wait for
  double wants = 1;        // part of the time in which it wants to launch
  bool is_there = true;

  GateTurn turn{};
  preload::Turns turns{};
  uint64_t queued = 0;    // nanoseconds of the device
  uint64_t used = 0;      // of them, done in this round
  uint64_t waited = 0;    // for its windows
  bool is_early = false;  // it waits for one
  uint32_t epoch = 0;

  void Step(uint64_t now) {
    const bool is_resting = static_cast<double>(now / kTick % 1'000) >= wants * 1'000;
    if (!is_there || is_resting) {
      return;
    }
    while (queued < depth * kernel) {
      if (!MayLaunch(now)) {
        waited += is_early ? kTick : 0;
        break;
      }
      queued += kernel;
    }
  }
  bool MayLaunch(uint64_t now) {
    is_early = false;
    if (turn.open >= kGateParts) {
      return true;
    }
    if (turn.epoch != epoch) {
      turns = {};
      if (queued > 0) {
        return false;  // what it has launched while it was free to ends first
      }
      epoch = turn.epoch;
    }
    if (preload::MustEnd(turns, turn, now)) {
      if (queued > 0) {
        preload::NoteRunning(&turns, now);
        return false;  // waits until it has ended
      }
      preload::NoteEnd(&turns, turn, now);
    }
    const preload::NextLaunch next = preload::NextTurn(turns, turn, now);
    if (next.at > now) {
      is_early = true;
      return false;
    }
    preload::NoteLaunch(&turns, next);
    return true;
  }
};

// A GPU whose driver lets processes take turns, with the controller in a round per second.
class Plant {
 public:
  explicit Plant(std::vector<Tenant> tenants) : tenants_(std::move(tenants)) {}

  // Percent that each has used in the last of `rounds`.
  std::vector<double> Run(int rounds, bool has_agent = true) {
    std::vector<double> used;
    for (int round = 0; round < rounds; ++round) {
      used = RunRound();
      if (has_agent) {
        Control(used);
      }
    }
    return used;
  }
  Tenant& at(size_t index) { return tenants_[index]; }
  const std::vector<ComputeTurn>& turns() const { return turns_; }
  const ComputeController& controller() const { return controller_; }

 private:
  std::vector<double> RunRound() {
    constexpr uint64_t kRound = 1'000 * kMs;
    for (Tenant& tenant : tenants_) {
      tenant.used = tenant.waited = 0;
    }
    for (const uint64_t end = now_ + kRound; now_ < end; now_ += kTick) {
      for (Tenant& tenant : tenants_) {
        tenant.Step(now_);
      }
      RunGpu();
    }
    std::vector<double> used;
    for (const Tenant& tenant : tenants_) {
      used.push_back(100.0 * static_cast<double>(tenant.used) / kRound);
    }
    return used;
  }
  void RunGpu() {
    for (size_t turn = 0; turn <= tenants_.size(); ++turn) {
      Tenant& tenant = tenants_[current_];
      if (tenant.queued > 0 && left_ > 0) {
        const uint64_t done = std::min(kTick, tenant.queued);
        tenant.queued -= done;
        tenant.used += done;
        left_ -= std::min(left_, kTick);
        return;
      }
      current_ = (current_ + 1) % tenants_.size();
      left_ = kSlice;
    }
  }
  void Control(const std::vector<double>& used) {
    std::vector<ComputeUse> uses;
    for (size_t i = 0; i < tenants_.size(); ++i) {
      uses.push_back({.id = tenants_[i].id,
                      .share = tenants_[i].share,
                      .has_programs = tenants_[i].is_there,
                      .used = std::round(used[i]),  // as the driver does
                      .waited = static_cast<double>(tenants_[i].waited) / kMs / 10});
    }
    turns_ = controller_.Update(uses);
    for (size_t i = 0; i < tenants_.size(); ++i) {
      tenants_[i].turn = preload::UnpackTurn(preload::PackTurn(turns_[i].turn));
    }
  }

  std::vector<Tenant> tenants_;
  ComputeController controller_;
  std::vector<ComputeTurn> turns_;
  uint64_t now_ = 20'000 * kGatePeriod;
  size_t current_ = 0;
  uint64_t left_ = kSlice;
};

// The first round notices that both are busy, the windows hold from then on: exactly for kernels
// that are short beside a period.
TEST(ComputeControlTest, TwoGreedyContainersGetTheirPartsAtOnce) {
  for (const uint64_t kernel : {kMs / 10, kMs}) {
    Plant plant({{.id = "a", .share = 75, .kernel = kernel, .depth = 20},
                 {.id = "b", .share = 25, .kernel = kMs, .depth = 20}});
    (void)plant.Run(2);
    for (int round = 0; round < 30; ++round) {
      EXPECT_THAT(plant.Run(1), ElementsAre(DoubleNear(75, 4), DoubleNear(25, 4)))
          << static_cast<double>(kernel) / kMs << " ms, round " << round;
    }
  }
}

// Long ones run into the neighbour's windows, and the controller corrects what is lost by it.
TEST(ComputeControlTest, LongKernelsAreCorrected) {
  for (const uint64_t kernel : {5 * kMs, 30 * kMs, 120 * kMs}) {
    Plant plant({{.id = "a", .share = 75, .kernel = kernel, .depth = 20},
                 {.id = "b", .share = 25, .kernel = kMs, .depth = 20}});
    (void)plant.Run(8);
    double of_a = 0;
    double of_b = 0;
    constexpr int kRounds = 20;
    for (int round = 0; round < kRounds; ++round) {
      const std::vector<double> used = plant.Run(1);
      of_a += used[0] / kRounds;
      of_b += used[1] / kRounds;
    }
    EXPECT_NEAR(of_a, 75, 5) << static_cast<double>(kernel) / kMs << " ms";
    EXPECT_NEAR(of_b, 25, 5) << static_cast<double>(kernel) / kMs << " ms";
  }
}

// Whatever is in the queues: a second of work each when the control begins.
TEST(ComputeControlTest, FullQueuesDelayItButChangeNothing) {
  Plant plant({{.id = "a", .share = 20, .kernel = kMs, .depth = 1'000},
               {.id = "b", .share = 80, .kernel = kMs, .depth = 1'000}});
  (void)plant.Run(6);
  for (int round = 0; round < 20; ++round) {
    EXPECT_THAT(plant.Run(1), ElementsAre(DoubleNear(20, 5), DoubleNear(80, 5))) << round;
  }
}

TEST(ComputeControlTest, TheDeviceIsNotLeftIdle) {
  Plant plant({{.id = "a", .share = 25, .kernel = kMs, .depth = 50},
               {.id = "b", .share = 25, .kernel = kMs, .depth = 50}});
  (void)plant.Run(6);
  const std::vector<double> used = plant.Run(1);
  EXPECT_GT(used[0] + used[1], 95) << "shares of 25 are parts of all that is used";
  EXPECT_NEAR(used[0], 50, 3);
}

TEST(ComputeControlTest, WhoIsAloneWaitsForNobody) {
  Plant plant({{.id = "a", .share = 10, .kernel = kMs, .depth = 50},
               {.id = "b", .share = 90, .is_there = false}});
  EXPECT_GT(plant.Run(3)[0], 99);
  EXPECT_EQ(plant.turns()[0].turn.open, kGateParts);
  EXPECT_FALSE(plant.controller().is_contended());
}

TEST(ComputeControlTest, ThreeContainersOfWhichOneIsIdle) {
  Plant plant({{.id = "a", .share = 50, .depth = 50},
               {.id = "b", .share = 25, .depth = 50},
               {.id = "c", .share = 25, .wants = 0}});
  (void)plant.Run(8);
  EXPECT_THAT(plant.Run(1), ElementsAre(DoubleNear(66.7, 4), DoubleNear(33.3, 4), 0));
  // It begins: at least a part at once, and its own from then on.
  plant.at(2).wants = 1;
  EXPECT_GT(plant.Run(1)[2], 10);
  (void)plant.Run(4);
  EXPECT_THAT(plant.Run(1), ElementsAre(DoubleNear(50, 5), DoubleNear(25, 5), DoubleNear(25, 5)));
}

TEST(ComputeControlTest, WhatOneDoesNotUseGoesToTheOthers) {
  Plant plant({{.id = "a", .share = 50, .kernel = kMs, .depth = 1, .wants = 0.1},
               {.id = "b", .share = 50, .kernel = kMs, .depth = 50}});
  (void)plant.Run(15);
  double of_b = 0;
  for (int round = 0; round < 10; ++round) {
    of_b += plant.Run(1)[1] / 10;
  }
  EXPECT_GT(of_b, 80);
}

// A container that queues work for three tenths of the time has no use for its half, however long
// it waits for its kernels and for its windows.
TEST(ComputeControlTest, WaitingForItsOwnKernelsIsNoDemand) {
  Plant plant({{.id = "a", .share = 50, .kernel = kMs, .depth = 15, .wants = 0.15},
               {.id = "b", .share = 50, .kernel = kMs, .depth = 50}});
  (void)plant.Run(15);
  double of_a = 0;
  double of_b = 0;
  for (int round = 0; round < 10; ++round) {
    const std::vector<double> used = plant.Run(1);
    of_a += used[0] / 10;
    of_b += used[1] / 10;
  }
  EXPECT_GT(of_b, 65);
  EXPECT_GT(of_a + of_b, 92) << "of a " << of_a;
}

// Five percent that wait as long as a small window makes them: the part that is not needed is
// small.
TEST(ComputeControlTest, WaitingAtTheGateIsNoDemandForMoreThanWasUsedBeside) {
  ComputeController controller;
  std::vector<ComputeTurn> turns;
  for (int round = 0; round < 20; ++round) {
    turns = controller.Update(
        {{.id = "a", .share = 50, .has_programs = true, .used = 5, .waited = 20},
         {.id = "b", .share = 50, .has_programs = true, .used = 90, .waited = 10}});
  }
  EXPECT_LT(turns[0].target.value_or(100), 12);
  EXPECT_GT(turns[1].target.value_or(0), 88);
}

// What was found at a large target is cut to the new one.
TEST(ComputeControlTest, ACorrectionIsNoLargerThanItsTarget) {
  ComputeController controller;
  std::vector<ComputeTurn> turns;
  for (int round = 0; round < 10; ++round) {
    turns =
        controller.Update({{.id = "a", .share = 10, .has_programs = true, .used = 99, .waited = 1},
                           {.id = "b", .share = 90, .has_programs = true, .used = 1, .waited = 0}});
  }
  EXPECT_GT(turns[0].target.value_or(0), 90);
  turns =
      controller.Update({{.id = "a", .share = 10, .has_programs = true, .used = 99, .waited = 1},
                         {.id = "b", .share = 90, .has_programs = true, .used = 50, .waited = 50}});
  EXPECT_NEAR(turns[0].target.value_or(0), 10, 1e-6);
  EXPECT_LE(turns[0].turn.every, 5U);
}

TEST(ComputeControlTest, WhenOneEndsTheOtherHasAll) {
  Plant plant({{.id = "a", .share = 50, .depth = 50}, {.id = "b", .share = 50, .depth = 50}});
  (void)plant.Run(10);
  plant.at(1).is_there = false;
  (void)plant.Run(1);  // what it has left behind ends
  EXPECT_GT(plant.Run(2)[0], 98);
  EXPECT_FALSE(plant.controller().is_contended());
}

// Its last word loses its force, and the fixed parts hold.
TEST(ComputeControlTest, WithoutAnAgentTheFixedPartsHold) {
  Plant plant({{.id = "a", .share = 60, .depth = 50}, {.id = "b", .share = 40, .depth = 50}});
  plant.at(0).turn = {.open = 6000, .start = 0};
  plant.at(1).turn = {.open = 4000, .start = 6000};
  (void)plant.Run(3, false);
  EXPECT_THAT(plant.Run(1, false), ElementsAre(DoubleNear(60, 4), DoubleNear(40, 4)));
}

// The library in a container does nothing about its work, as when it was avoided: the others get
// no less than what the driver's turns leave them, and the error says so.
TEST(ComputeControlTest, TheErrorShowsWhoTakesMore) {
  ComputeController controller;
  std::vector<ComputeTurn> turns;
  for (int round = 0; round < 10; ++round) {
    turns = controller.Update({{.id = "a", .share = 50, .has_programs = true, .used = 70},
                               {.id = "b", .share = 50, .has_programs = true, .used = 30}});
  }
  ASSERT_TRUE(turns[0].error.has_value());
  EXPECT_NEAR(turns[0].error.value_or(0), 20, 1e-9);
  EXPECT_NEAR(turns[1].error.value_or(0), -20, 1e-9);
  EXPECT_GT(turns[0].turn.every, 1U) << "its windows come less often";
}

TEST(ComputeControlTest, WithoutMeasurementsThePartsHoldUncorrected) {
  ComputeController controller;
  for (int round = 0; round < 5; ++round) {
    const auto turns = controller.Update({{.id = "a", .share = 30, .has_programs = true},
                                          {.id = "b", .share = 30, .has_programs = true},
                                          {.id = "c", .share = 30}});
    EXPECT_EQ(turns[0].turn.open, 5000U);
    EXPECT_EQ(turns[1].turn.start, 5000U);
    EXPECT_EQ(turns[0].error, std::nullopt);
    EXPECT_EQ(turns[2].turn.open, 3000U) << "it can begin at once";
    EXPECT_EQ(turns[2].target, std::nullopt);
  }
}

TEST(ComputeControlTest, EachRoundBeats) {
  ComputeController controller;
  const std::vector<ComputeUse> uses = {{.id = "a", .share = 30, .has_programs = true, .used = 5},
                                        {.id = "b", .share = 30, .has_programs = true, .used = 5}};
  const uint32_t first = controller.Update(uses)[0].turn.beat;
  EXPECT_NE(controller.Update(uses)[0].turn.beat, first);
}

// An hour at the borders of what is allowed: turns stay within their periods, corrections bounded.
TEST(ComputeControlTest, StaysInRangeWhateverIsMeasured) {
  ComputeController controller;
  uint32_t random = 1;
  for (int round = 0; round < 3'600; ++round) {
    std::vector<ComputeUse> uses;
    for (int i = 0; i < 5; ++i) {
      random = random * 1'664'525 + 1'013'904'223;
      uses.push_back({.id = std::to_string(i + random % 2),
                      .share = random >> 8 & 127,
                      .has_programs = (random >> 16 & 1) != 0,
                      .used = static_cast<double>(random >> 20 & 127)});
    }
    for (const ComputeTurn& turn : controller.Update(uses)) {
      EXPECT_EQ(preload::UnpackTurn(preload::PackTurn(turn.turn)), turn.turn);
    }
  }
}

TEST(DivideByWeightTest, LeavesNothingAsLongAsSomebodyWantsIt) {
  EXPECT_THAT(DivideByWeight(100, {{1, 100}, {3, 100}}), ElementsAre(25, 75));
  EXPECT_THAT(DivideByWeight(100, {{1, 10}, {1, 100}, {1, 100}}), ElementsAre(10, 45, 45));
  EXPECT_THAT(DivideByWeight(100, {{1, 10}, {1, 20}}), ElementsAre(10, 20));
  EXPECT_THAT(DivideByWeight(100, {{1, 0}, {1, 100}}), ElementsAre(0, 100));
  EXPECT_THAT(DivideByWeight(100, {}), ElementsAre());
}

}  // namespace
}  // namespace kgpu::slices
