#include "src/node/pods/join.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "testing/status_matchers.h"
#include "testing/temp_dir.h"

namespace kgpu::pods {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::SizeIs;

constexpr char kJoinGpu[] = "GPU-00000000-0000-0000-0000-000000000001";
constexpr char kJoinMig[] = "MIG-00000000-0000-0000-0000-0000000000a1";
constexpr char kJoinResource[] = "nvidia.com/gpu";

Container JoinInMl(const std::string& pod, const std::string& uid = "",
                   const std::string& name = "main") {
  return {.pod_namespace = "ml", .pod = pod, .container = name, .pod_uid = uid};
}

cri::ContainerFacts Facts(const std::string& id, const std::string& pod, bool is_running = true,
                          const std::string& name = "main") {
  return {.id = id,
          .pod_namespace = "ml",
          .pod = pod,
          .pod_uid = "uid-" + pod,
          .container = name,
          .is_running = is_running};
}

SeenProcess In(uint32_t pid, const CgroupPlace& place) {
  return {.pid = pid, .devices = {kJoinGpu}, .places = std::vector<CgroupPlace>{place}};
}

class JoinTest : public ::testing::Test {
 protected:
  PodMap Joined() const { return Join({.uses = uses_, .index = index_, .processes = processes_}); }
  std::set<std::string> Unknown() const {
    return UnknownTo({.uses = uses_, .index = index_, .processes = processes_});
  }
  void Give(const std::string& id, const Container& user) {
    uses_.push_back({.resource = kJoinResource, .device_id = id, .user = user});
  }

  std::vector<DeviceUse> uses_;
  ContainerIndex index_;
  std::vector<SeenProcess> processes_;
};

TEST_F(JoinTest, TwoContainersOfOneGpuAreTwoOwners) {
  Give(std::string(kJoinGpu) + "::0", JoinInMl("a"));
  Give(std::string(kJoinGpu) + "::1", JoinInMl("b"));
  index_.Learn({Facts("ida", "a"), Facts("idb", "b")});
  processes_ = {In(10, {"", "ida"}), In(11, {"", "idb"}), In(12, {"", "ida"})};
  EXPECT_THAT(Joined().processes,
              ElementsAre(Pair(10, JoinInMl("a", "uid-a")), Pair(11, JoinInMl("b", "uid-b")),
                          Pair(12, JoinInMl("a", "uid-a"))));
  EXPECT_THAT(
      Joined().devices,
      ElementsAre(DeviceUse{kJoinResource, std::string(kJoinGpu) + "::0", JoinInMl("a", "uid-a")},
                  DeviceUse{kJoinResource, std::string(kJoinGpu) + "::1", JoinInMl("b", "uid-b")}));
}

TEST_F(JoinTest, ADeviceIsInUseByTheProcessesOfPodsThoughTheKubeletListsNone) {
  index_.Learn({Facts("ida", "a")});
  processes_ = {In(10, {"", "ida"}), {.pid = 11, .devices = {"GPU-other"}, .places = {}}};
  EXPECT_THAT(Joined().devices, IsEmpty());
  EXPECT_THAT(Joined().in_use, ElementsAre(Pair(kJoinGpu, JoinInMl("a", "uid-a"))));
}

TEST_F(JoinTest, AProcessOfTheHostIsNobodysThoughAPodHasItsGpu) {
  Give(kJoinGpu, JoinInMl("a"));
  index_.Learn({Facts("ida", "a")});
  processes_ = {{.pid = 10, .devices = {kJoinGpu}, .places = std::vector<CgroupPlace>()}};
  EXPECT_THAT(Joined().processes, IsEmpty());
}

TEST_F(JoinTest, AContainerOfAnotherEngineIsNobodys) {
  Give(kJoinGpu, JoinInMl("a"));
  index_.Learn({Facts("ida", "a")});
  processes_ = {In(10, {"", "docker"})};
  EXPECT_THAT(Joined().processes, IsEmpty());
}

TEST_F(JoinTest, AnUnknownContainerOfAPodIsTheOnlyUserOfItsGpu) {
  Give(kJoinGpu, JoinInMl("a"));
  processes_ = {In(10, {"some-uid", "some-id"})};
  EXPECT_THAT(Joined().processes, ElementsAre(Pair(10, JoinInMl("a"))));
  Give(std::string(kJoinGpu) + "::1", JoinInMl("b"));
  EXPECT_THAT(Joined().processes, IsEmpty());
}

TEST_F(JoinTest, AProcessThatOutlivesItsPodIsNotTheNextPods) {
  Give(kJoinGpu, JoinInMl("a"));
  index_.Learn({Facts("ida", "a"), Facts("idb", "b", false)});
  processes_ = {In(10, {"uid-b", "idb"})};
  EXPECT_THAT(Joined().processes, IsEmpty());
}

TEST_F(JoinTest, ByTheLogsTooAProcessThatOutlivesItsPodIsNobodys) {
  const TempDir dir;
  dir.MakeDir("var/log/pods/ml_a_9b1c4f6d2e8a7b3c5d0e1f2a3b4c5d6e/main");
  const sys::Root host = sys::Root::Open(dir.path()).value();
  index_.LearnLogs(ReadLoggedPods(host).value());
  Give(kJoinGpu, JoinInMl("a"));
  processes_ = {In(10, {"0f5c1d3e-6f2a-4a53-9d0c-3b9f7d2c8e11", "idb"})};
  EXPECT_THAT(Joined().processes, IsEmpty());
}

TEST_F(JoinTest, AProcessThatCannotBeSeenIsTheOnlyUsersOfItsGpu) {
  Give(kJoinGpu, JoinInMl("a"));
  processes_ = {{.pid = 10, .devices = {kJoinGpu}, .places = std::nullopt}};
  EXPECT_THAT(Joined().processes, ElementsAre(Pair(10, JoinInMl("a"))));
}

TEST_F(JoinTest, AContainerInsideAPodIsThePods) {
  index_.Learn({Facts("ida", "a")});
  processes_ = {{.pid = 10,
                 .devices = {kJoinGpu},
                 .places = std::vector<CgroupPlace>{{"uid-a", "ida"}, {"", "inner"}}}};
  EXPECT_THAT(Joined().processes, ElementsAre(Pair(10, JoinInMl("a", "uid-a"))));
}

TEST_F(JoinTest, APodOfANodeInAContainerIsFoundBelowIt) {
  index_.Learn({Facts("ida", "a")});
  processes_ = {{.pid = 10,
                 .devices = {kJoinGpu},
                 .places = std::vector<CgroupPlace>{{"", "node"}, {"uid-a", "ida"}}}};
  EXPECT_THAT(Joined().processes, ElementsAre(Pair(10, JoinInMl("a", "uid-a"))));
}

TEST_F(JoinTest, ADeviceListedWithTwoPodsIsTheOnesThatRuns) {
  Give(kJoinGpu, JoinInMl("ended"));
  Give(kJoinGpu, JoinInMl("new"));
  EXPECT_THAT(Joined().devices, SizeIs(2));
  index_.Learn({Facts("id1", "ended", false), Facts("id2", "new")});
  EXPECT_THAT(Joined().devices,
              ElementsAre(DeviceUse{kJoinResource, kJoinGpu, JoinInMl("new", "uid-new")}));
}

TEST_F(JoinTest, TwoContainersOfOnePodMayShareADevice) {
  Give(kJoinGpu, JoinInMl("a", "", "sidecar"));
  Give(kJoinGpu, JoinInMl("a"));
  index_.Learn({Facts("id1", "a")});
  EXPECT_THAT(Joined().devices, SizeIs(2));
}

TEST_F(JoinTest, AsksForContainersAndPodsOnceTheyAreNew) {
  Give(kJoinGpu, JoinInMl("a"));
  processes_ = {In(10, {"", "idb"}), In(11, {"", "idb"})};
  EXPECT_THAT(Unknown(), SizeIs(2));
  index_.Learn({Facts("ida", "a"), Facts("idb", "b")});
  EXPECT_THAT(Unknown(), IsEmpty());
}

TEST(ContainerIndexTest, KnowsPodsByTheirLogs) {
  const TempDir dir;
  dir.MakeDir("var/log/pods/ml_train-0_0f5c1d3e-6f2a-4a53-9d0c-3b9f7d2c8e11/main");
  dir.MakeDir("var/log/pods/ml_two_9b1c4f6d2e8a7b3c5d0e1f2a3b4c5d6e/main");
  dir.MakeDir("var/log/pods/ml_two_9b1c4f6d2e8a7b3c5d0e1f2a3b4c5d6e/sidecar");
  dir.MakeDir("var/log/pods/of_no_");
  dir.MakeDir("var/log/pods/noise");
  dir.MakeDir("var/log/pods/_a_11111111-6f2a-4a53-9d0c-3b9f7d2c8e11");
  dir.MakeDir("var/log/pods/ml_a b_22222222-6f2a-4a53-9d0c-3b9f7d2c8e11");
  const sys::Root host = sys::Root::Open(dir.path()).value();
  ContainerIndex index;
  index.LearnLogs(ReadLoggedPods(host).value());
  EXPECT_EQ(index.Find({{"0f5c1d3e-6f2a-4a53-9d0c-3b9f7d2c8e11", "any"}}),
            JoinInMl("train-0", "0f5c1d3e-6f2a-4a53-9d0c-3b9f7d2c8e11"));
  EXPECT_EQ(index.Find({{"9b1c4f6d2e8a7b3c5d0e1f2a3b4c5d6e", "any"}}),
            JoinInMl("two", "9b1c4f6d2e8a7b3c5d0e1f2a3b4c5d6e", ""));
  EXPECT_EQ(index.Find({{"", "any"}}), std::nullopt);
  EXPECT_EQ(index.Find({{"11111111-6f2a-4a53-9d0c-3b9f7d2c8e11", "any"}}), std::nullopt);
  EXPECT_EQ(index.Find({{"22222222-6f2a-4a53-9d0c-3b9f7d2c8e11", "any"}}), std::nullopt);
}

TEST(ContainerIndexTest, SaysThatThereAreNoLogs) {
  const TempDir dir;
  const sys::Root host = sys::Root::Open(dir.path()).value();
  EXPECT_THAT(ReadLoggedPods(host), StatusIs(StatusCode::kNotFound));
}

TEST_F(JoinTest, TheKubeletsListNamesTheContainerThatTheLogsLeaveOpen) {
  const TempDir dir;
  dir.MakeDir("var/log/pods/ml_two_9b1c4f6d2e8a7b3c5d0e1f2a3b4c5d6e/main");
  dir.MakeDir("var/log/pods/ml_two_9b1c4f6d2e8a7b3c5d0e1f2a3b4c5d6e/sidecar");
  const sys::Root host = sys::Root::Open(dir.path()).value();
  index_.LearnLogs(ReadLoggedPods(host).value());
  processes_ = {In(10, {"9b1c4f6d2e8a7b3c5d0e1f2a3b4c5d6e", "any"})};
  EXPECT_THAT(Joined().processes,
              ElementsAre(Pair(10, JoinInMl("two", "9b1c4f6d2e8a7b3c5d0e1f2a3b4c5d6e", ""))));
  Give(kJoinGpu, JoinInMl("two"));
  EXPECT_THAT(Joined().processes,
              ElementsAre(Pair(10, JoinInMl("two", "9b1c4f6d2e8a7b3c5d0e1f2a3b4c5d6e", "main"))));
}

// Servers of MPS, where they cannot have a cgroup outside of the agent's pod.
TEST(SeenProcessesTest, ThoseOfOurOwnPodAreNoUsers) {
  const TempDir dir;
  const std::string ours = "11:memory:/kubepods/pod0f5c1d3e-6f2a-4a53-9d0c-3b9f7d2c8e11/";
  dir.WriteFile("proc/self/cgroup", ours + "agent\n");
  dir.WriteFile("proc/10/cgroup", ours + "agent\n");
  dir.WriteFile("proc/11/cgroup",
                "11:memory:/kubepods/pod1f5c1d3e-6f2a-4a53-9d0c-3b9f7d2c8e11/box\n");
  const sys::Root host = sys::Root::Open(dir.path()).value();
  const std::vector<SeenProcess> seen =
      WithPlaces({{.pid = 10, .devices = {kJoinGpu}, .places = {}},
                  {.pid = 11, .devices = {kJoinGpu}, .places = {}}},
                 host);
  ASSERT_THAT(seen, SizeIs(2));
  EXPECT_THAT(seen[0].places, ::testing::Optional(IsEmpty()));
  EXPECT_THAT(seen[1].places, ::testing::Optional(SizeIs(1)));
  EXPECT_THAT(Join({.uses = {}, .index = {}, .processes = {seen[0]}}).in_use, IsEmpty());
}

TEST(SeenProcessesTest, AreReadWithTheirCgroupsAndDevices) {
  const TempDir dir;
  dir.WriteFile("proc/10/cgroup", "0::/kubepods/pod0f5c1d3e-6f2a-4a53-9d0c-3b9f7d2c8e11/box\n");
  dir.WriteFile("proc/11/cgroup", "0::/user.slice\n");
  const sys::Root host = sys::Root::Open(dir.path()).value();
  device::SampleSet samples;
  device::GpuSample& gpu = samples.gpus.emplace_back();
  gpu.uuid = device::GpuUuid::Parse(kJoinGpu).value();
  gpu.migs.emplace_back().uuid = device::MigUuid::Parse(kJoinMig).value();
  gpu.migs[0].gpu_instance = 3;
  for (const uint32_t pid : {12U, 11U, 10U, 10U}) {
    gpu.processes.emplace_back().pid = pid;
  }
  gpu.processes[3].gpu_instance = 3;
  const std::vector<SeenProcess> seen = WithPlaces(ListedProcesses(samples), host);
  ASSERT_THAT(seen, SizeIs(3));
  EXPECT_THAT(seen[0].devices, ElementsAre(kJoinGpu, kJoinMig));
  ASSERT_TRUE(seen[0].places.has_value());
  EXPECT_THAT(*seen[0].places,
              ElementsAre(CgroupPlace{"0f5c1d3e-6f2a-4a53-9d0c-3b9f7d2c8e11", "box"}));
  ASSERT_TRUE(seen[1].places.has_value());
  EXPECT_THAT(*seen[1].places, IsEmpty());
  EXPECT_FALSE(seen[2].places.has_value());
}

}  // namespace
}  // namespace kgpu::pods
