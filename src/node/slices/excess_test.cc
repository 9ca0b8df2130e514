#include "src/node/slices/excess.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/node/pools/test_node.h"

namespace kgpu::slices {
namespace {

using pools::TestGpuName;
using pools::TestMigName;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

class ExcessTest : public ::testing::Test {
 protected:
  ExcessTest() : snapshot_(pools::TestNode(2)) {
    for (device::Gpu& gpu : snapshot_.gpus) {
      gpu.usable_memory = GibiBytes(79);
      samples_.gpus.emplace_back().uuid = gpu.uuid;
    }
    Configure("pools:\n- devices: all\n  share: {by: memory, size: 20Gi, onExcess: kill}\n");
  }
  void Configure(std::string_view config) {
    assignment_ = pools::AssignDevices(snapshot_, pools::TestConfig(config));
  }
  static pods::Container Container(std::string_view pod, std::string_view container = "c") {
    return {.pod_namespace = "n", .pod = std::string(pod), .container = std::string(container)};
  }
  void Hold(std::string_view pod, const std::string& slot, std::string_view container = "c") {
    pods_.devices.push_back(
        {.resource = "nvidia.com/gpu-20gi", .device_id = slot, .user = Container(pod, container)});
  }
  device::ProcessSample& Run(size_t gpu, uint32_t pid, const pods::Container& container,
                             double gibi) {
    pods_.processes[pid] = container;
    device::ProcessSample& process = samples_.gpus.at(gpu).processes.emplace_back();
    process.pid = pid;
    process.memory = Bytes{static_cast<uint64_t>(gibi * (1 << 30))};
    return process;
  }
  std::vector<SliceUse> Uses() const {
    return SliceUsesOf({.assignment = assignment_,
                        .held = held_,
                        .snapshot = snapshot_,
                        .samples = samples_,
                        .pods = pods_});
  }

  device::Snapshot snapshot_;
  pools::Assignment assignment_;
  pools::Assignment held_;
  device::SampleSet samples_;
  pods::PodMap pods_;
};

TEST_F(ExcessTest, AllProcessesOfAContainerCountTogether) {
  Hold("a", TestGpuName(0) + "::0");
  Hold("a", TestGpuName(0) + "::1");
  Hold("b", TestGpuName(0) + "::2");
  Run(0, 10, Container("a"), 15);
  Run(0, 11, Container("a"), 16);
  Run(0, 12, Container("b"), 1);
  Run(0, 13, Container("elsewhere"), 30);
  Run(1, 14, Container("a"), 50);  // a GPU of which it has nothing
  const std::vector<SliceUse> uses = Uses();
  ASSERT_EQ(uses.size(), 2U);
  EXPECT_EQ(uses[0].user.pod, "a");
  EXPECT_EQ(uses[0].limit, GibiBytes(40));
  EXPECT_EQ(uses[0].used, GibiBytes(31));
  EXPECT_THAT(uses[0].processes, ElementsAre(10, 11));
  EXPECT_EQ(uses[0].on_excess, sharing::OnExcess::kKill);
  EXPECT_FALSE(IsExcess(uses[0]));
  EXPECT_EQ(uses[1].used, GibiBytes(1));
}

TEST_F(ExcessTest, SharesOfTheTimeAddUpAsTheirUseDoes) {
  Configure("pools:\n- devices: all\n  share: {by: memory, size: 20Gi, compute: 30}\n");
  Hold("a", TestGpuName(0) + "::0");
  Hold("a", TestGpuName(0) + "::1");
  Hold("b", TestGpuName(0) + "::2");
  Run(0, 10, Container("a"), 1).sm = 20;
  Run(0, 11, Container("a"), 1).sm = 25;
  Run(0, 12, Container("b"), 1).sm = 10;
  std::vector<SliceUse> uses = Uses();
  ASSERT_EQ(uses.size(), 2U);
  EXPECT_EQ(uses[0].compute, 60U);
  EXPECT_EQ(uses[0].time, 45);
  EXPECT_THAT(uses[0].slots, ElementsAre(TestGpuName(0) + "::0", TestGpuName(0) + "::1"));
  // Where the driver does not say it of one, nobody knows the sum.
  Run(0, 13, Container("b"), 1);
  uses = Uses();
  EXPECT_EQ(uses[1].compute, 30U);
  EXPECT_EQ(uses[1].time, std::nullopt);
}

TEST_F(ExcessTest, MigDevicesAreDevicesOfTheirOwn) {
  pools::AddTestMig(snapshot_, 0, {"3g.40gb", "3g.40gb"});
  for (device::MigDevice& mig : snapshot_.gpus[0].mig_devices) {
    mig.memory = GibiBytes(39);
    mig.gpu_instance = mig.index + 1;
  }
  Configure("pools:\n- devices: {mig: 3g.40gb}\n  share: {by: memory, size: 10Gi}\n");
  Hold("a", TestMigName(0, 1) + "::0");
  Run(0, 10, Container("a"), 12).gpu_instance = 2;
  Run(0, 11, Container("a"), 12).gpu_instance = 1;
  const std::vector<SliceUse> uses = Uses();
  ASSERT_EQ(uses.size(), 1U);
  EXPECT_EQ(uses[0].used, GibiBytes(12));
  EXPECT_TRUE(IsExcess(uses[0]));
}

TEST_F(ExcessTest, AProcessOfAPodCountsForItsOnlyContainerWithTheDevice) {
  Hold("a", TestGpuName(0) + "::0");
  Run(0, 10, Container("a", ""), 5);
  ASSERT_EQ(Uses().size(), 1U);
  EXPECT_EQ(Uses()[0].used, GibiBytes(5));
  Hold("a", TestGpuName(0) + "::1", "sidecar");
  for (const SliceUse& use : Uses()) {
    EXPECT_EQ(use.used, Bytes{}) << "nobody knows which of the two it is";
  }
}

TEST_F(ExcessTest, SlotsOfADeviceThatWaitsToChangeStillHaveTheirLimits) {
  Hold("a", TestGpuName(0) + "::0");
  Run(0, 10, Container("a"), 30);
  held_ = std::move(assignment_);
  Configure("pools:\n- devices: {index: 1}\n");
  ASSERT_EQ(Uses().size(), 1U);
  EXPECT_TRUE(IsExcess(Uses()[0]));
}

TEST_F(ExcessTest, WholeGpusHaveNoLimit) {
  Configure("pools:\n- devices: all\n");
  Hold("a", TestGpuName(0));
  Run(0, 10, Container("a"), 79);
  EXPECT_THAT(Uses(), IsEmpty());
}

TEST_F(ExcessTest, WhatTheDriverNeedsForItselfIsNoExcess) {
  SliceUse use{.limit = GibiBytes(20), .used = GibiBytes(20)};
  EXPECT_FALSE(IsExcess(use));
  use.used.count += MebiBytes(640).count;
  EXPECT_FALSE(IsExcess(use));
  use.used.count += 1;
  EXPECT_TRUE(IsExcess(use));
  use = {.limit = GibiBytes(1), .used = MebiBytes(1'024 + 128)};
  EXPECT_FALSE(IsExcess(use));
}

// A container chooses how many processes it has.
TEST_F(ExcessTest, ContextsOfManyProcessesAreNoRoomForTheirMemory) {
  SliceUse use{.limit = GibiBytes(20), .processes = {1}, .context = MebiBytes(320)};
  const auto highest = [&use] {
    use.used = use.limit;
    while (!IsExcess(use)) {
      use.used.count += MebiBytes(1).count;
    }
    return use.used.mebi() - 1;
  };
  EXPECT_EQ(highest(), 20'480U + 640 + 320);
  use.processes.assign(4, 1);
  EXPECT_EQ(highest(), 20'480U + 640 + 4 * 320);
  for (const size_t count : {8, 60, 113, 100'000}) {
    use.processes.assign(count, 1);
    EXPECT_EQ(highest(), 20'480U + 640 + 2'560) << count;
  }
  use.used = MebiBytes(27'480);  // 60 processes
  EXPECT_TRUE(IsExcess(use));
  // Contexts that are not counted inside cost as much; slices smaller than one have an eighth.
  use.context = Bytes{};
  use.processes.assign(2, 1);
  EXPECT_EQ(highest(), 20'480U + 640 + 2 * 320);
  use.context = Bytes{UINT64_MAX};
  EXPECT_EQ(highest(), 20'480U + 640 + 2'560);
  use.limit = MebiBytes(1'024);
  EXPECT_EQ(highest(), 1'024U + 128 + 128);
}

TEST_F(ExcessTest, ContextsAreAsConfigured) {
  Configure("pools:\n- devices: all\n  share: {by: memory, size: 20Gi, context: 500Mi}\n");
  Hold("a", TestGpuName(0) + "::0");
  ASSERT_EQ(Uses().size(), 1U);
  EXPECT_EQ(Uses()[0].context, MebiBytes(500));
}

constexpr std::chrono::seconds kRound{15};

TEST_F(ExcessTest, ARoundIsNoShorterHoweverOftenTheAgentLooks) {
  ExcessMonitor monitor;
  const SliceUse bad{
      .user = Container("a"), .device_uuid = "g", .limit = GibiBytes(1), .used = GibiBytes(2)};
  unsigned new_rounds = 0;
  for (SteadyTime now{}; now < SteadyTime(std::chrono::seconds(60));
       now += std::chrono::seconds(1)) {
    new_rounds += monitor.Update({bad}, now, kRound).at(0).is_new_round ? 1 : 0;
  }
  EXPECT_EQ(new_rounds, 5U) << "each after three quarters of the usual time at the earliest";
  EXPECT_EQ(monitor.Update({bad}, SteadyTime(std::chrono::seconds(60)), kRound).at(0).rounds, 6U);
}

TEST_F(ExcessTest, RoundsAreCountedWhileItGoesOn) {
  ExcessMonitor monitor;
  SteadyTime now{std::chrono::seconds(7)};
  const SliceUse good{.user = Container("a"), .device_uuid = "g", .limit = GibiBytes(1)};
  SliceUse bad = good;
  bad.used = GibiBytes(2);
  for (unsigned round = 1; round <= 3; ++round) {
    const auto found = monitor.Update({bad}, now, kRound);
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(found[0].rounds, round);
    EXPECT_EQ(found[0].since, SteadyTime(std::chrono::seconds(7)));
    now += std::chrono::seconds(15);
  }
  EXPECT_THAT(monitor.Update({good}, now, kRound), IsEmpty());
  EXPECT_EQ(monitor.Update({bad}, now, kRound).at(0).rounds, 1U);
  SliceUse next = bad;
  next.user.pod_uid = "of a pod with the same name";
  EXPECT_EQ(monitor.Update({next}, now, kRound).at(0).rounds, 1U);
  EXPECT_THAT(monitor.Update({}, now, kRound), IsEmpty());
  EXPECT_EQ(monitor.Update({bad}, now, kRound).at(0).rounds, 1U);
}

}  // namespace
}  // namespace kgpu::slices
