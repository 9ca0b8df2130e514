#include "src/agent/part_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "src/agent/test_state.h"
#include "src/gpu/health/journal.h"
#include "src/platform/base/event_loop.h"
#include "testing/status_matchers.h"
#include "testing/temp_dir.h"

namespace kgpu::agent {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

// A run folder, a state folder and one boot.
class RecallTest : public ::testing::Test {
 protected:
  void SetUp() override {
    dir_.WriteFile("boot_id", "b-1\n");
    dir_.MakeDir("run");
    options_.boot_id_file = dir_.At("boot_id");
    options_.run_dir = dir_.At("run");
    options_.state_dir = dir_.At("state");
  }

  device::GpuUuid gpu() const { return TestState().snapshot->gpus[0].uuid; }
  void KeepMemory() {
    dir_.WriteFile("run/agent-memory.json",
                   PrintMemory(KeyOf(options_, nullptr), TestState().assignment, {}));
  }
  void Journal(health::HealthEventKind kind, WallTime when) {
    health::HealthEvent event{.kind = kind, .when = when, .gpu = gpu(), .rule = "Xid79"};
    event.is_unhealthy = true;
    const std::vector<health::JournalEntry> entries = {health::EntryOf(event)};
    ASSERT_OK(health::Journal(options_.state_dir, {}).Append(entries));
  }
  void JournalBoot() {
    const std::vector<health::JournalEntry> entries = {{.when = {}, .event = {}, .boot_id = "b-1"}};
    ASSERT_OK(health::Journal(options_.state_dir, {}).Append(entries));
  }
  Remembered Recalled() { return Recall(options_, nullptr, *disk_); }

  TempDir dir_;
  AgentOptions options_;
  std::unique_ptr<EpollLoop> loop_ = *EpollLoop::Create();
  std::unique_ptr<sys::DiskWorker> disk_ = std::make_unique<sys::DiskWorker>(*loop_);
  const WallTime later_ = std::chrono::system_clock::now() + std::chrono::hours(1);
};

TEST_F(RecallTest, NothingIsKnownOfAFirstStart) {
  const Remembered remembered = Recalled();
  EXPECT_THAT(remembered.faults.open, IsEmpty());
  EXPECT_THAT(remembered.state.assignment.resources, IsEmpty());
}

// Two GPUs in 16,384 time slices each, say.
TEST_F(RecallTest, AsManySlotsAsTheKubeletTakesAreRemembered) {
  pools::Assignment assignment = TestState().assignment;
  std::vector<pools::Slot>& slots = assignment.resources.at(0).slots;
  slots.resize(pools::kMaxSlots, slots.at(0));
  for (size_t i = 0; i < slots.size(); ++i) {
    slots[i].id = fmt::format("{}::{}", slots[i].device_uuid, i);
  }
  dir_.WriteFile("run/agent-memory.json", PrintMemory(KeyOf(options_, nullptr), assignment, {}));
  const Remembered remembered = Recalled();
  ASSERT_THAT(remembered.state.assignment.resources, SizeIs(assignment.resources.size()));
  EXPECT_THAT(remembered.state.assignment.resources[0].slots, SizeIs(pools::kMaxSlots));
}

TEST_F(RecallTest, WithoutAMemoryTheJournalTellsTheFaults) {
  JournalBoot();
  Journal(health::HealthEventKind::kRaised, later_);
  const Remembered remembered = Recalled();
  ASSERT_THAT(remembered.faults.open, SizeIs(1));
  EXPECT_EQ(remembered.faults.open[0].rule, "Xid79");
  EXPECT_EQ(remembered.faults.open[0].scope.gpu, gpu());
}

TEST_F(RecallTest, AFaultThatTheMemoryHasNoRoomForIsNotForgotten) {
  KeepMemory();
  JournalBoot();
  Journal(health::HealthEventKind::kRaised, later_);
  const Remembered remembered = Recalled();
  ASSERT_THAT(remembered.faults.open, SizeIs(1));
  EXPECT_EQ(remembered.faults.open[0].rule, "Xid79");
}

TEST_F(RecallTest, WhatTheMemoryWasWrittenAfterIsInIt) {
  JournalBoot();
  Journal(health::HealthEventKind::kRaised, WallTime{} + std::chrono::hours(1));
  KeepMemory();
  EXPECT_THAT(Recalled().faults.open, IsEmpty());
}

TEST_F(RecallTest, AFaultThatWasClearedIsOver) {
  JournalBoot();
  Journal(health::HealthEventKind::kRaised, later_);
  Journal(health::HealthEventKind::kCleared, later_ + std::chrono::minutes(1));
  EXPECT_THAT(Recalled().faults.open, IsEmpty());
}

// As an earlier version wrote it: an upgrade forgets neither devices nor faults.
TEST_F(RecallTest, ReadsTheFileOfAnEarlierVersion) {
  dir_.WriteFile("run/agent-memory.json", R"({"version":2,"bootId":"b-1","config":"","resources":[
    {"resource":"nvidia.com/gpu","slots":[
      {"id":"GPU-00000000-0000-0000-0000-000000000000::1",
       "device":"GPU-00000000-0000-0000-0000-000000000000",
       "gpu":"GPU-00000000-0000-0000-0000-000000000000",
       "replica":1,"healthy":true,"numa":0,"memoryMiB":20480},
      {"id":"GPU-00000001-0000-0000-0000-000000000000",
       "device":"GPU-00000001-0000-0000-0000-000000000000",
       "gpu":"GPU-00000001-0000-0000-0000-000000000000",
       "replica":0,"healthy":false,"reason":"Xid79","message":"Reset it."}],
     "onExcess":"kill","refusesSeveral":true}],
    "local":[{"resource":"kgpu.dev/local","slots":[]}],"shapes":[],"held":[],
    "faults":[{"gpu":"GPU-00000001-0000-0000-0000-000000000000","rule":"Xid79","message":"Reset it.",
               "detail":"","first":1700000000123,"last":1700000100456,"count":7,"held":true}],
    "kernelLogPosition":4711})");
  const Remembered remembered = Recalled();
  const pools::Assignment& assignment = remembered.state.assignment;
  ASSERT_THAT(assignment.resources, SizeIs(1));
  ASSERT_THAT(assignment.resources[0].slots, SizeIs(2));
  EXPECT_EQ(assignment.resources[0].slots[0].memory, GibiBytes(20));
  EXPECT_TRUE(assignment.resources[0].slots[0].health.is_healthy);
  EXPECT_EQ(assignment.resources[0].slots[1].health.reason, "Xid79");
  EXPECT_EQ(assignment.resources[0].share.on_excess, sharing::OnExcess::kKill);
  EXPECT_EQ(assignment.local.at(0).name, "kgpu.dev/local");
  ASSERT_THAT(remembered.faults.open, SizeIs(1));
  EXPECT_TRUE(remembered.faults.open[0].is_held);
  EXPECT_EQ(remembered.faults.kernel_log_position, 4711U);
}

TEST_F(RecallTest, AJournalThatCannotBeReadKeepsNobodyFromStarting) {
  dir_.MakeDir("state/health.journal");
  KeepMemory();
  EXPECT_THAT(Recalled().faults.open, IsEmpty());
}

TEST(ClusterNodeOptionsTest, AKubeconfigIsRelativeToTheWorkingFolder) {
  const auto root = sys::Root::Open("/");
  ASSERT_OK(root);
  EXPECT_EQ(ClusterNodeOptionsOf(AgentOptions(), *root).sources.working_folder,
            std::filesystem::current_path().string());
}

TEST(MpsSharingOptionsTest, DaemonsAreInTheRunFolderByTheEnginesPath) {
  TempDir dir;
  dir.MakeDir("proc");
  const auto root = host::OpenDriverRoot(dir.path(), "", "");
  ASSERT_OK(root);
  const auto own = sys::Root::Open("/");
  ASSERT_OK(own);
  AgentOptions options;
  options.run_dir = dir.At("run/kgpu");
  const mps::MpsSharingOptions mps = MpsSharingOptionsOf(options, *root, *own);
  EXPECT_EQ(mps.folder, dir.At("run/kgpu/mps"));
  EXPECT_EQ(mps.paths.folder, "/run/kgpu/mps");
  EXPECT_EQ(mps.paths.shared_memory, "/dev/shm") << "the daemons' own";
  EXPECT_EQ(mps.own_shared_memory, "");
  EXPECT_EQ(mps.cgroup, "") << "this is a folder, no container's view of its host";
  EXPECT_EQ(mps.shared_memory_problem, "");
}

TEST(MpsSharingOptionsTest, TheHostsSharedMemoryIsNotForContainers) {
  TempDir dir;
  dir.MakeDir("dev/shm");
  const auto root = host::OpenDriverRoot(dir.path(), "", "");
  ASSERT_OK(root);
  const auto own = sys::Root::Open("/");
  ASSERT_OK(own);
  EXPECT_THAT(MpsSharingOptionsOf(AgentOptions(), *root, *own).shared_memory_problem,
              ::testing::HasSubstr("/dev/shm/kgpu-mps"));
  const std::string host = "30 23 0:26 / /dev/shm rw,nosuid,nodev shared:4 - tmpfs tmpfs rw\n";
  const std::string ours =
      "99 30 0:26 /kgpu-mps /dev/shm rw,nosuid,nodev shared:4 - tmpfs tmpfs rw\n";
  EXPECT_FALSE(OwnsSharedMemory(host));
  EXPECT_FALSE(OwnsSharedMemory(""));
  EXPECT_TRUE(OwnsSharedMemory(host + ours));
  EXPECT_FALSE(OwnsSharedMemory(ours + host)) << "what is mounted last counts";
  EXPECT_FALSE(OwnsSharedMemory("99 30 0:26 /kgpu-mps /mnt rw - tmpfs tmpfs rw\n"));
}

TEST(MpsSharingOptionsTest, DaemonsAreInACgroupOfTheirOwnAsAServiceToo) {
  const auto root = host::OpenDriverRoot("/", "", "");
  ASSERT_OK(root);
  const auto own = sys::Root::Open("/");
  ASSERT_OK(own);
  EXPECT_EQ(MpsSharingOptionsOf(AgentOptions(), *root, *own).cgroup, "/sys/fs/cgroup/kgpu-mps");
}

}  // namespace
}  // namespace kgpu::agent
