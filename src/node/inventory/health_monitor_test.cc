#include "src/node/inventory/health_monitor.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/stat.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "src/gpu/nvml/abi.h"
#include "src/gpu/nvml/throttle.h"
#include "src/platform/sys/read_fd.h"
#include "testing/fake_loop.h"
#include "testing/status_matchers.h"
#include "testing/temp_dir.h"

namespace kgpu::inventory {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

device::GpuUuid UuidOf(unsigned gpu) {
  return *device::GpuUuid::Parse(fmt::format("GPU-5d8429f0-1f2e-4c3b-9a54-0123456789a{}", gpu));
}

probe::Event Xid(uint64_t xid, unsigned gpu = 0) {
  probe::Event event;
  event.type = nvml::kEventXidCritical;
  event.data = xid;
  event.uuid = UuidOf(gpu);
  return event;
}

// Two GPUs at 0000:07:00.0 and 0000:0f:00.0, and a pipe as the kernel's log.
class HealthMonitorTest : public ::testing::Test {
 protected:
  void SetUp() override {
    dir_.MakeDir("dev");
    ASSERT_EQ(mkfifo(dir_.At("dev/kmsg").c_str(), 0600), 0);
    kernel_ = UniqueFd(open(dir_.At("dev/kmsg").c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK));
    root_ = std::make_unique<sys::Root>(*sys::Root::Open(dir_.path()));
    gpus_.resize(2);
    gpus_[0].uuid = UuidOf(0);
    gpus_[0].pci = *device::PciBusId::Parse("0000:07:00.0");
    gpus_[1].uuid = UuidOf(1);
    gpus_[1].pci = *device::PciBusId::Parse("0000:0f:00.0");
  }
  void Start(health::Settings settings = {}) {
    monitor_ = std::make_unique<HealthMonitor>(
        loop_, *root_, std::move(settings),
        HealthMonitor::Callbacks{.show = [this] { ++shows_; },
                                 .look =
                                     [this] {
                                       ++looks_;
                                       if (on_look_) {
                                         loop_.After(milliseconds(5), on_look_);
                                       }
                                     },
                                 .look_closely = [this] { ++close_looks_; },
                                 .measure =
                                     [this] {
                                       ++measures_;
                                       if (on_measure_) {
                                         loop_.After(milliseconds(5), on_measure_);
                                       }
                                     }});
    monitor_->SetListener([this](const health::HealthEvent& health_event) {
      events_.push_back(fmt::format("{} {} {}", ToString(health_event.kind), health_event.rule,
                                    health_event.count));
    });
    monitor_->Start({});
    monitor_->SetGpus(gpus_);
  }
  void KernelSays(std::string_view message) {
    ASSERT_OK(sys::WriteAll(kernel_.get(), fmt::format("4,1,1,-;{}\n", message)));
    loop_.RunUntilIdle();
  }
  std::string Reason(unsigned gpu) {
    device::Gpu seen = gpus_.at(gpu);
    monitor_->Apply(seen);
    return seen.health.reason;
  }

  TempDir dir_;
  UniqueFd kernel_;
  FakeLoop loop_;
  std::unique_ptr<sys::Root> root_;
  std::vector<device::Gpu> gpus_;
  int shows_ = 0;
  int looks_ = 0;
  int close_looks_ = 0;
  int measures_ = 0;
  std::function<void()> on_look_;     // what the look that was wanted finds, some time later
  std::function<void()> on_measure_;  // likewise of the measurement
  std::vector<std::string> events_;
  std::unique_ptr<HealthMonitor> monitor_;
};

TEST_F(HealthMonitorTest, AFaultIsShownAtOnceAndLookedInto) {
  Start();
  EXPECT_TRUE(monitor_->OnEvent(Xid(48)));
  EXPECT_EQ(shows_, 1);
  EXPECT_EQ(close_looks_, 1);
  EXPECT_EQ(Reason(0), "Xid48");
  loop_.Advance(milliseconds(0));
  EXPECT_EQ(measures_, 1);
}

TEST_F(HealthMonitorTest, WhenTheHoldDownIsOverItWantsALookAndAMeasurement) {
  Start({.hold_down = seconds(60)});
  monitor_->OnEvent(Xid(48));
  loop_.Advance(seconds(59));
  EXPECT_EQ(looks_, 0);
  loop_.Advance(seconds(1));
  EXPECT_EQ(looks_, 1);
  EXPECT_EQ(measures_, 2);
}

TEST_F(HealthMonitorTest, AGpuThatCannotBeReadIsLookedAtTwiceAMinute) {
  Start({.hold_down = seconds(60)});
  on_look_ = [this] {
    monitor_->NoteBadRead(UuidOf(0), {.reason = "GpuLost", .message = "it is lost"});
    monitor_->ArmCheck();
  };
  monitor_->OnEvent(Xid(79));
  on_look_();
  loop_.Advance(std::chrono::hours(1));
  EXPECT_GT(looks_, 60);
  EXPECT_LT(looks_, 130);
  EXPECT_LT(measures_, 130);
  EXPECT_NE(Reason(0), "");
}

TEST_F(HealthMonitorTest, AGpuThatIsGoneIsLookedForTwiceAMinute) {
  Start({.hold_down = seconds(60)});
  on_look_ = [this] { monitor_->ArmCheck(); };
  monitor_->OnEvent(Xid(79, 7));
  loop_.Advance(std::chrono::hours(1));
  EXPECT_LT(looks_, 130);
}

// However short the hold-down is.
TEST_F(HealthMonitorTest, AGpuThatStaysTooHotIsLookedAtTwiceAMinute) {
  Start({.hold_down = milliseconds(50)});
  on_look_ = [this] {
    monitor_->NoteGoodRead(UuidOf(0), loop_.clock().Now());
    monitor_->ArmCheck();
  };
  on_measure_ = [this] {
    device::SampleSet set;
    set.begun = loop_.clock().Now();
    set.gpus.resize(1);
    set.gpus[0].uuid = UuidOf(0);
    set.gpus[0].throttle_reasons = nvml::kThrottleHwThermal;
    monitor_->OnSamples(set);
  };
  for (int round = 0; round < 120; ++round) {
    on_measure_();
    loop_.Advance(seconds(30));
  }
  EXPECT_GT(looks_, 60);
  EXPECT_LT(looks_, 140);
  EXPECT_LT(measures_, 280);
  EXPECT_THAT(monitor_->overview().open, ::testing::SizeIs(1));
}

TEST_F(HealthMonitorTest, WhatStaysDoesNotHoldBackWhatIsNewOnTheSameGpu) {
  Start({.hold_down = milliseconds(50)});
  on_look_ = [this] {
    monitor_->NoteBadRead(UuidOf(0), {.reason = "GpuLost", .message = "it is lost"});
    monitor_->ArmCheck();
  };
  on_look_();
  loop_.Advance(std::chrono::hours(1));
  const int before = looks_;
  monitor_->OnEvent(Xid(48));
  loop_.Advance(milliseconds(1'100));
  EXPECT_GT(looks_, before);
}

TEST_F(HealthMonitorTest, AFaultOfAnotherGpuIsLookedAtWhenItIsDue) {
  Start({.hold_down = seconds(60)});
  on_look_ = [this] {
    monitor_->NoteBadRead(UuidOf(0), {.reason = "GpuLost", .message = "it is lost"});
    monitor_->NoteGoodRead(UuidOf(1), loop_.clock().Now());
    monitor_->ArmCheck();
  };
  monitor_->OnEvent(Xid(79));
  loop_.Advance(seconds(65));
  monitor_->OnEvent(Xid(48, 1));
  loop_.Advance(seconds(61));
  EXPECT_EQ(Reason(1), "");
  EXPECT_NE(Reason(0), "");
}

TEST_F(HealthMonitorTest, WhenAnotherLookComesFirstTheMeasurementIsStillTaken) {
  Start({.hold_down = seconds(60)});
  device::SampleSet set;
  set.gpus.resize(1);
  set.gpus[0].uuid = UuidOf(0);
  monitor_->OnSamples(set);
  monitor_->OnEvent(Xid(48));
  loop_.Advance(seconds(59));
  const int before = measures_;
  monitor_->NoteGoodRead(UuidOf(0), loop_.clock().Now() + seconds(1));
  monitor_->ArmCheck();
  loop_.Advance(milliseconds(1));
  EXPECT_EQ(measures_, before + 1);
  EXPECT_EQ(Reason(0), "Xid48");
  set.begun = loop_.clock().Now() + seconds(1);
  monitor_->OnSamples(set);
  EXPECT_EQ(Reason(0), "");
}

TEST_F(HealthMonitorTest, WhatIsMeasuredOnceMoreIsLookedAtWhenThatIsDue) {
  Start({.hold_down = seconds(60)});
  device::SampleSet set;
  set.gpus.resize(1);
  set.gpus[0].uuid = UuidOf(0);
  set.gpus[0].recovery_action = 1;
  monitor_->OnSamples(set);
  EXPECT_EQ(Reason(0), "RecoveryReset");
  loop_.Advance(seconds(60));
  EXPECT_EQ(looks_, 1);
  monitor_->NoteGoodRead(UuidOf(0), loop_.clock().Now());
  monitor_->ArmCheck();
  set.begun = loop_.clock().Now();
  monitor_->OnSamples(set);  // the measurement of that look still shows it
  loop_.Advance(seconds(60));
  EXPECT_EQ(looks_, 2);
}

TEST_F(HealthMonitorTest, AnErrorOfAProgramIsAnEventAndNothingMore) {
  Start();
  monitor_->OnEvent(Xid(13));
  loop_.Advance(seconds(1));
  EXPECT_EQ(shows_ + close_looks_ + measures_, 0);
  EXPECT_THAT(events_, ElementsAre("seen Xid13 1"));
}

TEST_F(HealthMonitorTest, OtherEventsAreLeftToTheInventory) {
  Start();
  probe::Event event;
  event.type = nvml::kEventMigConfig;
  EXPECT_FALSE(monitor_->OnEvent(event));
}

TEST_F(HealthMonitorTest, WhatTheDriverWantsDoneIsMeasuredAtOnce) {
  Start();
  probe::Event event;
  event.type = nvml::kEventGpuRecoveryAction;
  event.uuid = UuidOf(0);
  EXPECT_TRUE(monitor_->OnEvent(event));
  monitor_->OnEvent(Xid(154));
  loop_.Advance(seconds(1));
  EXPECT_EQ(measures_, 1);
}

TEST_F(HealthMonitorTest, TheKernelsLogAloneMakesAGpuUnhealthy) {
  Start();
  KernelSays("NVRM: Xid (PCI:0000:0f:00): 79, pid='<unknown>', name=<unknown>, lost");
  EXPECT_EQ(Reason(0), "");
  EXPECT_EQ(Reason(1), "Xid79");
  ASSERT_EQ(monitor_->overview().open.size(), 1U);
  EXPECT_EQ(monitor_->overview().open[0].source, health::Source::kKernelLog);
}

TEST_F(HealthMonitorTest, BothSourcesTogetherAreOneFault) {
  Start();
  KernelSays("NVRM: Xid (PCI:0000:07:00): 79, pid=12, name=a, lost");
  monitor_->OnEvent(Xid(79));
  EXPECT_THAT(events_, ElementsAre("raised Xid79 1"));
  EXPECT_EQ(monitor_->overview().counters.xids.at(0).count, 1U);
}

TEST_F(HealthMonitorTest, AnXidOfADeviceThatIsNotOursIsPassedOver) {
  Start();
  KernelSays("NVRM: Xid (PCI:0000:44:00): 79, x");
  EXPECT_THAT(events_, IsEmpty());
}

TEST_F(HealthMonitorTest, AFatalErrorOfASwitchReachesAllGpus) {
  Start();
  KernelSays("nvidia-nvswitch0: SXid (PCI:0000:c1:00.0): 12028, Non-fatal, Link 32");
  EXPECT_EQ(Reason(0), "");
  KernelSays("nvidia-nvswitch0: SXid (PCI:0000:c1:00.0): 24007, Fatal, Link 44");
  EXPECT_EQ(Reason(0), "NvSwitchFatal");
  EXPECT_EQ(Reason(1), "NvSwitchFatal");
}

TEST_F(HealthMonitorTest, AnNvLinkErrorCountsAgainstTheGpuWhenTheDriverCallsItFatal) {
  Start();
  KernelSays("NVRM: Xid (PCI:0000:07:00): 145, RLW_CTRL  Nonfatal XC0 i0 Link 09 (0x1)");
  EXPECT_EQ(Reason(0), "");
  KernelSays("NVRM: Xid (PCI:0000:0f:00): 149, NETIR_LINK_EVT  Fatal   XC0 i0 Link 09 (0x1)");
  EXPECT_EQ(Reason(0), "");
  EXPECT_EQ(Reason(1), "NvLinkFatal");
  ASSERT_EQ(monitor_->overview().open.size(), 1U);
  EXPECT_THAT(monitor_->overview().open[0].detail, HasSubstr("XID 149: NETIR_LINK_EVT"));
}

TEST_F(HealthMonitorTest, WhoWaivesTheCodeWaivesItsFatalErrorsToo) {
  health::Settings settings;
  settings.rules["Xid*"] = {.is_unhealthy = false};
  Start(settings);
  KernelSays("NVRM: Xid (PCI:0000:07:00): 149, NETIR_LINK_EVT  Fatal   XC0 i0 Link 09 (0x1)");
  EXPECT_EQ(Reason(0), "");
}

TEST_F(HealthMonitorTest, WhatTheKernelReportedBeforeTheGpusWereKnownIsNotLost) {
  std::vector<device::Gpu> none;
  gpus_.swap(none);
  Start();
  for (int i = 0; i < 3; ++i) {
    KernelSays("NVRM: Xid (PCI:0000:0f:00): 119, pid=7, name=a, Timeout after 6s");
  }
  KernelSays("NVRM: Xid (PCI:0000:44:00): 79, x");
  KernelSays("nvidia-nvswitch0: SXid (PCI:0000:c1:00.0): 24007, Fatal, Link 44");
  EXPECT_THAT(events_, IsEmpty());
  gpus_.swap(none);
  monitor_->SetGpus(gpus_);
  EXPECT_EQ(Reason(1), "Xid119");
  EXPECT_EQ(Reason(0), "NvSwitchFatal");
  EXPECT_THAT(events_,
              ElementsAre("raised Xid119 1", "raised NvSwitchFatal 1", "raised NvSwitchFatal 1"));
  monitor_->SetGpus(gpus_);
  EXPECT_EQ(events_.size(), 3U);
}

TEST_F(HealthMonitorTest, WhatIsKeptForLaterIsNotPassedOverByTheNextAgent) {
  std::vector<device::Gpu> none;
  gpus_.swap(none);
  Start();
  KernelSays("NVRM: Xid (PCI:0000:0f:00): 119, x");
  EXPECT_EQ(monitor_->overview().kernel_log_position, std::nullopt);
  gpus_.swap(none);
  monitor_->SetGpus(gpus_);
  EXPECT_EQ(monitor_->overview().kernel_log_position, 1U);
}

TEST_F(HealthMonitorTest, SettingsStartAndStopTheKernelsLog) {
  Start({.kernel_log = false});
  KernelSays("NVRM: Xid (PCI:0000:07:00): 79, x");
  EXPECT_EQ(Reason(0), "");
  monitor_->SetSettings({});
  KernelSays("NVRM: Xid (PCI:0000:07:00): 79, x");
  EXPECT_EQ(Reason(0), "Xid79");
  monitor_->SetSettings({.kernel_log = false});
  EXPECT_EQ(loop_.watches(), 0U);
}

TEST_F(HealthMonitorTest, ALogThatCannotBeReadIsReported) {
  ASSERT_EQ(unlink(dir_.At("dev/kmsg").c_str()), 0);
  Start();
  EXPECT_THAT(monitor_->overview().kernel_log_problem, HasSubstr("/dev/kmsg"));
}

TEST_F(HealthMonitorTest, AHungDriverIsAFaultOfEveryGpuUntilTheHoldDown) {
  Start();
  monitor_->OnDown({.cause = probe::DownCause::kUnresponsive}, "It hangs.");
  EXPECT_EQ(Reason(0), "DriverUnresponsive");
  EXPECT_EQ(Reason(1), "DriverUnresponsive");
  monitor_->NoteGoodRead(UuidOf(0), loop_.clock().Now());
  EXPECT_EQ(Reason(0), "DriverUnresponsive");
  loop_.Advance(seconds(60));
  monitor_->NoteGoodRead(UuidOf(0), loop_.clock().Now());
  EXPECT_EQ(Reason(0), "");
}

TEST_F(HealthMonitorTest, ADriverThatWasUnloadedIsNoFaultOfTheGpus) {
  Start();
  monitor_->OnDown({.cause = probe::DownCause::kInitFailed}, "It is not loaded.");
  EXPECT_EQ(Reason(0), "");
}

TEST_F(HealthMonitorTest, ClearingShowsAndLooksAgain) {
  Start();
  monitor_->OnEvent(Xid(48));
  loop_.Advance(seconds(1));
  EXPECT_OK(monitor_->Clear(UuidOf(0)));
  EXPECT_EQ(Reason(0), "");
  EXPECT_EQ(shows_, 2);
  EXPECT_EQ(looks_, 1);
  EXPECT_THAT(monitor_->Clear(UuidOf(9)), StatusIs(StatusCode::kNotFound));
}

TEST_F(HealthMonitorTest, TenThousandXidsInASecondAreFewShowsEventsAndTimers) {
  Start();
  for (int i = 0; i < 10'000; ++i) {
    monitor_->OnEvent(Xid(48, static_cast<unsigned>(i) % 2));
    monitor_->OnEvent(Xid(13));
    if (i % 100 == 0) {
      loop_.Advance(milliseconds(10));
    }
  }
  EXPECT_LE(shows_, 5);
  EXPECT_LE(close_looks_, 2);
  EXPECT_LE(measures_, 2);
  EXPECT_LE(events_.size(), 9U);
  EXPECT_LE(loop_.timers(), 4U);
  EXPECT_EQ(monitor_->overview().counters.xids.size(), 3U);
}

TEST_F(HealthMonitorTest, AStormOfManyKindsIsShownFewTimesASecond) {
  Start();
  for (uint64_t xid = 200; xid < 2'200; ++xid) {
    monitor_->OnEvent(Xid(xid));
    loop_.Advance(std::chrono::microseconds(500));
  }
  EXPECT_LE(shows_, 6);
}

}  // namespace
}  // namespace kgpu::inventory
