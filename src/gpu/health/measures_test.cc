#include "src/gpu/health/measures.h"

#include <gmock/gmock.h>

#include <functional>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "src/gpu/nvml/throttle.h"
#include "testing/fake_clock.h"
#include "testing/status_matchers.h"

namespace kgpu::health {
namespace {

using device::GpuSample;
using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// One member of what is there.
template <typename T, typename Member, typename V>
void Change(std::optional<T>& part, Member member, V value) {
  T changed = part.value_or(T());
  changed.*member = static_cast<std::remove_reference_t<decltype(changed.*member)>>(value);
  part = changed;
}

// One GPU, measured every 30 s, with every value good at first.
class MeasuresTest : public ::testing::Test {
 protected:
  void SetUp() override {
    gpu_.uuid = *device::GpuUuid::Parse("GPU-5d8429f0-1f2e-4c3b-9a54-0123456789ab");
    gpu_.utilization.gpu = 90;
    gpu_.throttle_reasons = 0;
    gpu_.ecc.volatile_uncorrected = 3;
    gpu_.remaps.emplace();
    gpu_.retired.emplace();
    gpu_.pcie.generation = gpu_.pcie.max_generation = 4;
    gpu_.pcie.width = gpu_.pcie.max_width = 16;
    gpu_.pcie.replays = 7;
    gpu_.nvlinks.resize(2);
    for (unsigned link = 0; link < 2; ++link) {
      device::NvLinkSample& sample = gpu_.nvlinks[link];
      sample.link = link;
      sample.is_active = true;
      sample.replay_errors = 1;
      sample.recovery_errors = 2;
      sample.crc_flit_errors = 3;
      sample.crc_data_errors = 4;
    }
    gpu_.fabric_state = 3;
    gpu_.recovery_action = 0;
    device::Gpu shown;
    shown.uuid = gpu_.uuid;
    tracker_.SetGpus({{shown}});
    tracker_.SetMeasured(true);
  }
  void Measure(int rounds = 1, const std::vector<GpuSample>& others = {}) {
    for (int i = 0; i < rounds; ++i) {
      clock_.Advance(seconds(30));
      device::SampleSet set;
      set.begun = clock_.Now();
      set.gpus = {gpu_};
      set.gpus.insert(set.gpus.end(), others.begin(), others.end());
      measures_.Judge(set, tracker_);
    }
  }
  std::vector<std::string> Rules() {
    std::vector<std::string> rules;
    for (const OpenFault& fault : tracker_.Open()) {
      rules.push_back(fault.rule);
    }
    return rules;
  }

  FakeClock clock_;
  FaultTracker tracker_{clock_, {.flap_limit = {.times = 0}}, nullptr};
  Measures measures_;
  GpuSample gpu_;
};

TEST_F(MeasuresTest, AGoodGpuShowsNothing) {
  Measure(10);
  EXPECT_THAT(Rules(), IsEmpty());
}

TEST_F(MeasuresTest, AGpuThatTellsNothingShowsNothing) {
  const device::GpuUuid uuid = gpu_.uuid;
  gpu_ = {};
  gpu_.uuid = uuid;
  Measure(10);
  EXPECT_THAT(Rules(), IsEmpty());
}

struct Shown {
  const char* rule;
  std::function<void(GpuSample&)> spoil;
  int rounds = 1;  // until it counts
};

// Every rule that is measured: what shows it, when it counts, and that it heals.
TEST_F(MeasuresTest, EveryMeasuredRuleIsFoundAndHeals) {
  const Shown cases[] = {
      {"RowRemapPending",
       [](GpuSample& gpu) { Change(gpu.remaps, &device::RowRemaps::is_pending, true); }},
      {"RowRemapFailed",
       [](GpuSample& gpu) { Change(gpu.remaps, &device::RowRemaps::has_failed, true); }},
      {"RetiredPagesPending",
       [](GpuSample& gpu) { Change(gpu.retired, &device::RetiredPages::is_pending, true); }},
      {"RetiredPagesMany",
       [](GpuSample& gpu) { Change(gpu.retired, &device::RetiredPages::double_bit, 60); }},
      {"ThermalSlowdown", [](GpuSample& gpu) { gpu.throttle_reasons = nvml::kThrottleHwThermal; },
       3},
      {"PowerBrake", [](GpuSample& gpu) { gpu.throttle_reasons = nvml::kThrottlePowerBrake; }, 3},
      {"PcieDowngrade", [](GpuSample& gpu) { gpu.pcie.width = 8; }, 3},
      {"PcieDowngrade", [](GpuSample& gpu) { gpu.pcie.generation = 1; }, 3},
      {"NvLinkDown", [](GpuSample& gpu) { gpu.nvlinks[1].is_active = false; }},
      {"FabricNotReady", [](GpuSample& gpu) { gpu.fabric_state = 1; }, 3},
      {"FabricNotReady", [](GpuSample& gpu) { gpu.fabric_state = 2; }, 3},
      {"FabricFailed", [](GpuSample& gpu) { gpu.fabric_status = 999; }},
      {"FabricFailed", [](GpuSample& gpu) { gpu.fabric_health = 0b10'01'10'10; }},
      {"FabricDegraded", [](GpuSample& gpu) { gpu.fabric_health = 0b10'10'10'01; }, 3},
      {"FabricDegraded", [](GpuSample& gpu) { gpu.fabric_health = 0b10'10'01'10; }, 3},
      {"FabricDegraded", [](GpuSample& gpu) { gpu.fabric_health = 0b01'10'10'10; }, 3},
      {"SramThreshold", [](GpuSample& gpu) { gpu.is_sram_threshold_exceeded = true; }},
      {"RecoveryReset", [](GpuSample& gpu) { gpu.recovery_action = 1; }},
      {"RecoveryReboot", [](GpuSample& gpu) { gpu.recovery_action = 2; }},
      {"RecoveryDrainP2p", [](GpuSample& gpu) { gpu.recovery_action = 3; }},
      {"RecoveryDrainReset", [](GpuSample& gpu) { gpu.recovery_action = 4; }},
  };
  for (const Shown& shown : cases) {
    Measure();
    const GpuSample good = gpu_;
    shown.spoil(gpu_);
    Measure(shown.rounds - 1);
    EXPECT_THAT(Rules(), IsEmpty()) << shown.rule;
    Measure();
    EXPECT_THAT(Rules(), ElementsAre(shown.rule));
    gpu_ = good;
    Measure(2);
    tracker_.NoteGoodRead(gpu_.uuid, clock_.Now());
    EXPECT_THAT(Rules(), IsEmpty()) << shown.rule;
    EXPECT_EQ(FindNamedRule(shown.rule)->is_standing, true) << shown.rule;
  }
}

TEST_F(MeasuresTest, NewErrorsThatCannotBeCorrectedAreAFaultOldOnesNot) {
  Measure(3);
  EXPECT_THAT(Rules(), IsEmpty());
  gpu_.ecc.volatile_uncorrected = 5;
  Measure();
  ASSERT_THAT(Rules(), ElementsAre("EccUncorrected"));
  EXPECT_THAT(tracker_.Open()[0].detail, HasSubstr("2 new, 5 since"));
  EXPECT_TRUE(tracker_.Open()[0].is_unhealthy);
  Measure(2);
  tracker_.NoteGoodRead(gpu_.uuid, clock_.Now());
  EXPECT_THAT(Rules(), IsEmpty());
}

TEST_F(MeasuresTest, AResetOfCountersIsNoFault) {
  Measure(4);
  gpu_.ecc.volatile_uncorrected = 0;
  gpu_.pcie.replays = 0;
  for (device::NvLinkSample& link : gpu_.nvlinks) {
    link.replay_errors = 0;
  }
  Measure(4);
  EXPECT_THAT(Rules(), IsEmpty());
}

TEST_F(MeasuresTest, ABreakStartsTheTimeAgain) {
  gpu_.throttle_reasons = nvml::kThrottleHwThermal;
  Measure(2);
  gpu_.throttle_reasons = 0;
  Measure();
  gpu_.throttle_reasons = nvml::kThrottleHwThermal;
  Measure(2);
  EXPECT_THAT(Rules(), IsEmpty());
}

TEST_F(MeasuresTest, ASlowLinkOfAnIdleGpuIsNormal) {
  gpu_.utilization.gpu = 0;
  gpu_.pcie.generation = 1;
  Measure(10);
  EXPECT_THAT(Rules(), IsEmpty());
}

TEST_F(MeasuresTest, ALinkThatWasNeverUpIsNotDown) {
  gpu_.nvlinks[1].is_active = false;
  Measure(10);
  EXPECT_THAT(Rules(), IsEmpty());
}

TEST_F(MeasuresTest, AGpuWithoutActiveLinksNeedsNoFabric) {
  gpu_.nvlinks.clear();
  gpu_.fabric_state = 3;
  gpu_.fabric_status = 999;
  gpu_.fabric_health = 0b01'01'01'01;
  Measure(10);
  EXPECT_THAT(Rules(), IsEmpty());
  gpu_.fabric_state = 2;
  Measure(10);
  EXPECT_THAT(Rules(), IsEmpty());
}

TEST_F(MeasuresTest, ACardWithFewerLanesThanItsChipIsNormal) {
  gpu_.pcie.width = 8;
  Measure(10);
  EXPECT_THAT(Rules(), IsEmpty());
}

TEST_F(MeasuresTest, AGpuThatWasAlwaysNarrowerThanItsSiblingsIsFound) {
  std::vector<device::Gpu> shown(2);
  shown[0].uuid = gpu_.uuid;
  shown[1].uuid = *device::GpuUuid::Parse("GPU-5d8429f0-1f2e-4c3b-9a54-0123456789ac");
  shown[0].model = shown[1].model = "A100-SXM4-80GB";
  tracker_.SetGpus(shown);
  measures_.SetGpus(shown);
  GpuSample sibling = gpu_;
  sibling.uuid = shown[1].uuid;
  gpu_.pcie.width = 8;
  Measure(3, {sibling});
  ASSERT_THAT(Rules(), ElementsAre("PcieDowngrade"));
  EXPECT_THAT(tracker_.Open()[0].detail, HasSubstr("8 of 16 lanes"));
  ASSERT_OK(tracker_.Clear(gpu_.uuid));
  measures_.Accept(gpu_.uuid);
  Measure(10, {sibling});
  EXPECT_THAT(Rules(), IsEmpty());
}

TEST_F(MeasuresTest, AnotherModelMayHaveMoreLanes) {
  std::vector<device::Gpu> shown(2);
  shown[0].uuid = gpu_.uuid;
  shown[0].model = "T4";
  shown[1].uuid = *device::GpuUuid::Parse("GPU-5d8429f0-1f2e-4c3b-9a54-0123456789ac");
  shown[1].model = "A100-SXM4-80GB";
  measures_.SetGpus(shown);
  GpuSample other = gpu_;
  other.uuid = shown[1].uuid;
  gpu_.pcie.width = 8;
  Measure(10, {other});
  EXPECT_THAT(Rules(), IsEmpty());
}

TEST_F(MeasuresTest, WhatAnAdminAcceptsStaysAccepted) {
  Measure();
  gpu_.nvlinks[1].is_active = false;
  gpu_.pcie.width = 4;
  Measure(3);
  EXPECT_THAT(Rules(), ElementsAre("PcieDowngrade", "NvLinkDown"));
  ASSERT_OK(tracker_.Clear(gpu_.uuid));
  measures_.Accept(gpu_.uuid);
  Measure(10);
  EXPECT_THAT(Rules(), IsEmpty());
  gpu_.nvlinks[0].is_active = false;
  Measure();
  EXPECT_THAT(Rules(), ElementsAre("NvLinkDown"));
}

// Two GPUs of a model, of which the first lacks a link since before the first measurement.
TEST_F(MeasuresTest, ALinkThatWasDownFromTheStartShowsAgainstAnotherGpu) {
  std::vector<device::Gpu> shown(2);
  shown[0].uuid = gpu_.uuid;
  shown[1].uuid = *device::GpuUuid::Parse("GPU-5d8429f0-1f2e-4c3b-9a54-0123456789ac");
  shown[0].model = shown[1].model = "A100-SXM4-80GB";
  measures_.SetGpus(shown);
  GpuSample sibling = gpu_;
  sibling.uuid = shown[1].uuid;
  gpu_.nvlinks[1].is_active = false;
  Measure(1, {sibling});
  ASSERT_THAT(Rules(), ElementsAre("NvLinkDown"));
  EXPECT_EQ(tracker_.Open()[0].detail, "1 links are up, 2 on another GPU of this model; down: 1");
  ASSERT_OK(tracker_.Clear(gpu_.uuid));
  measures_.Accept(gpu_.uuid);
  Measure(10, {sibling});
  EXPECT_THAT(Rules(), IsEmpty());
}

TEST_F(MeasuresTest, AGpuThatIsNotLinkedLacksNoLink) {
  std::vector<device::Gpu> shown(2);
  shown[0].uuid = gpu_.uuid;
  shown[1].uuid = *device::GpuUuid::Parse("GPU-5d8429f0-1f2e-4c3b-9a54-0123456789ac");
  shown[0].model = shown[1].model = "A100-PCIE-80GB";
  measures_.SetGpus(shown);
  GpuSample bridged = gpu_;
  bridged.uuid = shown[1].uuid;
  gpu_.nvlinks[0].is_active = gpu_.nvlinks[1].is_active = false;
  Measure(10, {bridged});
  EXPECT_THAT(Rules(), IsEmpty());
}

TEST_F(MeasuresTest, AChangeOfTheMigModeTakesLinksDownOnPurpose) {
  std::vector<device::Gpu> shown(1);
  shown[0].uuid = gpu_.uuid;
  shown[0].mig_mode.emplace();
  measures_.SetGpus(shown);
  Measure();
  shown[0].mig_mode = device::MigMode{.is_enabled = true};
  measures_.SetGpus(shown);
  gpu_.nvlinks[1].is_active = false;
  Measure(3);
  EXPECT_THAT(Rules(), IsEmpty());
}

struct RateCase {
  const char* rule;
  std::function<void(GpuSample&, uint64_t)> add;
  uint64_t limit;  // a minute
};

TEST_F(MeasuresTest, RatesCountOverAMinute) {
  const RateCase cases[] = {
      {"PcieReplays",
       [](GpuSample& gpu, uint64_t n) { gpu.pcie.replays = gpu.pcie.replays.value_or(0) + n; }, 60},
      {"NvLinkErrors",
       [](GpuSample& gpu, uint64_t n) {
         gpu.nvlinks[0].recovery_errors = gpu.nvlinks[0].recovery_errors.value_or(0) + n;
       },
       10},
      {"NvLinkCrcErrors",
       [](GpuSample& gpu, uint64_t n) {
         gpu.nvlinks[1].crc_flit_errors = gpu.nvlinks[1].crc_flit_errors.value_or(0) + n;
       },
       6000},
  };
  for (const RateCase& rate : cases) {
    Measure(4);
    for (int i = 0; i < 8; ++i) {
      rate.add(gpu_, rate.limit / 2);
      Measure();
    }
    EXPECT_THAT(Rules(), IsEmpty()) << rate.rule;
    for (int i = 0; i < 4; ++i) {
      rate.add(gpu_, rate.limit);
      Measure();
    }
    ASSERT_THAT(Rules(), ElementsAre(rate.rule));
    EXPECT_THAT(tracker_.Open()[0].detail, HasSubstr("per minute"));
    Measure(8);
    tracker_.NoteGoodRead(gpu_.uuid, clock_.Now());
    EXPECT_THAT(Rules(), IsEmpty()) << rate.rule;
  }
}

TEST_F(MeasuresTest, SettingsChangeTimesAndLimits) {
  Settings settings;
  settings.rules["ThermalSlowdown"] = {.is_unhealthy = true, .lasts = milliseconds(0)};
  settings.rules["RetiredPagesMany"] = {.limit = 2};
  tracker_.SetSettings(settings);
  gpu_.throttle_reasons = nvml::kThrottleHwThermal;
  gpu_.temperatures.gpu = 92;
  Change(gpu_.retired, &device::RetiredPages::single_bit, 2);
  Measure();
  EXPECT_THAT(Rules(), ElementsAre("RetiredPagesMany", "ThermalSlowdown"));
  EXPECT_TRUE(tracker_.Open()[1].is_unhealthy);
  EXPECT_EQ(tracker_.Open()[1].detail, "92 degrees Celsius");
}

TEST_F(MeasuresTest, AGpuThatWasNotMeasuredIsNotTrusted) {
  tracker_.Note({.xid = 79, .gpu = gpu_.uuid});
  clock_.Advance(seconds(60));
  tracker_.NoteGoodRead(gpu_.uuid, clock_.Now());
  measures_.Judge({}, tracker_);
  EXPECT_THAT(Rules(), ElementsAre("Xid79"));
  Measure();
  EXPECT_THAT(Rules(), IsEmpty());
}

}  // namespace
}  // namespace kgpu::health
