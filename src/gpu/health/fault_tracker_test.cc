#include "src/gpu/health/fault_tracker.h"

#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "testing/fake_clock.h"
#include "testing/status_matchers.h"

namespace kgpu::health {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

device::GpuUuid Uuid(unsigned gpu = 0) {
  return *device::GpuUuid::Parse(fmt::format("GPU-5d8429f0-1f2e-4c3b-9a54-0123456789a{}", gpu));
}

Sign Xid(uint64_t xid, std::optional<unsigned> gpu_instance = {},
         std::optional<unsigned> compute_instance = {}) {
  return {.xid = xid,
          .gpu = Uuid(),
          .gpu_instance = gpu_instance,
          .compute_instance = compute_instance};
}

Sign Of(std::string_view rule, Source source = Source::kSample, std::string_view detail = "") {
  return {.rule = rule, .gpu = Uuid(), .source = source, .detail = detail};
}

// A tracker of two GPUs; the first has MIG devices (1, 0), (2, 0), (2, 1).
class FaultTrackerTest : public ::testing::Test {
 protected:
  void SetUp() override { Make({}); }
  void Make(Settings settings) {
    tracker_ = std::make_unique<FaultTracker>(
        clock_, std::move(settings),
        [this](const HealthEvent& event) { events_.push_back(event); });
    for (const unsigned gpu : {0U, 1U}) {
      gpus_.at(gpu).uuid = Uuid(gpu);
    }
    gpus_[0].mig_devices.resize(3);
    gpus_[0].mig_devices[0].gpu_instance = 1;
    gpus_[0].mig_devices[1].gpu_instance = 2;
    gpus_[0].mig_devices[2].gpu_instance = 2;
    gpus_[0].mig_devices[2].compute_instance = 1;
    tracker_->SetGpus(gpus_);
  }
  device::Gpu Look(unsigned gpu = 0) {
    device::Gpu seen = gpus_.at(gpu);
    tracker_->Apply(seen);
    return seen;
  }
  std::string Reason(unsigned gpu = 0) { return Look(gpu).health.reason; }
  std::vector<std::string> MigReasons() {
    std::vector<std::string> reasons;
    for (const device::MigDevice& mig : Look().mig_devices) {
      reasons.push_back(mig.health.reason);
    }
    return reasons;
  }
  void FindHealthy() {
    tracker_->NoteGoodRead(Uuid(), clock_.Now());
    tracker_->NoteMeasured(Uuid(), clock_.Now());
  }
  std::vector<std::string> Events() {
    std::vector<std::string> lines;
    for (const HealthEvent& event : events_) {
      lines.push_back(fmt::format("{} {} {}", ToString(event.kind), event.rule, event.count));
    }
    events_.clear();
    return lines;
  }

  FakeClock clock_;
  std::vector<device::Gpu> gpus_{2};
  std::vector<HealthEvent> events_;
  std::unique_ptr<FaultTracker> tracker_;
};

TEST_F(FaultTrackerTest, AllIsHealthyWithoutEvents) {
  EXPECT_TRUE(Look().health.is_healthy);
  EXPECT_EQ(tracker_->NextCheck(), std::nullopt);
  EXPECT_EQ(tracker_->NextEvent(), std::nullopt);
  EXPECT_THAT(tracker_->Open(), IsEmpty());
}

TEST_F(FaultTrackerTest, AFaultOfTheGpuReachesItsMigDevicesAndNoOtherGpu) {
  EXPECT_EQ(tracker_->Note(Xid(79)), Change::kVerdict);
  EXPECT_EQ(Reason(), "Xid79");
  EXPECT_THAT(MigReasons(), ElementsAre("Xid79", "Xid79", "Xid79"));
  EXPECT_EQ(Reason(1), "");
  EXPECT_EQ(tracker_->NextCheck(), clock_.Now() + seconds(60));
  EXPECT_THAT(Events(), ElementsAre("raised Xid79 1"));
}

TEST_F(FaultTrackerTest, AFaultOfAnInstanceLeavesTheOthersAlone) {
  tracker_->Note(Xid(94, 2));
  EXPECT_EQ(Reason(), "");
  EXPECT_THAT(MigReasons(), ElementsAre("", "Xid94", "Xid94"));
}

TEST_F(FaultTrackerTest, AFaultOfAComputeInstanceIsItsOwnOnly) {
  tracker_->Note(Xid(94, 2, 1));
  EXPECT_THAT(MigReasons(), ElementsAre("", "", "Xid94"));
}

TEST_F(FaultTrackerTest, AFaultOfAGpuThatIsNotSaidReachesAll) {
  tracker_->Note({.xid = 79});
  EXPECT_EQ(Reason(0), "Xid79");
  EXPECT_EQ(Reason(1), "Xid79");
  EXPECT_EQ(tracker_->counters().xids_of_unknown_gpu, 1U);
}

TEST_F(FaultTrackerTest, ASignOfAProgramIsReportedAndChangesNothing) {
  EXPECT_EQ(tracker_->Note(Xid(13)), Change::kNothing);
  EXPECT_EQ(Reason(), "");
  EXPECT_THAT(tracker_->Open(), IsEmpty());
  EXPECT_EQ(tracker_->NextCheck(), std::nullopt);
  EXPECT_THAT(Events(), ElementsAre("seen Xid13 1"));
}

TEST_F(FaultTrackerTest, WhatIsIgnoredIsOnlyCounted) {
  tracker_->Note(Xid(154));
  EXPECT_THAT(Events(), IsEmpty());
  ASSERT_EQ(tracker_->counters().xids.size(), 1U);
  EXPECT_EQ(tracker_->counters().xids[0].xid, 154U);
}

TEST_F(FaultTrackerTest, TheWorstFaultIsTheReasonAndTheOthersAreListed) {
  tracker_->Note(Xid(48));
  EXPECT_EQ(tracker_->Note(Xid(79)), Change::kReason);
  tracker_->Note(Xid(94));
  EXPECT_EQ(Reason(), "Xid79");
  EXPECT_THAT(Look().health.message, HasSubstr("Also: Xid48, Xid94."));
}

TEST_F(FaultTrackerTest, OfEqualFaultsTheOlderIsTheReason) {
  tracker_->Note(Xid(79));
  clock_.Advance(milliseconds(1));
  tracker_->Note(Of("GpuLost", Source::kCall, "The driver no longer lists it."));
  EXPECT_EQ(Reason(), "Xid79");
}

TEST_F(FaultTrackerTest, AFailedCallSaysWhatTheDriverSaid) {
  tracker_->Note(Of("DriverError", Source::kCall, "The driver answers 999."));
  EXPECT_EQ(Look().health.message, "The driver answers 999.");
}

TEST_F(FaultTrackerTest, AGoodReadBeforeTheHoldDownIsOverChangesNothing) {
  tracker_->Note(Xid(79));
  clock_.Advance(seconds(59));
  EXPECT_FALSE(tracker_->NoteGoodRead(Uuid(), clock_.Now()));
  clock_.Advance(seconds(1));
  EXPECT_TRUE(tracker_->NoteGoodRead(Uuid(), clock_.Now()));
  EXPECT_EQ(Reason(), "");
  EXPECT_EQ(tracker_->NextCheck(), std::nullopt);
  EXPECT_THAT(Events(), ElementsAre("raised Xid79 1", "cleared Xid79 1"));
}

TEST_F(FaultTrackerTest, AReadThatBeganBeforeTheFaultHealsNothing) {
  const SteadyTime begun = clock_.Now();
  clock_.Advance(minutes(5));
  tracker_->Note(Xid(79));
  EXPECT_FALSE(tracker_->NoteGoodRead(Uuid(), begun));
}

TEST_F(FaultTrackerTest, WhereGpusAreMeasuredAMeasurementIsWaitedFor) {
  tracker_->SetMeasured(true);
  tracker_->Note(Xid(79));
  clock_.Advance(seconds(60));
  EXPECT_FALSE(tracker_->NoteGoodRead(Uuid(), clock_.Now()));
  EXPECT_EQ(tracker_->NextCheck(), std::nullopt);
  EXPECT_TRUE(tracker_->NoteMeasured(Uuid(), clock_.Now()));
  EXPECT_EQ(Reason(), "");
}

TEST_F(FaultTrackerTest, EventsOfTheFaultStartTheHoldDownAgain) {
  tracker_->Note(Xid(48));
  clock_.Advance(seconds(50));
  tracker_->Note(Xid(48));
  clock_.Advance(seconds(59));
  FindHealthy();
  EXPECT_EQ(Reason(), "Xid48");
  clock_.Advance(seconds(1));
  FindHealthy();
  EXPECT_EQ(Reason(), "");
}

TEST_F(FaultTrackerTest, FaultsOfPartsClearOneByOne) {
  tracker_->Note(Xid(94, 1));
  clock_.Advance(seconds(30));
  tracker_->Note(Xid(94, 2));
  clock_.Advance(seconds(30));
  FindHealthy();
  EXPECT_THAT(MigReasons(), ElementsAre("", "Xid94", "Xid94"));
}

TEST_F(FaultTrackerTest, AFaultStaysWhileAMeasurementShowsTroubleOfItsKind) {
  tracker_->SetMeasured(true);
  tracker_->Note(Xid(48));
  tracker_->Note(Of("RowRemapPending"));
  EXPECT_EQ(Reason(), "Xid48");
  clock_.Advance(seconds(60));
  tracker_->Note(Of("RowRemapPending"));
  FindHealthy();
  EXPECT_EQ(Reason(), "Xid48");
  clock_.Advance(seconds(60));  // it was reset: the measurement shows no row any more
  FindHealthy();
  EXPECT_EQ(Reason(), "");
  EXPECT_THAT(tracker_->Open(), IsEmpty());
}

TEST_F(FaultTrackerTest, TroubleOfAnotherKindKeepsNothing) {
  tracker_->Note(Xid(79));
  clock_.Advance(seconds(60));
  tracker_->Note(Of("ThermalSlowdown"));
  FindHealthy();
  EXPECT_EQ(Reason(), "");
  ASSERT_EQ(tracker_->Open().size(), 1U);
  EXPECT_FALSE(tracker_->Open()[0].is_unhealthy);
}

TEST_F(FaultTrackerTest, AWarningIsOpenAndLeavesTheDeviceHealthy) {
  EXPECT_EQ(tracker_->Note(Of("RowRemapPending")), Change::kNothing);
  EXPECT_EQ(Reason(), "");
  ASSERT_EQ(tracker_->Open().size(), 1U);
  EXPECT_THAT(Events(), ElementsAre("raised RowRemapPending 1"));
  for (int i = 0; i < 10; ++i) {
    clock_.Advance(seconds(30));
    tracker_->Note(Of("RowRemapPending"));
  }
  EXPECT_THAT(Events(), IsEmpty());
}

TEST_F(FaultTrackerTest, TooManyFaultsInTooShortATimeHoldTheDevice) {
  Make({.flap_limit = {.times = 2, .within = minutes(10)}});
  for (int i = 0; i < 3; ++i) {
    tracker_->Note(Xid(48));
    clock_.Advance(seconds(60));
    FindHealthy();
  }
  EXPECT_EQ(Reason(), "Xid48");
  EXPECT_THAT(Look().health.message, HasSubstr("kgpu health clear"));
  EXPECT_EQ(events_.back().kind, HealthEventKind::kHeld);
  EXPECT_TRUE(tracker_->Open().at(0).is_held);
  EXPECT_EQ(tracker_->NextCheck(), std::nullopt);
  clock_.Advance(std::chrono::hours(24));
  FindHealthy();
  EXPECT_EQ(Reason(), "Xid48");
}

TEST_F(FaultTrackerTest, FaultsFarApartHoldNothing) {
  Make({.flap_limit = {.times = 2, .within = minutes(10)}});
  for (int i = 0; i < 9; ++i) {
    tracker_->Note(Xid(48));
    clock_.Advance(minutes(6));
    FindHealthy();
    EXPECT_EQ(Reason(), "");
  }
}

TEST_F(FaultTrackerTest, AnotherSignOfAnUnhealthyDeviceIsNoOtherFault) {
  Make({.flap_limit = {.times = 1, .within = minutes(10)}});
  tracker_->Note(Xid(48));
  tracker_->Note(Xid(95));
  tracker_->Note(Xid(64));
  clock_.Advance(seconds(60));
  FindHealthy();
  EXPECT_EQ(Reason(), "");
}

TEST_F(FaultTrackerTest, WithoutALimitNothingIsHeld) {
  Make({.flap_limit = {.times = 0}});
  for (int i = 0; i < 20; ++i) {
    tracker_->Note(Xid(48));
    clock_.Advance(seconds(60));
    FindHealthy();
  }
  EXPECT_EQ(Reason(), "");
}

TEST_F(FaultTrackerTest, WhatBefallsAllGpusIsHeldAgainstNone) {
  Make({.flap_limit = {.times = 1, .within = minutes(10)}});
  for (int i = 0; i < 5; ++i) {
    tracker_->Note({.rule = "DriverUnresponsive", .source = Source::kCall});
    EXPECT_EQ(Reason(0), "DriverUnresponsive");
    clock_.Advance(seconds(60));
    FindHealthy();
    EXPECT_EQ(Reason(0), "");
  }
}

TEST_F(FaultTrackerTest, RestoredFaultsOfGpusThatAreNoMoreGoButForThoseThatAreHeld) {
  for (const bool is_held : {false, true}) {
    FaultTracker tracker(clock_, {}, nullptr);
    tracker.Restore({.scope = {.gpu = Uuid(7)}, .rule = "Xid79", .is_held = is_held});
    tracker.Restore({.scope = {.gpu = Uuid(0)}, .rule = "Xid79"});
    tracker.SetGpus({});
    EXPECT_EQ(tracker.Open().size(), 2U);
    tracker.SetGpus(gpus_);
    EXPECT_EQ(tracker.Open().size(), is_held ? 2U : 1U);
  }
}

TEST_F(FaultTrackerTest, ClearingEndsWhatIsHeldAndForgetsTheCount) {
  Make({.flap_limit = {.times = 1, .within = minutes(10)}});
  for (int i = 0; i < 2; ++i) {
    tracker_->Note(Xid(48));
    clock_.Advance(seconds(60));
    FindHealthy();
  }
  Events();
  ASSERT_OK(tracker_->Clear(Uuid()));
  EXPECT_EQ(Reason(), "");
  EXPECT_THAT(Events(), ElementsAre("cleared Xid48 1"));
  tracker_->Note(Xid(48));
  EXPECT_FALSE(tracker_->Open().at(0).is_held);
}

TEST_F(FaultTrackerTest, ClearingAGpuThatIsNotThereIsAnError) {
  EXPECT_OK(tracker_->Clear(Uuid(1)));
  EXPECT_THAT(tracker_->Clear(Uuid(7)), StatusIs(StatusCode::kNotFound, HasSubstr("no such GPU")));
}

TEST_F(FaultTrackerTest, AGpuThatLeavesTakesItsFaultsAlong) {
  tracker_->Note(Xid(79));
  tracker_->SetGpus(std::span(gpus_).last(1));
  tracker_->SetGpus(gpus_);
  EXPECT_EQ(Reason(), "");
  EXPECT_THAT(tracker_->counters().xids, IsEmpty());
}

TEST_F(FaultTrackerTest, AnEventBeforeTheFirstLookIsKept) {
  tracker_ = std::make_unique<FaultTracker>(clock_, Settings{}, nullptr);
  tracker_->Note(Xid(79));
  tracker_->SetGpus(gpus_);
  EXPECT_EQ(Reason(), "Xid79");
}

TEST_F(FaultTrackerTest, WhatWasOpenBeforeIsRestoredWithoutEvents) {
  tracker_->Note(Xid(94, 2));
  tracker_->Note(Xid(48));
  const std::vector<OpenFault> open = tracker_->Open();
  Events();
  Make({});
  for (const OpenFault& fault : open) {
    tracker_->Restore(fault);
  }
  EXPECT_EQ(Reason(), "Xid48");
  EXPECT_THAT(MigReasons(), ElementsAre("Xid48", "Xid48", "Xid48"));
  EXPECT_EQ(tracker_->Open(), open);
  EXPECT_THAT(Events(), IsEmpty());
  clock_.Advance(seconds(60));
  FindHealthy();
  EXPECT_EQ(Reason(), "");
}

TEST_F(FaultTrackerTest, TwoSourcesOfOneXidAreOneFaultWithBothTheirFacts) {
  tracker_->Note(Xid(79));
  EXPECT_EQ(tracker_->Note({.xid = 79,
                            .gpu = Uuid(),
                            .source = Source::kKernelLog,
                            .detail = "GPU has fallen off the bus.",
                            .pid = 4711}),
            Change::kNothing);
  const OpenFault fault = tracker_->Open().at(0);
  EXPECT_EQ(fault.count, 1U);
  EXPECT_EQ(fault.source, Source::kDriverEvent);
  EXPECT_EQ(fault.detail, "GPU has fallen off the bus.");
  EXPECT_EQ(fault.pid, 4711U);
  EXPECT_EQ(tracker_->counters().xids.at(0).count, 1U);
  EXPECT_THAT(Events(), ElementsAre("raised Xid79 1"));
}

TEST_F(FaultTrackerTest, TheSourceThatKnowsTheInstanceNarrowsTheFault) {
  tracker_->Note({.xid = 94, .gpu = Uuid(), .source = Source::kKernelLog});
  EXPECT_EQ(Reason(), "Xid94");
  EXPECT_EQ(tracker_->Note(Xid(94, 1)), Change::kVerdict);
  EXPECT_EQ(Reason(), "");
  EXPECT_THAT(MigReasons(), ElementsAre("Xid94", "", ""));
}

TEST_F(FaultTrackerTest, SettingsCountForTheFaultsOfNow) {
  tracker_->Note(Xid(79));
  tracker_->Note(Xid(48));
  Settings settings;
  settings.rules["Xid79"] = {.action = Action::kIgnore, .is_unhealthy = false};
  tracker_->SetSettings(settings);
  EXPECT_EQ(Reason(), "Xid48");
  EXPECT_EQ(Events().back(), "cleared Xid79 1");
}

TEST_F(FaultTrackerTest, TenThousandXidsInASecondMakeFewEventsAndOneFault) {
  for (int i = 0; i < 10'000; ++i) {
    tracker_->Note(Xid(48));
    if (const auto due = tracker_->NextEvent(); due && *due <= clock_.Now()) {
      tracker_->Notify();
    }
    clock_.Advance(std::chrono::microseconds(100));
  }
  EXPECT_EQ(Events().size(), 1U);
  ASSERT_TRUE(tracker_->NextEvent().has_value());
  clock_.Advance(seconds(1));
  tracker_->Notify();
  EXPECT_THAT(Events(), ElementsAre("seen Xid48 9999"));
  EXPECT_EQ(tracker_->NextEvent(), std::nullopt);
  EXPECT_EQ(tracker_->Open().at(0).count, 10'000U);
  EXPECT_EQ(tracker_->counters().xids.at(0).count, 10'000U);
}

TEST_F(FaultTrackerTest, EventsGrowRareWhileAStormGoesOn) {
  for (int i = 0; i < 3600; ++i) {
    tracker_->Note(Xid(13));
    clock_.Advance(seconds(1));
    tracker_->Notify();
  }
  EXPECT_LT(events_.size(), 20U);
}

TEST_F(FaultTrackerTest, AfterAQuietTimeEventsComeAtOnceAgain) {
  for (int i = 0; i < 100; ++i) {
    tracker_->Note(Xid(13));
  }
  clock_.Advance(minutes(20));
  tracker_->Notify();
  Events();
  clock_.Advance(minutes(20));
  tracker_->Note(Xid(13));
  EXPECT_THAT(Events(), ElementsAre("seen Xid13 1"));
}

TEST_F(FaultTrackerTest, SignsOfManyKindsStayBounded) {
  for (uint64_t xid = 0; xid < 10'000; ++xid) {
    tracker_->Note(Xid(xid));
  }
  EXPECT_LE(tracker_->Open().size(), 64U);
  EXPECT_LE(events_.size(), 400U);
  EXPECT_LE(tracker_->counters().xids.size(), 257U);
}

}  // namespace
}  // namespace kgpu::health
