#include "src/node/mps/mps_sharing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <memory>
#include <utility>

#include "src/node/mps/test_daemon.h"
#include "src/node/part/test_effects.h"
#include "src/node/pools/test_node.h"
#include "testing/fake_loop.h"
#include "testing/status_matchers.h"
#include "testing/temp_dir.h"
#include "testing/test_host.h"

namespace kgpu::mps {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

pods::PodMap TwoPods() {
  pods::PodMap pods;
  for (const char* pod : {"a", "b"}) {
    for (const char* container : {"one", "two"}) {
      pods.devices.push_back({.resource = "nvidia.com/gpu",
                              .device_id = std::string("GPU-x::") + container,
                              .user = {.pod_namespace = "n", .pod = pod, .container = container}});
    }
  }
  pods.devices.push_back({.resource = "nvidia.com/gpu",
                          .device_id = "GPU-y::0",
                          .user = {.pod_namespace = "n", .pod = "c", .container = "one"}});
  return pods;
}

TEST(MpsEventsTest, TellTheNodeAndEachPodOfTheDevice) {
  const auto events = MpsEvents("GPU-x", mps::DaemonEvent::kEnded, TwoPods(), "node-1");
  ASSERT_THAT(events, SizeIs(3));
  EXPECT_EQ(events[0].regarding.kind, "Node");
  EXPECT_EQ(events[0].regarding.name, "node-1");
  EXPECT_EQ(events[1].regarding.name, "a");
  EXPECT_EQ(events[2].regarding.name, "b");
  for (const kube::Event& event : events) {
    EXPECT_TRUE(event.is_warning);
    EXPECT_EQ(event.reason, "MPSDaemonEnded");
    EXPECT_THAT(event.note, AllOf(HasSubstr("GPU-x"), HasSubstr("restart them")));
  }
}

TEST(MpsEventsTest, AFaultHasNoCulpritThatTheDriverNames) {
  const auto events = MpsEvents("GPU-y", mps::DaemonEvent::kFaulted, TwoPods(), "");
  ASSERT_THAT(events, SizeIs(1));
  EXPECT_EQ(events[0].regarding.name, "c");
  EXPECT_EQ(events[0].reason, "MPSFault");
  EXPECT_THAT(events[0].note, HasSubstr("the driver does not say which"));
  EXPECT_THAT(MpsEvents("GPU-z", mps::DaemonEvent::kHung, TwoPods(), ""), IsEmpty());
}

class MpsSharingTest : public ::testing::Test {
 protected:
  void Make(const MpsSharingOptions& options) {
    auto root = host::OpenDriverRoot(dir_.path(), "", "");
    ASSERT_OK(root);
    root_ = std::make_unique<host::DriverRoot>(*std::move(root));
    effects_.state.pod_list = {.has_no_kubelet = true};
    auto snapshot = std::make_shared<device::Snapshot>();
    snapshot->driver.state = device::DriverState::kReady;
    effects_.state.snapshot = std::move(snapshot);
    mps_ = std::make_unique<MpsSharing>(loop_, *root_, options, effects_);
    node::Draft draft;
    pools::Slot& slot = draft.fresh.resources.emplace_back().slots.emplace_back();
    slot.device_uuid = "GPU-a";
    slot.threads = 50;
    mps_->Assign(effects_.state, draft);
    loop_.Advance(std::chrono::milliseconds(1));
  }

  void SetPluginOwner(const std::string& owner) {
    effects_.state.plugin_owner = owner;
    mps_->Update(effects_.state);
  }

  TempDir dir_;
  FakeLoop loop_;
  node::TestEffects effects_;
  std::unique_ptr<host::DriverRoot> root_;
  std::unique_ptr<MpsSharing> mps_;
};

TEST_F(MpsSharingTest, RunsNoDaemonsBesideAnotherPlugin) {
  Make({.folder = dir_.At("mps")});
  EXPECT_THAT(mps_->problems(), SizeIs(1)) << "this host has no MPS";
  SetPluginOwner("another plugin");
  EXPECT_THAT(mps_->problems(), IsEmpty());
  loop_.Advance(std::chrono::seconds(5));
  EXPECT_EQ(loop_.timers(), 0U) << "nothing is tried";
  SetPluginOwner("");
  loop_.Advance(std::chrono::milliseconds(1));
  EXPECT_THAT(mps_->problems(), SizeIs(1));
}

// The part for MIG layouts marks its GPUs before: a daemon would count as their user.
TEST_F(MpsSharingTest, AGpuWhoseLayoutChangesNeedsNoDaemon) {
  Make({.folder = dir_.At("mps")});
  ASSERT_THAT(mps_->problems(), SizeIs(1)) << "this host has no MPS";
  node::Draft draft;
  pools::Slot& slot = draft.fresh.resources.emplace_back().slots.emplace_back();
  slot.device_uuid = "GPU-a";
  slot.threads = 50;
  slot.health = {
      .is_healthy = false, .reason = std::string(pools::kMigChangeReason), .message = "waits"};
  mps_->Assign(effects_.state, draft);
  EXPECT_THAT(mps_->problems(), IsEmpty());
}

TEST_F(MpsSharingTest, ADeviceOfAClaimHasADaemonWhileTheClaimLasts) {
  Make({.folder = dir_.At("mps")});
  EXPECT_THAT(mps_->HealthOf("GPU-b").message, HasSubstr("not started yet"));
  mps_->SetClaimed({{"GPU-b", {.threads = 40}}});
  loop_.Advance(std::chrono::milliseconds(1));
  EXPECT_THAT(mps_->problems(), SizeIs(2)) << "this host has no MPS";
  EXPECT_FALSE(mps_->HealthOf("GPU-b").is_healthy);
  mps_->SetClaimed({});
  loop_.Advance(std::chrono::milliseconds(1));
  EXPECT_THAT(mps_->problems(), SizeIs(1));
}

TEST_F(MpsSharingTest, ADeviceThatIsHeldBackKeepsItsDaemon) {
  Make({.folder = dir_.At("mps")});
  node::Draft draft;
  pools::Slot& slot = draft.held.resources.emplace_back().slots.emplace_back();
  slot.device_uuid = "GPU-a";
  slot.threads = 50;
  mps_->Assign(effects_.state, draft);
  EXPECT_THAT(mps_->problems(), SizeIs(1)) << "it is still tried";
}

TEST_F(MpsSharingTest, WithoutMemoryToShareThereIsNoDaemon) {
  Make({.folder = dir_.At("mps"), .shared_memory_problem = "no /dev/shm of its own"});
  EXPECT_THAT(mps_->problems(), ::testing::ElementsAre(HasSubstr("no /dev/shm of its own")));
}

// Pods would get the host's, even where a daemon of an earlier agent works.
TEST_F(MpsSharingTest, WithoutMemoryToShareNoSlotIsOffered) {
  Make({.folder = dir_.At("mps"), .shared_memory_problem = "no /dev/shm of its own"});
  pools::Assignment assignment;
  auto& slots = assignment.resources.emplace_back().slots;
  slots.resize(2);
  slots[0].device_uuid = "GPU-b";  // no daemon has a problem there
  slots[0].threads = 50;
  slots[1].device_uuid = "GPU-c";  // not shared by MPS
  mps_->MarkHealth(assignment);
  EXPECT_EQ(slots[0].health.reason, "MpsNotReady");
  EXPECT_THAT(slots[0].health.message, HasSubstr("no /dev/shm of its own"));
  EXPECT_TRUE(slots[1].health.is_healthy);
}

TEST_F(MpsSharingTest, ItsOwnSharedMemoryIsForAllContainers) {
  dir_.MakeDir("shm");
  const std::string shared = dir_.At("shm");
  ASSERT_EQ(chmod(shared.c_str(), 0700), 0);
  Make({.folder = dir_.At("mps"), .has_selinux = true, .own_shared_memory = shared});
  struct stat info = {};
  ASSERT_EQ(stat(shared.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 01777U);
  std::array<char, 256> label{};
  if (lgetxattr(shared.c_str(), "security.selinux", label.data(), label.size()) > 0) {
    EXPECT_STREQ(label.data(), "system_u:object_r:container_file_t:s0");
  } else {
    EXPECT_THAT(mps_->problems(), ::testing::ElementsAre(HasSubstr("container_file_t")));
  }
}

// Root in any container can give it away.
TEST_F(MpsSharingTest, SharedMemoryThatWasGivenAwayIsTakenBackAtEachStart) {
  if (geteuid() != 0) {
    GTEST_SKIP() << "only root can give a folder away";
  }
  dir_.MakeDir("shm");
  const std::string shared = dir_.At("shm");
  Make({.folder = dir_.At("mps"), .own_shared_memory = shared});
  for (int i = 0; i < 2; ++i) {
    ASSERT_EQ(chown(shared.c_str(), 65534, 65534), 0);
    ASSERT_EQ(chmod(shared.c_str(), 0700), 0);
    loop_.Advance(std::chrono::seconds(60));  // the next try: this host has no MPS
    struct stat info = {};
    ASSERT_EQ(stat(shared.c_str(), &info), 0);
    EXPECT_EQ(info.st_uid, geteuid()) << i;
    EXPECT_EQ(info.st_mode & 07777, 01777U) << i;
  }
}

TEST_F(MpsSharingTest, ALinkInItsPlaceIsNotFollowed) {
  dir_.MakeDir("other");
  ASSERT_EQ(chmod(dir_.At("other").c_str(), 0700), 0);
  dir_.Symlink(dir_.At("other"), "shm");
  Make({.folder = dir_.At("mps"), .own_shared_memory = dir_.At("shm")});
  EXPECT_THAT(mps_->problems(), ::testing::ElementsAre(HasSubstr("open")));
  struct stat info = {};
  ASSERT_EQ(stat(dir_.At("other").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0700U);
}

// With real daemons, and a kubelet that gives a device to the next pod at once.
class MpsReleaseTest : public DaemonFixture {
 protected:
  MpsReleaseTest() {
    host_.InstallRhel();
    host_.AddProgram("usr/bin/nvidia-cuda-mps-control");
    std::filesystem::copy_file(KGPU_SIM_MPS, host_.dir().At("usr/bin/nvidia-cuda-mps-control"),
                               std::filesystem::copy_options::overwrite_existing);
    root_ = std::make_unique<host::DriverRoot>(*host::OpenDriverRoot(host_.dir().path(), "", ""));
    auto snapshot = std::make_shared<device::Snapshot>();
    snapshot->driver.state = device::DriverState::kReady;
    effects_.state.snapshot = std::move(snapshot);
    effects_.state.pods = std::make_shared<const pods::PodMap>(
        pods::PodMap{.devices = {{.resource = "nvidia.com/gpu",
                                  .device_id = gpu_,
                                  .user = {.pod_namespace = "n", .pod = "next"}}}});
    mps_ = std::make_unique<MpsSharing>(loop_, *root_, MpsSharingOptions{.folder = dir_.path()},
                                        effects_);
  }
  ~MpsReleaseTest() override { mps_.reset(); }

  pools::Assignment With(unsigned threads) const {
    pools::Assignment assignment;
    pools::Slot& slot = assignment.resources.emplace_back().slots.emplace_back();
    slot.device_uuid = gpu_;
    slot.threads = threads;
    return assignment;
  }
  void Assign(node::Draft draft) { mps_->Assign(effects_.state, draft); }
  bool RunUntilDaemon(bool is_there) {
    return RunLoopUntil([&] {
      return is_there ? mps_->HealthOf(gpu_).is_healthy && PidOf(gpu_) != 0 : PidOf(gpu_) == 0;
    });
  }

  const std::string gpu_ = pools::TestGpuName(0);
  TestHost host_;
  node::TestEffects effects_;
  std::unique_ptr<host::DriverRoot> root_;
  std::unique_ptr<MpsSharing> mps_;
};

TEST_F(MpsReleaseTest, ADeviceThatChangesHasNoDaemonAlthoughItIsInUseAgain) {
  Assign({.fresh = With(50)});
  ASSERT_TRUE(RunUntilDaemon(true));
  Assign({.held = With(50)});
  RunLoopFor(std::chrono::seconds(5));
  EXPECT_NE(PidOf(gpu_), 0) << "its pods need it";
  Assign({.fresh = With(0)});
  EXPECT_TRUE(RunUntilDaemon(false));
}

TEST_F(MpsReleaseTest, ADeviceThatIsGoneKeepsItsDaemonForItsPods) {
  Assign({.fresh = With(50)});
  ASSERT_TRUE(RunUntilDaemon(true));
  Assign({.held = With(50)});
  Assign({});
  RunLoopFor(std::chrono::seconds(15));
  EXPECT_NE(PidOf(gpu_), 0);
}

TEST_F(MpsReleaseTest, ADeviceWhoseClaimHasEndedHasNoDaemonAlthoughItIsInUseAgain) {
  Assign({.fresh = With(0)});
  mps_->SetClaimed({{gpu_, {.threads = 40}}});
  ASSERT_TRUE(RunUntilDaemon(true));
  mps_->SetClaimed({});
  EXPECT_TRUE(RunUntilDaemon(false));
}

}  // namespace
}  // namespace kgpu::mps
