#include "src/node/inventory/health_keeper.h"

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
class HealthKeeperTest : public ::testing::Test {
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
    keeper_ = std::make_unique<HealthKeeper>(
        loop_, *root_, std::move(settings),
        HealthKeeper::Wishes{.show = [this] { ++shows_; },
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
    keeper_->SetListener([this](const health::Happening& news) {
      news_.push_back(fmt::format("{} {} {}", ToString(news.kind), news.rule, news.count));
    });
    keeper_->Start({});
    keeper_->SetGpus(gpus_);
  }
  void KernelSays(std::string_view message) {
    ASSERT_OK(sys::WriteAll(kernel_.get(), fmt::format("4,1,1,-;{}\n", message)));
    loop_.RunUntilIdle();
  }
  std::string Reason(unsigned gpu) {
    device::Gpu seen = gpus_.at(gpu);
    keeper_->Apply(seen);
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
  std::vector<std::string> news_;
  std::unique_ptr<HealthKeeper> keeper_;
};

TEST_F(HealthKeeperTest, AFaultIsShownAtOnceAndLookedInto) {
  Start();
  EXPECT_TRUE(keeper_->OnEvent(Xid(48)));
  EXPECT_EQ(shows_, 1);
  EXPECT_EQ(close_looks_, 1);
  EXPECT_EQ(Reason(0), "Xid48");
  loop_.Advance(milliseconds(0));
  EXPECT_EQ(measures_, 1);
}

TEST_F(HealthKeeperTest, WhenTheHoldDownIsOverItWantsALookAndAMeasurement) {
  Start({.hold_down = seconds(60)});
  keeper_->OnEvent(Xid(48));
  loop_.Advance(seconds(59));
  EXPECT_EQ(looks_, 0);
  loop_.Advance(seconds(1));
  EXPECT_EQ(looks_, 1);
  EXPECT_EQ(measures_, 2);
}

TEST_F(HealthKeeperTest, AGpuThatCanNotBeReadIsLookedAtTwiceAMinute) {
  Start({.hold_down = seconds(60)});
  on_look_ = [this] {
    keeper_->NoteBadRead(UuidOf(0), {.reason = "GpuLost", .message = "it is lost"});
    keeper_->ArmCheck();
  };
  keeper_->OnEvent(Xid(79));
  on_look_();
  loop_.Advance(std::chrono::hours(1));
  EXPECT_GT(looks_, 60);
  EXPECT_LT(looks_, 130);
  EXPECT_LT(measures_, 130);
  EXPECT_NE(Reason(0), "");
}

TEST_F(HealthKeeperTest, AGpuThatIsGoneIsLookedForTwiceAMinute) {
  Start({.hold_down = seconds(60)});
  on_look_ = [this] { keeper_->ArmCheck(); };
  keeper_->OnEvent(Xid(79, 7));
  loop_.Advance(std::chrono::hours(1));
  EXPECT_LT(looks_, 130);
}

// However short the hold-down is.
TEST_F(HealthKeeperTest, AGpuThatStaysTooHotIsLookedAtTwiceAMinute) {
  Start({.hold_down = milliseconds(50)});
  on_look_ = [this] {
    keeper_->NoteGoodRead(UuidOf(0), loop_.clock().Now());
    keeper_->ArmCheck();
  };
  on_measure_ = [this] {
    device::SampleSet set;
    set.begun = loop_.clock().Now();
    set.gpus.resize(1);
    set.gpus[0].uuid = UuidOf(0);
    set.gpus[0].throttle_reasons = nvml::kThrottleHwThermal;
    keeper_->OnSamples(set);
  };
  for (int round = 0; round < 120; ++round) {
    on_measure_();
    loop_.Advance(seconds(30));
  }
  EXPECT_GT(looks_, 60);
  EXPECT_LT(looks_, 140);
  EXPECT_LT(measures_, 280);
  EXPECT_THAT(keeper_->overview().open, ::testing::SizeIs(1));
}

TEST_F(HealthKeeperTest, WhatStaysDoesNotHoldBackWhatIsNewOnTheSameGpu) {
  Start({.hold_down = milliseconds(50)});
  on_look_ = [this] {
    keeper_->NoteBadRead(UuidOf(0), {.reason = "GpuLost", .message = "it is lost"});
    keeper_->ArmCheck();
  };
  on_look_();
  loop_.Advance(std::chrono::hours(1));
  const int before = looks_;
  keeper_->OnEvent(Xid(48));
  loop_.Advance(milliseconds(1'100));
  EXPECT_GT(looks_, before);
}

TEST_F(HealthKeeperTest, AFaultOfAnotherGpuIsLookedAtWhenItIsDue) {
  Start({.hold_down = seconds(60)});
  on_look_ = [this] {
    keeper_->NoteBadRead(UuidOf(0), {.reason = "GpuLost", .message = "it is lost"});
    keeper_->NoteGoodRead(UuidOf(1), loop_.clock().Now());
    keeper_->ArmCheck();
  };
  keeper_->OnEvent(Xid(79));
  loop_.Advance(seconds(65));
  keeper_->OnEvent(Xid(48, 1));
  loop_.Advance(seconds(61));
  EXPECT_EQ(Reason(1), "");
  EXPECT_NE(Reason(0), "");
}

TEST_F(HealthKeeperTest, WhenAnotherLookComesFirstTheMeasurementIsStillTaken) {
  Start({.hold_down = seconds(60)});
  device::SampleSet set;
  set.gpus.resize(1);
  set.gpus[0].uuid = UuidOf(0);
  keeper_->OnSamples(set);
  keeper_->OnEvent(Xid(48));
  loop_.Advance(seconds(59));
  const int before = measures_;
  keeper_->NoteGoodRead(UuidOf(0), loop_.clock().Now() + seconds(1));
  keeper_->ArmCheck();
  loop_.Advance(milliseconds(1));
  EXPECT_EQ(measures_, before + 1);
  EXPECT_EQ(Reason(0), "Xid48");
  set.begun = loop_.clock().Now() + seconds(1);
  keeper_->OnSamples(set);
  EXPECT_EQ(Reason(0), "");
}

TEST_F(HealthKeeperTest, WhatIsMeasuredOnceMoreIsLookedAtWhenThatIsDue) {
  Start({.hold_down = seconds(60)});
  device::SampleSet set;
  set.gpus.resize(1);
  set.gpus[0].uuid = UuidOf(0);
  set.gpus[0].recovery_action = 1;
  keeper_->OnSamples(set);
  EXPECT_EQ(Reason(0), "RecoveryReset");
  loop_.Advance(seconds(60));
  EXPECT_EQ(looks_, 1);
  keeper_->NoteGoodRead(UuidOf(0), loop_.clock().Now());
  keeper_->ArmCheck();
  set.begun = loop_.clock().Now();
  keeper_->OnSamples(set);  // the measurement of that look still shows it
  loop_.Advance(seconds(60));
  EXPECT_EQ(looks_, 2);
}

TEST_F(HealthKeeperTest, AnErrorOfAProgramIsNewsAndNothingMore) {
  Start();
  keeper_->OnEvent(Xid(13));
  loop_.Advance(seconds(1));
  EXPECT_EQ(shows_ + close_looks_ + measures_, 0);
  EXPECT_THAT(news_, ElementsAre("seen Xid13 1"));
}

TEST_F(HealthKeeperTest, OtherEventsAreLeftToTheInventory) {
  Start();
  probe::Event event;
  event.type = nvml::kEventMigConfig;
  EXPECT_FALSE(keeper_->OnEvent(event));
}

TEST_F(HealthKeeperTest, WhatTheDriverWantsDoneIsMeasuredAtOnce) {
  Start();
  probe::Event event;
  event.type = nvml::kEventGpuRecoveryAction;
  event.uuid = UuidOf(0);
  EXPECT_TRUE(keeper_->OnEvent(event));
  keeper_->OnEvent(Xid(154));
  loop_.Advance(seconds(1));
  EXPECT_EQ(measures_, 1);
}

TEST_F(HealthKeeperTest, TheKernelsLogAloneMakesAGpuUnhealthy) {
  Start();
  KernelSays("NVRM: Xid (PCI:0000:0f:00): 79, pid='<unknown>', name=<unknown>, lost");
  EXPECT_EQ(Reason(0), "");
  EXPECT_EQ(Reason(1), "Xid79");
  ASSERT_EQ(keeper_->overview().open.size(), 1U);
  EXPECT_EQ(keeper_->overview().open[0].source, health::Source::kKernelLog);
}

TEST_F(HealthKeeperTest, BothSourcesTogetherAreOneFault) {
  Start();
  KernelSays("NVRM: Xid (PCI:0000:07:00): 79, pid=12, name=a, lost");
  keeper_->OnEvent(Xid(79));
  EXPECT_THAT(news_, ElementsAre("raised Xid79 1"));
  EXPECT_EQ(keeper_->overview().counters.xids.at(0).count, 1U);
}

TEST_F(HealthKeeperTest, AnXidOfADeviceThatIsNotOursIsPassedOver) {
  Start();
  KernelSays("NVRM: Xid (PCI:0000:44:00): 79, x");
  EXPECT_THAT(news_, IsEmpty());
}

TEST_F(HealthKeeperTest, AFatalErrorOfASwitchReachesAllGpus) {
  Start();
  KernelSays("nvidia-nvswitch0: SXid (PCI:0000:c1:00.0): 12028, Non-fatal, Link 32");
  EXPECT_EQ(Reason(0), "");
  KernelSays("nvidia-nvswitch0: SXid (PCI:0000:c1:00.0): 24007, Fatal, Link 44");
  EXPECT_EQ(Reason(0), "NvSwitchFatal");
  EXPECT_EQ(Reason(1), "NvSwitchFatal");
}

TEST_F(HealthKeeperTest, AnNvLinkErrorCountsAgainstTheGpuWhenTheDriverCallsItFatal) {
  Start();
  KernelSays("NVRM: Xid (PCI:0000:07:00): 145, RLW_CTRL  Nonfatal XC0 i0 Link 09 (0x1)");
  EXPECT_EQ(Reason(0), "");
  KernelSays("NVRM: Xid (PCI:0000:0f:00): 149, NETIR_LINK_EVT  Fatal   XC0 i0 Link 09 (0x1)");
  EXPECT_EQ(Reason(0), "");
  EXPECT_EQ(Reason(1), "NvLinkFatal");
  ASSERT_EQ(keeper_->overview().open.size(), 1U);
  EXPECT_THAT(keeper_->overview().open[0].detail, HasSubstr("XID 149: NETIR_LINK_EVT"));
}

TEST_F(HealthKeeperTest, WhoWaivesTheCodeWaivesItsFatalErrorsToo) {
  health::Settings settings;
  settings.rules["Xid*"] = {.is_unhealthy = false};
  Start(settings);
  KernelSays("NVRM: Xid (PCI:0000:07:00): 149, NETIR_LINK_EVT  Fatal   XC0 i0 Link 09 (0x1)");
  EXPECT_EQ(Reason(0), "");
}

TEST_F(HealthKeeperTest, WhatTheKernelToldBeforeTheGpusWereKnownIsNotLost) {
  std::vector<device::Gpu> none;
  gpus_.swap(none);
  Start();
  for (int i = 0; i < 3; ++i) {
    KernelSays("NVRM: Xid (PCI:0000:0f:00): 119, pid=7, name=a, Timeout after 6s");
  }
  KernelSays("NVRM: Xid (PCI:0000:44:00): 79, x");
  KernelSays("nvidia-nvswitch0: SXid (PCI:0000:c1:00.0): 24007, Fatal, Link 44");
  EXPECT_THAT(news_, IsEmpty());
  gpus_.swap(none);
  keeper_->SetGpus(gpus_);
  EXPECT_EQ(Reason(1), "Xid119");
  EXPECT_EQ(Reason(0), "NvSwitchFatal");
  EXPECT_THAT(news_,
              ElementsAre("raised Xid119 1", "raised NvSwitchFatal 1", "raised NvSwitchFatal 1"));
  keeper_->SetGpus(gpus_);
  EXPECT_EQ(news_.size(), 3U);
}

TEST_F(HealthKeeperTest, WhatIsKeptForLaterIsNotPassedOverByTheNextAgent) {
  std::vector<device::Gpu> none;
  gpus_.swap(none);
  Start();
  KernelSays("NVRM: Xid (PCI:0000:0f:00): 119, x");
  EXPECT_EQ(keeper_->overview().kernel_log_position, std::nullopt);
  gpus_.swap(none);
  keeper_->SetGpus(gpus_);
  EXPECT_EQ(keeper_->overview().kernel_log_position, 1U);
}

TEST_F(HealthKeeperTest, SettingsStartAndStopTheKernelsLog) {
  Start({.kernel_log = false});
  KernelSays("NVRM: Xid (PCI:0000:07:00): 79, x");
  EXPECT_EQ(Reason(0), "");
  keeper_->SetSettings({});
  KernelSays("NVRM: Xid (PCI:0000:07:00): 79, x");
  EXPECT_EQ(Reason(0), "Xid79");
  keeper_->SetSettings({.kernel_log = false});
  EXPECT_EQ(loop_.watches(), 0U);
}

TEST_F(HealthKeeperTest, ALogThatCanNotBeReadIsTold) {
  ASSERT_EQ(unlink(dir_.At("dev/kmsg").c_str()), 0);
  Start();
  EXPECT_THAT(keeper_->overview().kernel_log_problem, HasSubstr("/dev/kmsg"));
}

TEST_F(HealthKeeperTest, AHungDriverIsAFaultOfEveryGpuUntilTheHoldDown) {
  Start();
  keeper_->OnDown({.cause = probe::DownCause::kUnresponsive}, "It hangs.");
  EXPECT_EQ(Reason(0), "DriverUnresponsive");
  EXPECT_EQ(Reason(1), "DriverUnresponsive");
  keeper_->NoteGoodRead(UuidOf(0), loop_.clock().Now());
  EXPECT_EQ(Reason(0), "DriverUnresponsive");
  loop_.Advance(seconds(60));
  keeper_->NoteGoodRead(UuidOf(0), loop_.clock().Now());
  EXPECT_EQ(Reason(0), "");
}

TEST_F(HealthKeeperTest, ADriverThatWasUnloadedIsNoFaultOfTheGpus) {
  Start();
  keeper_->OnDown({.cause = probe::DownCause::kInitFailed}, "It is not loaded.");
  EXPECT_EQ(Reason(0), "");
}

TEST_F(HealthKeeperTest, ClearingShowsAndLooksAgain) {
  Start();
  keeper_->OnEvent(Xid(48));
  loop_.Advance(seconds(1));
  EXPECT_OK(keeper_->Clear(UuidOf(0)));
  EXPECT_EQ(Reason(0), "");
  EXPECT_EQ(shows_, 2);
  EXPECT_EQ(looks_, 1);
  EXPECT_THAT(keeper_->Clear(UuidOf(9)), StatusIs(StatusCode::kNotFound));
}

TEST_F(HealthKeeperTest, TenThousandXidsInASecondAreFewShowsNewsAndTimers) {
  Start();
  for (int i = 0; i < 10'000; ++i) {
    keeper_->OnEvent(Xid(48, static_cast<unsigned>(i) % 2));
    keeper_->OnEvent(Xid(13));
    if (i % 100 == 0) {
      loop_.Advance(milliseconds(10));
    }
  }
  EXPECT_LE(shows_, 5);
  EXPECT_LE(close_looks_, 2);
  EXPECT_LE(measures_, 2);
  EXPECT_LE(news_.size(), 9U);
  EXPECT_LE(loop_.timers(), 4U);
  EXPECT_EQ(keeper_->overview().counters.xids.size(), 3U);
}

TEST_F(HealthKeeperTest, AStormOfManyKindsIsShownFewTimesASecond) {
  Start();
  for (uint64_t xid = 200; xid < 2'200; ++xid) {
    keeper_->OnEvent(Xid(xid));
    loop_.Advance(std::chrono::microseconds(500));
  }
  EXPECT_LE(shows_, 6);
}

}  // namespace
}  // namespace kgpu::inventory
