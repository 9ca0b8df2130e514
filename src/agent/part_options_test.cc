#include "src/agent/part_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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
  std::unique_ptr<DiskWorker> disk_ = std::make_unique<DiskWorker>(*loop_);
  const WallTime later_ = std::chrono::system_clock::now() + std::chrono::hours(1);
};

TEST_F(RecallTest, NothingIsKnownOfAFirstStart) {
  const Remembered remembered = Recalled();
  EXPECT_THAT(remembered.faults, IsEmpty());
  EXPECT_THAT(remembered.assignment.resources, IsEmpty());
}

TEST_F(RecallTest, WithoutAMemoryTheJournalTellsTheFaults) {
  JournalBoot();
  Journal(health::HealthEventKind::kRaised, later_);
  const Remembered remembered = Recalled();
  ASSERT_THAT(remembered.faults, SizeIs(1));
  EXPECT_EQ(remembered.faults[0].rule, "Xid79");
  EXPECT_EQ(remembered.faults[0].scope.gpu, gpu());
}

TEST_F(RecallTest, AFaultThatTheMemoryHasNoRoomForIsNotForgotten) {
  KeepMemory();
  JournalBoot();
  Journal(health::HealthEventKind::kRaised, later_);
  const Remembered remembered = Recalled();
  ASSERT_THAT(remembered.faults, SizeIs(1));
  EXPECT_EQ(remembered.faults[0].rule, "Xid79");
}

TEST_F(RecallTest, WhatTheMemoryWasWrittenAfterIsInIt) {
  JournalBoot();
  Journal(health::HealthEventKind::kRaised, WallTime{} + std::chrono::hours(1));
  KeepMemory();
  EXPECT_THAT(Recalled().faults, IsEmpty());
}

TEST_F(RecallTest, AFaultThatWasClearedIsOver) {
  JournalBoot();
  Journal(health::HealthEventKind::kRaised, later_);
  Journal(health::HealthEventKind::kCleared, later_ + std::chrono::minutes(1));
  EXPECT_THAT(Recalled().faults, IsEmpty());
}

TEST_F(RecallTest, AJournalThatCannotBeReadKeepsNobodyFromStarting) {
  dir_.MakeDir("state/health.journal");
  KeepMemory();
  EXPECT_THAT(Recalled().faults, IsEmpty());
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
  const MpsSharingOptions mps = MpsSharingOptionsOf(options, *root, *own);
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
