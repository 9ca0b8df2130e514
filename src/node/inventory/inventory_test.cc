#include "src/node/inventory/inventory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "src/gpu/probe/testdata/test_probe.h"
#include "src/node/inventory/test_inventory.h"
#include "testing/status_matchers.h"

namespace kgpu::inventory {
namespace {

using device::DriverState;
using device::Snapshot;
using device::SnapshotPtr;
using probe::RunUntil;
using std::chrono::milliseconds;
using ::testing::HasSubstr;

// An inventory over the real probe, a fake driver library and a folder as the host.
class InventoryTest : public TestInventory {
 protected:
  void Start() {
    root_.emplace(host_.Open());
    inventory_ = std::make_unique<Inventory>(*loop_, *root_, options_);
    inventory_->Start([this](const SnapshotPtr& snapshot) { published_.push_back(snapshot); });
  }
  const Snapshot& now() const { return *inventory_->current(); }
  [[nodiscard]] bool WaitFor(const std::function<bool(const Snapshot&)>& is_wanted) {
    return RunUntil(*loop_, [&] { return is_wanted(now()); });
  }
  [[nodiscard]] bool WaitForReady(size_t gpus = 2) {
    return WaitFor([&](const Snapshot& s) {
      return s.driver.state == DriverState::kReady && s.gpus.size() == gpus;
    });
  }
  [[nodiscard]] bool WaitForHealth(unsigned gpu, const std::string& reason) {
    return WaitFor([&](const Snapshot& s) {
      return gpu < s.gpus.size() && s.gpus[gpu].health.reason == reason;
    });
  }

  std::vector<SnapshotPtr> published_;
  std::unique_ptr<Inventory> inventory_;
};

TEST_F(InventoryTest, PublishesTheFirstSnapshotOnceItIsComplete) {
  Start();
  EXPECT_EQ(now().version, 0U);
  EXPECT_EQ(now().driver.state, DriverState::kStarting);
  ASSERT_TRUE(WaitForReady());
  ASSERT_EQ(published_.size(), 1U);
  EXPECT_EQ(published_[0]->version, 1U);
  EXPECT_EQ(now().driver.version, "535.104.05");
  EXPECT_EQ(now().driver.library_path, probe::kFakeNvml);
  EXPECT_EQ(now().gpus[1].pci.str(), "0000:02:00.0");
  EXPECT_TRUE(now().gpus[0].health.is_healthy);
  EXPECT_TRUE(now().unmanaged.empty());
}

TEST_F(InventoryTest, PublishesNothingWhenNothingChanged) {
  options_.slow_poll = milliseconds(5);
  Start();
  ASSERT_TRUE(WaitForReady());
  const auto is_event = [&] { return published_.size() > 1; };
  EXPECT_FALSE(RunUntil(*loop_, is_event, milliseconds(50)));
}

TEST_F(InventoryTest, AnXidMakesItsGpuUnhealthyAndAGoodLookAfterTheHoldDownHealsIt) {
  options_.health.hold_down = milliseconds(60);
  Start();
  ASSERT_TRUE(WaitForReady());
  control_.Set("xid 1 48 1\n");
  ASSERT_TRUE(WaitForHealth(1, "Xid48"));
  EXPECT_TRUE(now().gpus[0].health.is_healthy);
  EXPECT_THAT(now().gpus[1].health.message, HasSubstr("double-bit"));
  ASSERT_TRUE(WaitForHealth(1, ""));
}

TEST_F(InventoryTest, AnXidOfAProgramChangesNothing) {
  Start();
  ASSERT_TRUE(WaitForReady());
  control_.Set("xid 1 13 1\nxid 0 79 2\n");
  ASSERT_TRUE(WaitForHealth(0, "Xid79"));
  EXPECT_TRUE(now().gpus[1].health.is_healthy);
}

TEST_F(InventoryTest, ALostGpuIsUnhealthyUntilItAnswersAgain) {
  options_.slow_poll = milliseconds(5);
  Start();
  ASSERT_TRUE(WaitForReady());
  const std::string name = now().gpus[0].name;
  control_.Set("lost 0\n");
  ASSERT_TRUE(WaitForHealth(0, "GpuLost"));
  EXPECT_TRUE(now().gpus[1].health.is_healthy);
  EXPECT_EQ(now().gpus[0].name, name);
  control_.Set("");
  EXPECT_TRUE(WaitForHealth(0, ""));
}

TEST_F(InventoryTest, XidAndLossTogetherKeepTheXidAsReasonUntilHealed) {
  Start();
  ASSERT_TRUE(WaitForReady());
  control_.Set("xid 1 79 1\nlost 1\n");
  ASSERT_TRUE(WaitForHealth(1, "Xid79"));
  const auto is_over = [&] { return now().gpus[1].health.reason != "Xid79"; };
  EXPECT_FALSE(RunUntil(*loop_, is_over, milliseconds(100)));
  control_.Set("");
  EXPECT_TRUE(WaitForHealth(1, ""));
}

TEST_F(InventoryTest, AGpuThatTheDriverCannotEvenNameIsUnmanaged) {
  control_.Set("unlisted 1\n");
  Start();
  ASSERT_TRUE(WaitForReady(1));
  ASSERT_EQ(now().unmanaged.size(), 1U);
  EXPECT_EQ(now().unmanaged[0].pci.str(), "0000:02:00.0");
}

TEST_F(InventoryTest, OneSnapshotDoesNotWaitForAGpuThatIsNotListed) {
  control_.Set("unlisted 1\n");
  options_.is_live = false;
  Start();
  ASSERT_TRUE(WaitForReady(1));
  ASSERT_EQ(now().unmanaged.size(), 1U);
  EXPECT_EQ(now().unmanaged[0].pci.str(), "0000:02:00.0");
}

TEST_F(InventoryTest, AHungCallMakesTheDevicesUnhealthyAndIsTriedAgain) {
  options_.call_deadline = milliseconds(50);
  options_.slow_poll = milliseconds(20);
  Start();
  ASSERT_TRUE(WaitForReady());
  control_.Set("hang nvmlDeviceGetMemoryInfo\n");
  ASSERT_TRUE(
      WaitFor([](const Snapshot& s) { return s.driver.state == DriverState::kUnresponsive; }));
  ASSERT_EQ(now().gpus.size(), 2U);
  EXPECT_EQ(now().gpus[0].health.reason, "DriverUnresponsive");
  EXPECT_THAT(now().driver.reason, HasSubstr("does not respond"));
  control_.Set("");
  ASSERT_TRUE(WaitForReady());
  EXPECT_EQ(now().gpus[0].health.reason, "DriverUnresponsive");  // it is trusted no sooner
  EXPECT_TRUE(WaitForHealth(0, ""));
  EXPECT_TRUE(WaitForHealth(1, ""));
}

// With the usual deadline, so that a slow machine does not look like a second GPU that hangs.
TEST_F(InventoryTest, AGpuThatHangsIsUnhealthyWhileTheOthersAreServed) {
  options_.slow_poll = milliseconds(50);
  Start();
  ASSERT_TRUE(WaitForReady());
  const std::string name = now().gpus[1].name;
  control_.Set("hang_gpu 1\n");
  ASSERT_TRUE(WaitForHealth(1, "DriverUnresponsive"));
  EXPECT_EQ(now().gpus[1].name, name);
  EXPECT_THAT(now().gpus[1].health.message, HasSubstr("(GPU 1) did not return"));
  control_.Set("hang_gpu 1\nlost 0\n");  // the other one is still read
  ASSERT_TRUE(WaitForHealth(0, "GpuLost"));
  control_.Set("");
  ASSERT_TRUE(WaitForHealth(0, ""));
  ASSERT_TRUE(WaitForHealth(1, ""));
  for (const SnapshotPtr& snapshot : published_) {
    EXPECT_EQ(snapshot->driver.state, DriverState::kReady);
    EXPECT_NE(snapshot->gpus[0].health.reason, "DriverUnresponsive");
  }
}

TEST_F(InventoryTest, AGpuThatHangsFromTheStartIsUnmanagedWithTheReason) {
  host_.AddNode(0);
  for (const bool is_live : {true, false}) {
    options_.call_deadline = milliseconds(1000);
    options_.is_live = is_live;
    control_.Set("hang_gpu 0\n");
    Start();
    ASSERT_TRUE(WaitForReady(1));
    EXPECT_EQ(now().gpus[0].index, 1U);
    EXPECT_TRUE(now().gpus[0].health.is_healthy);
    ASSERT_EQ(now().unmanaged.size(), 1U);
    EXPECT_EQ(now().unmanaged[0].pci.str(), "0000:01:00.0");
    EXPECT_THAT(now().unmanaged[0].reason, HasSubstr("does not respond for this GPU"));
  }
}

TEST_F(InventoryTest, ADriverThatHangsAtEveryGpuHangsAsAWhole) {
  options_.call_deadline = milliseconds(300);
  Start();
  ASSERT_TRUE(WaitForReady());
  control_.Set("hang_gpu 0\nhang_gpu 1\n");
  inventory_->Refresh();
  ASSERT_TRUE(
      WaitFor([](const Snapshot& s) { return s.driver.state == DriverState::kUnresponsive; }));
  EXPECT_EQ(now().gpus[0].health.reason, "DriverUnresponsive");
  EXPECT_EQ(now().gpus[1].health.reason, "DriverUnresponsive");
  control_.Set("");
  ASSERT_TRUE(WaitForReady());
}

TEST_F(InventoryTest, ASingleCrashOfTheProbeIsNotShown) {
  const TempDir dir;
  control_.Set("crash_with " + dir.At("armed") + "\n");
  Start();
  ASSERT_TRUE(WaitForReady());
  dir.WriteFile("armed", "");
  inventory_->Refresh();
  ASSERT_TRUE(RunUntil(*loop_, [&] { return !std::filesystem::exists(dir.At("armed")); }));
  control_.Set("gpus 1\n");  // shows that the next probe has answered
  ASSERT_TRUE(RunUntil(*loop_, [&] { return published_.size() > 1; }));
  EXPECT_EQ(now().driver.state, DriverState::kReady);
  EXPECT_EQ(now().gpus[1].health.reason, "GpuLost");
}

TEST_F(InventoryTest, ADriverThatKeepsCrashingIsShown) {
  control_.Set("crash nvmlDeviceGetName\n");
  Start();
  ASSERT_TRUE(WaitFor([](const Snapshot& s) { return s.driver.state == DriverState::kFailed; }));
  EXPECT_THAT(now().driver.reason, HasSubstr("signal 9"));
  EXPECT_EQ(now().unmanaged.size(), 2U);
}

TEST_F(InventoryTest, AnUnloadedDriverKeepsItsGpusAsUnhealthyAndComesBack) {
  options_.slow_poll = milliseconds(5);
  host_.dir().WriteFile("dev/nvidiactl", "");
  Start();
  ASSERT_TRUE(WaitForReady());
  host_.dir().WriteFile("proc/modules", "");
  control_.Set("count 9\ninit 9\n");
  ASSERT_TRUE(WaitForHealth(0, "DriverNotReady"));
  EXPECT_EQ(now().gpus.size(), 2U);
  EXPECT_NE(now().driver.state, DriverState::kReady);
  host_.dir().WriteFile("proc/modules", "nvidia 1 0 - Live 0x0\n");
  control_.Set("");
  ASSERT_TRUE(WaitForReady());
  EXPECT_TRUE(now().gpus[0].health.is_healthy);
}

TEST_F(InventoryTest, AHostWithoutLibraryShowsItsGpusWithTheReason) {
  options_.nvml_library.clear();
  Start();
  ASSERT_TRUE(WaitFor([](const Snapshot& s) { return s.version > 0; }));
  EXPECT_EQ(device::ToString(now().driver.state), "NoLibrary");
  ASSERT_EQ(now().unmanaged.size(), 2U);
  EXPECT_THAT(now().unmanaged[0].reason, HasSubstr("libnvidia-ml.so.1"));
}

TEST_F(InventoryTest, AProbeThatCannotRunSaysThatGlibcIsMissing) {
  TempDir dir;
  dir.WriteFile("kgpu-probe", "#!/nonexistent/ld.so\n");
  std::filesystem::permissions(dir.At("kgpu-probe"), std::filesystem::perms::owner_all);
  options_.probe_path = dir.At("kgpu-probe");
  Start();
  ASSERT_TRUE(WaitFor([](const Snapshot& s) { return s.version > 0; }));
  EXPECT_THAT(now().driver.reason, HasSubstr("glibc"));
  EXPECT_EQ(now().unmanaged.size(), 2U);
}

TEST_F(InventoryTest, AGpuThatIsAddedAppearsWithItsNode) {
  Start();
  ASSERT_TRUE(WaitForReady());
  host_.AddGpu(2);
  control_.Set("gpus 3\n");
  host_.AddNode(2);
  const SteadyTime begun = loop_->clock().Now();
  ASSERT_TRUE(WaitForReady(3));
  EXPECT_LT(loop_->clock().Now() - begun, std::chrono::seconds(5));
}

TEST_F(InventoryTest, AGpuThatIsRemovedDisappears) {
  host_.AddNode(1);
  Start();
  ASSERT_TRUE(WaitForReady());
  host_.RemoveGpu(1);
  control_.Set("gpus 1\n");
  host_.RemoveNode(1);
  ASSERT_TRUE(WaitForReady(1));
  EXPECT_TRUE(now().unmanaged.empty());
}

TEST_F(InventoryTest, AGpuThatComesToThePlaceOfOneThatWasRemovedAppears) {
  control_.Set("counts_once\n");
  Start();
  ASSERT_TRUE(WaitForReady());
  for (int time = 0; time < 3; ++time) {
    host_.RemoveGpu(1);
    control_.Set("counts_once\ngpus 1\n");
    inventory_->Refresh();
    ASSERT_TRUE(WaitForReady(1)) << time;
    host_.AddGpu(1);
    control_.Set("counts_once\n");
    inventory_->Refresh();
    ASSERT_TRUE(WaitForReady(2)) << time;
  }
}

// The card was exchanged between two looks at the bus: the new one has its address, its kernel
// driver and its node.
TEST_F(InventoryTest, AGpuThatTakesThePlaceOfALostOneUnnoticedAppears) {
  Start();
  ASSERT_TRUE(WaitForReady());
  control_.Set("counts_once\ngpus 1\n");
  inventory_->Refresh();
  ASSERT_TRUE(WaitForHealth(1, "GpuLost"));
  for (int time = 0; time < 3; ++time) {
    control_.Set("counts_once\n");
    inventory_->Refresh();
    ASSERT_TRUE(WaitForHealth(1, "")) << time;
    control_.Set("counts_once\ngpus 1\n");
    inventory_->Refresh();
    ASSERT_TRUE(WaitForHealth(1, "GpuLost")) << time;
  }
}

// The library counts GPUs at nvmlInit only.
TEST_F(InventoryTest, AGpuThatComesWhileAProbeStartsAppears) {
  const TempDir dir;
  control_.Set("counts_once\n");
  Start();
  ASSERT_TRUE(WaitForReady());
  dir.WriteFile("held", "");
  host_.AddGpu(2);
  control_.Set("counts_once\ngpus 3\nhold_init " + dir.At("held") + "\n");
  inventory_->Refresh();
  ASSERT_TRUE(RunUntil(*loop_, [&] { return !std::filesystem::exists(dir.At("held")); }));
  host_.AddGpu(3);
  control_.Set("counts_once\ngpus 4\n");
  dir.WriteFile("held", "");
  EXPECT_TRUE(WaitForReady(4));
}

TEST_F(InventoryTest, MigDevicesAppearWhenAskedToLookAgain) {
  Start();
  ASSERT_TRUE(WaitForReady());
  EXPECT_TRUE(now().gpus[0].mig_devices.empty());
  control_.Set("mig 0\n");
  inventory_->Refresh();
  ASSERT_TRUE(WaitFor([](const Snapshot& s) { return s.gpus[0].mig_devices.size() == 2; }));
  EXPECT_EQ(now().gpus[0].mig_devices[0].profile, "1g.10gb");
}

TEST_F(InventoryTest, MigDevicesAppearWithoutAnEvent) {
  options_.quick_poll = milliseconds(5);
  Start();
  ASSERT_TRUE(WaitForReady());
  control_.Set("mig 0\n");
  host_.dir().MakeDir("proc/driver/nvidia/capabilities/gpu0/mig/gi7/ci0");
  EXPECT_TRUE(WaitFor([](const Snapshot& s) { return s.gpus[0].mig_devices.size() == 2; }));
}

TEST_F(InventoryTest, WhilePausedItShowsWhatItKnowsAndThenReadsAgain) {
  Start();
  ASSERT_TRUE(WaitForReady());
  const uint64_t version = now().version;
  bool is_released = false;
  inventory_->Pause([&] { is_released = true; });
  bool is_read = false;
  inventory_->Refresh([&] { is_read = true; });
  ASSERT_TRUE(RunUntil(*loop_, [&] { return is_released; }));
  EXPECT_EQ(now().version, version);
  EXPECT_EQ(now().driver.state, DriverState::kReady);
  EXPECT_FALSE(is_read);
  control_.Set("mig 0\n");
  inventory_->Resume();
  ASSERT_TRUE(RunUntil(*loop_, [&] { return is_read; }));
  EXPECT_EQ(now().gpus[0].mig_devices.size(), 2U);
  EXPECT_EQ(now().version, version + 1) << "the pause itself is not shown";
}

TEST_F(InventoryTest, ASlowStartIsShownAsStarting) {
  options_.start_deadline = milliseconds(30);
  options_.call_deadline = milliseconds(400);
  control_.Set("slow 15\n");
  Start();
  ASSERT_TRUE(WaitFor([](const Snapshot& s) { return s.version == 1; }));
  EXPECT_EQ(now().driver.state, DriverState::kStarting);
  EXPECT_THAT(now().driver.reason, HasSubstr("The driver has not answered since "));
  EXPECT_EQ(now().unmanaged.size(), 2U);
  control_.Set("");
  EXPECT_TRUE(WaitForReady());
}

}  // namespace
}  // namespace kgpu::inventory
