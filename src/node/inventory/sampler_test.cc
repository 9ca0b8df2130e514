#include "src/node/inventory/sampler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <vector>

#include "src/gpu/probe/testdata/test_probe.h"
#include "src/node/inventory/test_inventory.h"
#include "testing/status_matchers.h"

namespace kgpu::inventory {
namespace {

using device::SampleSet;
using device::SampleSetPtr;
using probe::RunUntil;
using std::chrono::milliseconds;

// An inventory that measures, over the real probe and a fake driver library.
class SamplerTest : public TestInventory {
 protected:
  SamplerTest() {
    options_.health.every = milliseconds(0);  // nobody wants samples but the test
  }

  void Start(milliseconds every = milliseconds(5)) {
    root_.emplace(host_.Open());
    inventory_ = std::make_unique<Inventory>(*loop_, *root_, options_);
    inventory_->SetSampling(every);
    inventory_->OnSample([this](const SampleSetPtr& set) { sets_.push_back(set); });
    inventory_->Start([](const device::SnapshotPtr&) {});
  }
  // Waits for a round that is as wanted; nothing when none came.
  SampleSetPtr WaitFor(const std::function<bool(const SampleSet&)>& is_wanted) {
    const auto is_there = [&] { return !sets_.empty() && is_wanted(*sets_.back()); };
    return RunUntil(*loop_, is_there) ? sets_.back() : nullptr;
  }
  SampleSetPtr WaitForRounds(size_t rounds) {
    return WaitFor([&](const SampleSet&) { return sets_.size() >= rounds; });
  }

  std::vector<SampleSetPtr> sets_;
  std::unique_ptr<Inventory> inventory_;
};

TEST_F(SamplerTest, MeasuresAllGpusRoundAfterRound) {
  Start();
  const SampleSetPtr set = WaitForRounds(3);
  ASSERT_NE(set, nullptr);
  ASSERT_EQ(set->gpus.size(), 2U);
  EXPECT_EQ(set->gpus[1].uuid.str(), "GPU-00000000-0000-0000-0000-000000000001");
  EXPECT_EQ(set->gpus[1].utilization.gpu, 42.0);
  EXPECT_EQ(set->gpus[1].power.watts, 123.456);
  EXPECT_EQ(set->gpus[1].nvlinks.size(), 12U);
  EXPECT_EQ(set->version, 3U);
}

TEST_F(SamplerTest, IsOffUntilAskedFor) {
  Start(milliseconds(0));
  const auto has_sample = [&] { return !sets_.empty(); };
  EXPECT_FALSE(RunUntil(*loop_, has_sample, milliseconds(60)));
  inventory_->SetSampling(milliseconds(5));
  EXPECT_NE(WaitForRounds(2), nullptr);
}

TEST_F(SamplerTest, ARoundUnderWayIsGivenUpWhenNobodyWantsItAnyMore) {
  Start();
  ASSERT_NE(WaitForRounds(1), nullptr);
  control_.Set("slow 5\n");
  ASSERT_NE(WaitForRounds(sets_.size() + 1), nullptr);
  const size_t before = sets_.size();
  const auto has_more = [&] { return sets_.size() > before; };
  EXPECT_FALSE(RunUntil(
      *loop_, [&] { return sets_.size() > before; }, milliseconds(20)))
      << "the next round is under way";
  inventory_->SetSampling(milliseconds(0));
  EXPECT_FALSE(RunUntil(*loop_, has_more, milliseconds(800)));
}

TEST_F(SamplerTest, ALostGpuIsLeftOutAndComesBack) {
  Start();
  ASSERT_NE(WaitForRounds(1), nullptr);
  control_.Set("lost 0\n");
  const SampleSetPtr without = WaitFor([](const SampleSet& s) { return s.gpus.size() == 1; });
  ASSERT_NE(without, nullptr);
  EXPECT_EQ(without->gpus[0].uuid.str(), "GPU-00000000-0000-0000-0000-000000000001");
  control_.Set("");
  EXPECT_NE(WaitFor([](const SampleSet& s) { return s.gpus.size() == 2; }), nullptr);
}

TEST_F(SamplerTest, MeasuresNothingRoundAfterRoundWithoutAGpu) {
  control_.Set("gpus 0\n");
  Start();
  const SampleSetPtr set = WaitForRounds(3);
  ASSERT_NE(set, nullptr);
  EXPECT_TRUE(set->gpus.empty());
}

TEST_F(SamplerTest, TheLastGpuLeavesAndComesBack) {
  Start();
  ASSERT_NE(WaitForRounds(1), nullptr);
  host_.RemoveGpu(0);
  host_.RemoveGpu(1);
  control_.Set("gpus 0\n");
  inventory_->Refresh();
  EXPECT_NE(WaitFor([](const SampleSet& s) { return s.gpus.empty(); }), nullptr);
  const size_t rounds = sets_.size();
  ASSERT_NE(WaitForRounds(rounds + 3), nullptr);
  host_.AddGpu(0);
  host_.AddGpu(1);
  control_.Set("");
  inventory_->Refresh();
  EXPECT_NE(WaitFor([](const SampleSet& s) { return s.gpus.size() == 2; }), nullptr);
}

TEST_F(SamplerTest, EveryGpuIsLost) {
  Start();
  ASSERT_NE(WaitForRounds(1), nullptr);
  control_.Set("lost 0\nlost 1\n");
  EXPECT_NE(WaitFor([](const SampleSet& s) { return s.gpus.empty(); }), nullptr);
  const size_t rounds = sets_.size();
  EXPECT_NE(WaitForRounds(rounds + 3), nullptr);
}

TEST_F(SamplerTest, ADriverThatHangsLeavesNoGpuAndIsMeasuredAgain) {
  options_.call_deadline = milliseconds(50);
  options_.slow_poll = milliseconds(20);
  Start();
  ASSERT_NE(WaitForRounds(1), nullptr);
  control_.Set("hang nvmlDeviceGetPowerUsage\nhang nvmlDeviceGetName\n");
  EXPECT_NE(WaitFor([](const SampleSet& s) { return s.gpus.empty(); }), nullptr);
  control_.Set("");
  EXPECT_NE(WaitFor([](const SampleSet& s) { return s.gpus.size() == 2; }), nullptr);
}

TEST_F(SamplerTest, AGpuThatIsSlowDoesNotHoldEventsBack) {
  Start();
  ASSERT_NE(WaitForRounds(1), nullptr);
  control_.Set("slow 30\n");
  ASSERT_NE(WaitForRounds(sets_.size() + 1), nullptr);
  control_.Set("slow 30\nxid 1 79 1\n");
  EXPECT_TRUE(RunUntil(*loop_, [&] { return !inventory_->current()->gpus[1].health.is_healthy; }));
}

TEST_F(SamplerTest, ProcessesComeInPagesAndInOrder) {
  control_.Set("processes 250\n");
  Start();
  const SampleSetPtr set = WaitForRounds(1);
  ASSERT_NE(set, nullptr);
  const auto& processes = set->gpus[0].processes;
  ASSERT_EQ(processes.size(), 250U);
  EXPECT_TRUE(std::ranges::is_sorted(processes, {}, &device::ProcessSample::pid));
  EXPECT_EQ(processes[0].sm, 30.0);
  EXPECT_EQ(processes[1].sm, 0.0);  // no sample of it: it did nothing
  EXPECT_EQ(processes[1].memory, std::nullopt);
  EXPECT_EQ(processes[249].memory, MebiBytes(249));
}

TEST_F(SamplerTest, NoMoreThan256ProcessesAreReported) {
  control_.Set("processes 700\n");
  Start();
  const SampleSetPtr set = WaitForRounds(1);
  ASSERT_NE(set, nullptr);
  EXPECT_EQ(set->gpus[0].processes.size(), 256U);
}

TEST_F(SamplerTest, UtilizationIsThatSinceTheLastRound) {
  control_.Set("processes 2\n");
  Start();
  ASSERT_NE(WaitForRounds(2), nullptr);
  EXPECT_EQ(sets_[0]->gpus[0].processes[0].sm, 30.0);
  EXPECT_EQ(sets_[1]->gpus[0].processes[0].sm, 0.0);
}

TEST_F(SamplerTest, ProfilingNeedsTwoRounds) {
  control_.Set("gpm\n");
  Start(milliseconds(120));
  ASSERT_NE(WaitForRounds(2), nullptr);
  EXPECT_FALSE(sets_[0]->is_complete);
  EXPECT_EQ(sets_[0]->gpus[0].profiling.sm_active, std::nullopt);
  EXPECT_TRUE(sets_[1]->is_complete);
  EXPECT_EQ(sets_[1]->gpus[0].profiling.sm_active, 0.02);
  EXPECT_EQ(sets_[1]->gpus[0].profiling.fp64_active, std::nullopt);  // not of this model
}

TEST_F(SamplerTest, ProfilingOfAShortTimeIsThatOfTheTimeBefore) {
  control_.Set("gpm\n");
  Start();
  ASSERT_NE(WaitFor([](const SampleSet& s) { return s.is_complete; }), nullptr);
  EXPECT_GT(sets_.size(), 3U);  // rounds each 5 ms, which are too short
  ASSERT_NE(WaitForRounds(sets_.size() + 1), nullptr);
  EXPECT_EQ(sets_.back()->gpus[0].profiling.sm_active, 0.02);
}

TEST_F(SamplerTest, AFirstRoundWithoutRatesIsComplete) {
  Start();
  ASSERT_NE(WaitForRounds(1), nullptr);
  EXPECT_TRUE(sets_[0]->is_complete);
}

// The fake has six samples: GPUs 0 and 1 take four, one GPU instance the last two. When the pair
// of an instance that has gone were kept, nothing would be left for the next one.
TEST_F(SamplerTest, ProfilingOfMigDevicesIsFreedWhenTheyGo) {
  host_.RemoveGpu(1);
  control_.Set("gpus 1\ngpm\nmig 0\n");
  Start();
  const auto has_all = [](const SampleSet& s) {
    return s.gpus.size() == 1 && s.gpus[0].migs.size() == 2 &&
           s.gpus[0].migs[1].profiling.sm_active.has_value();
  };
  ASSERT_NE(WaitFor(has_all), nullptr);
  for (int i = 0; i < 3; ++i) {
    control_.Set("gpus 1\ngpm\n");
    inventory_->Refresh();
    ASSERT_NE(WaitFor([](const SampleSet& s) { return s.gpus[0].migs.empty(); }), nullptr);
    ASSERT_NE(WaitForRounds(sets_.size() + 1), nullptr);
    control_.Set("gpus 1\ngpm\nmig 0\n");
    inventory_->Refresh();
    ASSERT_NE(WaitFor(has_all), nullptr);
  }
  EXPECT_EQ(sets_.back()->gpus[0].migs[0].gpu_instance, 7U);
  EXPECT_EQ(sets_.back()->gpus[0].migs[1].uuid.str(), "MIG-00000000-0000-0000-0002-000000000000");
}

TEST_F(SamplerTest, AnOldDriverIsMeasuredAsFarAsItGoes) {
  options_.nvml_library = probe::kFakeNvmlV1;
  Start();
  const SampleSetPtr set = WaitForRounds(1);
  ASSERT_NE(set, nullptr);
  EXPECT_EQ(set->gpus[0].power.watts, 123.456);
  EXPECT_EQ(set->gpus[0].throttle_reasons, std::nullopt);
  ASSERT_EQ(set->gpus[0].processes.size(), 1U);
  EXPECT_EQ(set->gpus[0].processes[0].memory, MebiBytes(1));
  EXPECT_EQ(set->gpus[0].processes[0].gpu_instance, std::nullopt);
  EXPECT_EQ(set->gpus[0].processes[0].sm, std::nullopt);
}

TEST_F(SamplerTest, ValuesThatCannotBeAreLeftOut) {
  Start();
  ASSERT_NE(WaitForRounds(1), nullptr);
  control_.Set("garbage\n");
  const SampleSetPtr set =
      WaitFor([](const SampleSet& s) { return s.gpus.size() == 2 && !s.gpus[0].utilization.gpu; });
  ASSERT_NE(set, nullptr);
  EXPECT_EQ(set->gpus[0].utilization.memory, 7.0);
}

}  // namespace
}  // namespace kgpu::inventory
