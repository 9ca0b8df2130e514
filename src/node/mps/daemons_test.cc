#include "src/node/mps/daemons.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>
#include <map>

#include "src/node/mps/test_daemon.h"
#include "src/node/pools/test_node.h"
#include "testing/status_matchers.h"

namespace kgpu::mps {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

constexpr Settings kHalf{.threads = 50, .memory = GibiBytes(8)};

class MpsDaemonsTest : public DaemonFixture {
 protected:
  MpsDaemonsTest() { Restart(); }

  void Restart() {
    daemons_.reset();
    daemons_ = std::make_unique<Daemons>(
        loop_,
        Daemons::Options{
            .folder = dir_.path(), .shared_memory = shared_memory_, .find_program = TestProgram},
        Daemons::Actions{
            .obstacle =
                [this](const std::string& device, SteadyTime) {
                  const auto user = users_.find(device);
                  return user == users_.end() ? "" : user->second;
                },
            .look_at_pods = [this] { ++looks_; },
            .changed = [this] { ++changes_; },
            .happened = [this](const std::string& device,
                               DaemonEvent event) { events_.emplace_back(device, event); }});
  }
  // The health that a slot of the device would have.
  device::Health HealthOf(const std::string& device) const {
    pools::Assignment assignment;
    pools::Slot& slot = assignment.resources.emplace_back().slots.emplace_back();
    slot.device_uuid = device;
    slot.threads = 50;
    daemons_->UpdateHealth(assignment);
    return assignment.resources[0].slots[0].health;
  }
  bool RunUntilHealthy(const std::string& device) {
    return RunLoopUntil([&] { return HealthOf(device).is_healthy; });
  }
  bool RunUntilUnhealthy(const std::string& device) {
    return RunLoopUntil([&] { return !HealthOf(device).is_healthy; });
  }

  // Folders with other names are not taken for those of devices.
  const std::string a_ = pools::TestGpuName(0);
  const std::string b_ = pools::TestGpuName(1);
  std::string shared_memory_;
  std::map<std::string, std::string> users_;
  std::vector<std::pair<std::string, DaemonEvent>> events_;
  int looks_ = 0;
  int changes_ = 0;
  std::unique_ptr<Daemons> daemons_;
};

TEST_F(MpsDaemonsTest, ADeviceIsHealthyOnceItsDaemonAnswers) {
  daemons_->Set({{a_, kHalf}, {b_, kHalf}});
  EXPECT_FALSE(HealthOf(a_).is_healthy);
  EXPECT_EQ(HealthOf(a_).reason, "MpsNotReady");
  EXPECT_THAT(daemons_->problems(),
              ElementsAre(HasSubstr(a_ + ": its MPS daemon is starting"), HasSubstr(b_ + ": its")));
  EXPECT_TRUE(RunUntilHealthy(a_));
  EXPECT_TRUE(RunUntilHealthy(b_));
  EXPECT_TRUE(HealthOf("GPU-of another pool").is_healthy);
  EXPECT_THAT(daemons_->problems(), IsEmpty());
  loop_.Advance(std::chrono::milliseconds(1));
  EXPECT_GT(changes_, 0);
}

TEST_F(MpsDaemonsTest, ADeadDaemonConcernsItsDeviceAlone) {
  daemons_->Set({{a_, kHalf}, {b_, kHalf}});
  ASSERT_TRUE(RunUntilHealthy(a_));
  ASSERT_TRUE(RunUntilHealthy(b_));
  ASSERT_EQ(kill(PidOf(a_), SIGKILL), 0);
  ASSERT_TRUE(RunUntilUnhealthy(a_));
  EXPECT_TRUE(HealthOf(b_).is_healthy);
  EXPECT_THAT(events_, ElementsAre(Pair(a_, DaemonEvent::kEnded)));
  EXPECT_TRUE(RunUntilHealthy(a_));
}

TEST_F(MpsDaemonsTest, ADeviceOfNoPoolKeepsItsDaemonWhileItIsInUse) {
  daemons_->Set({{a_, kHalf}});
  ASSERT_TRUE(RunUntilHealthy(a_));
  const auto process = LastingProcess::Find(PidOf(a_));
  ASSERT_OK(process);
  users_[a_] = "pod x/y holds it";
  daemons_->Set({});
  RunLoopFor(std::chrono::seconds(65));
  EXPECT_GE(looks_, 10 + 5) << "each second, and then every ten";
  EXPECT_LE(looks_, 10 + 6);
  EXPECT_EQ(PidOf(a_), process->pid());
  users_.clear();
  ASSERT_TRUE(RunLoopUntil([&] { return PidOf(a_) == 0; }));
  EXPECT_TRUE(WaitForEnd(*process));
  EXPECT_THAT(events_, IsEmpty());
  // At rest.
  ASSERT_TRUE(RunLoopUntil([&] { return loop_.timers() == 0; }));
}

TEST_F(MpsDaemonsTest, AReturnOfThePoolEndsTheWait) {
  daemons_->Set({{a_, kHalf}});
  ASSERT_TRUE(RunUntilHealthy(a_));
  const pid_t pid = PidOf(a_);
  users_[a_] = "pod x/y holds it";
  daemons_->Set({});
  RunLoopFor(std::chrono::seconds(11));
  daemons_->Set({{a_, kHalf}});
  users_.clear();
  RunLoopFor(std::chrono::seconds(11));
  EXPECT_TRUE(HealthOf(a_).is_healthy);
  EXPECT_EQ(PidOf(a_), pid);
}

TEST_F(MpsDaemonsTest, OtherSettingsGetAnotherDaemon) {
  daemons_->Set({{a_, kHalf}});
  ASSERT_TRUE(RunUntilHealthy(a_));
  const pid_t first = PidOf(a_);
  daemons_->Set({{a_, {.threads = 25, .memory = GibiBytes(4)}}});
  ASSERT_TRUE(RunLoopUntil(
      [&] { return PidOf(a_) != first && PidOf(a_) != 0 && HealthOf(a_).is_healthy; }));
  EXPECT_EQ(AskDaemon(a_, "get_default_active_thread_percentage\n"), "25.0\n");
}

TEST_F(MpsDaemonsTest, OtherSettingsWaitUntilNobodyUsesTheDevice) {
  daemons_->Set({{a_, kHalf}});
  ASSERT_TRUE(RunUntilHealthy(a_));
  const pid_t first = PidOf(a_);
  users_[a_] = "pod x/y holds it";
  constexpr Settings kOther{.threads = 100, .memory = GibiBytes(16)};
  daemons_->Set({{a_, kOther}});
  EXPECT_EQ(HealthOf(a_).reason, "MpsNotReady") << "no new pods meanwhile";
  EXPECT_THAT(daemons_->problems(), ElementsAre(HasSubstr("once nobody uses it")));
  RunLoopFor(std::chrono::seconds(25));
  EXPECT_EQ(PidOf(a_), first);
  EXPECT_GT(looks_, 0);
  // The same after a restart.
  Restart();
  daemons_->Set({{a_, kOther}});
  RunLoopFor(std::chrono::seconds(25));
  EXPECT_EQ(PidOf(a_), first);
  users_.clear();
  ASSERT_TRUE(RunUntilHealthy(a_));
  EXPECT_NE(PidOf(a_), first);
  EXPECT_EQ(AskDaemon(a_, "get_default_active_thread_percentage\n"), "100.0\n");
  EXPECT_THAT(events_, IsEmpty());
}

TEST_F(MpsDaemonsTest, SettingsThatComeBackEndTheWait) {
  daemons_->Set({{a_, kHalf}});
  ASSERT_TRUE(RunUntilHealthy(a_));
  const pid_t first = PidOf(a_);
  users_[a_] = "pod x/y holds it";
  daemons_->Set({{a_, {.threads = 100, .memory = GibiBytes(16)}}});
  RunLoopFor(std::chrono::seconds(2));
  daemons_->Set({{a_, kHalf}});
  users_.clear();
  RunLoopFor(std::chrono::seconds(11));
  EXPECT_TRUE(HealthOf(a_).is_healthy);
  EXPECT_EQ(PidOf(a_), first);
}

TEST_F(MpsDaemonsTest, ARestartOfTheAgentIsNoFault) {
  daemons_->Set({{a_, kHalf}});
  ASSERT_TRUE(RunUntilHealthy(a_));
  const pid_t first = PidOf(a_);
  Restart();
  daemons_->Set({{a_, kHalf}});
  EXPECT_TRUE(HealthOf(a_).is_healthy) << "believed until it is known";
  loop_.Advance(std::chrono::milliseconds(1));
  ASSERT_TRUE(RunLoopUntil([&] { return daemons_->problems().empty(); }));
  EXPECT_EQ(PidOf(a_), first);
}

TEST_F(MpsDaemonsTest, WhatAnEarlierAgentLeftEndsOnceNobodyUsesIt) {
  const std::string device = pools::TestGpuName(0);
  daemons_->Set({{device, kHalf}});
  ASSERT_TRUE(RunUntilHealthy(device));
  Restart();
  users_[device] = "it is not known yet which pods hold it";
  daemons_->Set({});
  RunLoopFor(std::chrono::seconds(11));
  EXPECT_NE(PidOf(device), 0);
  users_.clear();
  EXPECT_TRUE(RunLoopUntil([&] { return PidOf(device) == 0; }));
}

TEST_F(MpsDaemonsTest, ServersOfADaemonThatNobodyWatchedEndWithoutAPool) {
  daemons_->Set({{a_, kHalf}});
  ASSERT_TRUE(RunUntilHealthy(a_));
  const TestClient client(dir_.At(a_));
  ASSERT_EQ(client.ReadLine(), "ok 50.0 8192");
  const auto server = LastingProcess::Find(std::stoi(AskDaemon(a_, "get_server_list\n")));
  const auto daemon = LastingProcess::Find(PidOf(a_));
  ASSERT_OK(server);
  ASSERT_OK(daemon);
  daemons_.reset();
  ASSERT_OK(daemon->Kill());
  ASSERT_TRUE(WaitForEnd(*daemon));
  users_[a_] = "pod x/y holds it";
  Restart();
  daemons_->Set({});
  EXPECT_TRUE(WaitForEnd(*server));
  Restart();
  daemons_->Set({});
  EXPECT_FALSE(std::filesystem::exists(dir_.At(a_ + "/record")));
}

// What containers can write to is not looked at, even if it names a daemon.
TEST_F(MpsDaemonsTest, ARecordThatIsNotOursIsNoLeftover) {
  daemons_->Set({{"GPU-a", kHalf}});
  ASSERT_TRUE(RunUntilHealthy("GPU-a"));
  const pid_t pid = PidOf("GPU-a");
  const std::string open_to_all = pools::TestGpuName(1);
  for (const std::string& folder : {std::string("shm"), open_to_all}) {
    dir_.WriteFile(folder + "/record", dir_.ReadFile("GPU-a/record"));
  }
  std::filesystem::permissions(dir_.At(open_to_all), std::filesystem::perms::all);
  Restart();
  daemons_->Set({});
  RunLoopFor(std::chrono::seconds(15));
  EXPECT_EQ(PidOf("GPU-a"), pid);
  EXPECT_EQ(AskDaemon("GPU-a", "get_default_active_thread_percentage\n"), "50.0\n");
}

TEST_F(MpsDaemonsTest, SharedMemoryIsEmptiedWhenNobodyNeedsIt) {
  shared_memory_ = dir_.At("shm");
  dir_.WriteFile("shm/segment", "x");
  Restart();
  daemons_->Set({{a_, kHalf}});
  ASSERT_TRUE(RunUntilHealthy(a_));
  EXPECT_TRUE(std::filesystem::exists(dir_.At("shm/segment")));
  daemons_->Set({});
  EXPECT_TRUE(RunLoopUntil([&] { return !std::filesystem::exists(dir_.At("shm/segment")); }));
  EXPECT_EQ(PidOf(a_), 0);
  EXPECT_TRUE(std::filesystem::exists(dir_.At("shm")));
}

TEST_F(MpsDaemonsTest, MoreSharedMemoryThanOneLookRemovesIsEmptiedToo) {
  shared_memory_ = dir_.At("shm");
  for (int i = 0; i < 10'050; ++i) {
    dir_.WriteFile(fmt::format("shm/{}", i), "");
  }
  Restart();
  daemons_->Set({});
  loop_.Advance(std::chrono::milliseconds(1));
  EXPECT_FALSE(std::filesystem::is_empty(dir_.At("shm"))) << "the loop goes on in between";
  loop_.Advance(std::chrono::seconds(1));
  EXPECT_TRUE(std::filesystem::is_empty(dir_.At("shm")));
  EXPECT_EQ(loop_.timers(), 0U);
}

TEST(MpsSettingsTest, SlotsOfOneContainerAddUp) {
  device::Snapshot snapshot = pools::TestNode(2);
  for (device::Gpu& gpu : snapshot.gpus) {
    gpu.usable_memory = GibiBytes(80);
  }
  const pools::Assignment assignment = pools::AssignDevices(
      snapshot, pools::TestConfig("pools:\n- devices: {index: 0}\n  share: {by: mps, layout: "
                                  "[40Gi, 20Gi, 20Gi], multiple: allow}\n- resource: "
                                  "nvidia.com/half\n  devices: all\n  share: {by: mps, replicas: "
                                  "2, threads: 80, multiple: allow}\n"));
  EXPECT_THAT(
      SettingsOf(assignment, false),
      ElementsAre(Pair(pools::TestGpuName(0), Settings{.threads = 50, .memory = GibiBytes(40)}),
                  Pair(pools::TestGpuName(1), Settings{.threads = 100, .memory = GibiBytes(80)})));
}

// An idle server would be a user of the GPU for as long as it is wanted.
TEST(MpsSettingsTest, AGpuWhoseLayoutIsToChangeHasNoDaemon) {
  device::Snapshot snapshot = pools::TestNode(2);
  for (device::Gpu& gpu : snapshot.gpus) {
    gpu.usable_memory = GibiBytes(80);
  }
  pools::Assignment assignment = pools::AssignDevices(
      snapshot, pools::TestConfig("pools:\n- devices: all\n  share: {by: mps, replicas: 2}\n"));
  for (pools::Slot& slot : assignment.resources.front().slots) {
    if (slot.device_uuid == pools::TestGpuName(0)) {
      slot.health = {
          .is_healthy = false, .reason = std::string(pools::kMigChangeReason), .message = "waits"};
    }
  }
  EXPECT_THAT(SettingsOf(assignment, false), ElementsAre(Pair(pools::TestGpuName(1), testing::_)));
}

TEST(MpsSettingsTest, ADeviceGetsTheLimitsOfItsLargestSlot) {
  device::Snapshot snapshot = pools::TestNode(2);
  for (device::Gpu& gpu : snapshot.gpus) {
    gpu.usable_memory = GibiBytes(80);
  }
  const pools::Assignment assignment = pools::AssignDevices(
      snapshot, pools::TestConfig("pools:\n- devices: {index: 0}\n  share: {by: mps, layout: "
                                  "[40Gi, 20Gi]}\n- devices: all\n  share: {by: memory, size: "
                                  "20Gi}\n"));
  EXPECT_THAT(SettingsOf(assignment, true),
              ElementsAre(Pair(
                  pools::TestGpuName(0),
                  Settings{.threads = 50, .memory = GibiBytes(40), .serves_all_users = true})));
}

}  // namespace
}  // namespace kgpu::mps
