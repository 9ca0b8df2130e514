// The kubelet's values: checkpoint, assignments, names, merged replies, requests.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/fake_clock.h"
#include "testing/kubelet/call_log.h"
#include "testing/kubelet/checkpoint.h"
#include "testing/kubelet/merge.h"
#include "testing/kubelet/pod.h"
#include "testing/kubelet/resource_name.h"
#include "testing/kubelet/resource_table.h"
#include "testing/kubelet/uid.h"
#include "testing/status_matchers.h"

namespace kgpu::kubelet {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

Assignment Sample(const std::string& pod, const std::string& container, const std::string& id) {
  return {.pod_uid = pod,
          .container = container,
          .resource = "example.com/widget",
          .by_node = {{kNoNode, {id}}},
          .options = {}};
}

TEST(CheckpointTest, ReadsBackWhatItPrints) {
  Checkpoint checkpoint;
  Assignment entry = Sample("uid", "main", "one");
  entry.by_node = {{0, {"one"}}, {1, {"one", "two"}}};
  entry.options.envs["NAME"] = "value";
  entry.options.mounts = {{"/in", "/out", true}};
  entry.options.devices = {{"/dev/a", "/dev/b", "rw"}};
  entry.options.cdi_devices = {"example.com/widget=one"};
  checkpoint.entries = {entry};
  checkpoint.registered["example.com/widget"] = {"one", "two"};
  const StatusOr<Checkpoint> read = ParseCheckpoint(PrintCheckpoint(checkpoint), "file");
  ASSERT_OK(read);
  EXPECT_EQ(*read, checkpoint);
}

TEST(CheckpointTest, HasTheKubeletsLayout) {
  Checkpoint checkpoint;
  checkpoint.registered["example.com/widget"] = {"one"};
  EXPECT_THAT(PrintCheckpoint(checkpoint),
              ::testing::StartsWith("{\"Data\":{\"PodDeviceEntries\":null,\"RegisteredDevices\":"
                                    "{\"example.com/widget\":[\"one\"]}},\"Checksum\":"));
  checkpoint.entries = {Sample("uid", "main", "one")};
  EXPECT_THAT(PrintCheckpoint(checkpoint),
              HasSubstr("[{\"PodUID\":\"uid\",\"ContainerName\":\"main\",\"ResourceName\":"
                        "\"example.com/widget\",\"DeviceIDs\":{\"-1\":[\"one\"]},\"AllocResp\":"));
}

TEST(CheckpointTest, RefusesWhatSomebodyElseWrote) {
  std::string text = PrintCheckpoint({});
  text.replace(text.find("null"), 4, "[]");
  EXPECT_THAT(ParseCheckpoint(text, "file"),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("file.Checksum")));
  for (const char* bad : {"", "{}", "[]", "{\"Data\":1,\"Checksum\":2}"}) {
    EXPECT_THAT(ParseCheckpoint(bad, "file"), StatusIs(StatusCode::kInvalidArgument)) << bad;
  }
}

TEST(PodDevicesTest, AnswersByContainerResourceAndPod) {
  PodDevices pods;
  pods.Insert(Sample("p", "a", "one"));
  pods.Insert(Sample("p", "b", "two"));
  pods.Insert(Sample("q", "a", "three"));
  EXPECT_THAT(pods.OfContainer("p", "a"), SizeIs(1));
  EXPECT_EQ(pods.Find("p", "a", "example.com/other"), nullptr);
  EXPECT_THAT(pods.Allocated().at("example.com/widget"), ElementsAre("one", "three", "two"));
  EXPECT_EQ(pods.PodOfDevice("three"), "q");
  EXPECT_TRUE(pods.KeepOnly({"q"}));
  EXPECT_FALSE(pods.KeepOnly({"q"}));
  EXPECT_THAT(pods.All(), SizeIs(1));
}

TEST(ResourceTableTest, FollowsAPluginFromListToGrace) {
  FakeClock clock;
  ResourceTable table(clock);
  const std::string name = "example.com/widget";
  constexpr std::chrono::minutes kGrace(5);
  table.Connect(name, {});
  EXPECT_THAT(table.TakeCapacities(kGrace).capacity, IsEmpty());
  EXPECT_THAT(table.Receive(name, {{"a", kHealthy, {}}, {"b", "odd", {}}}), SizeIs(2));
  EXPECT_THAT(table.Receive(name, {{"a", kHealthy, {}}, {"b", "Odd", {}}}), ElementsAre("b"));
  EXPECT_EQ(table.TakeCapacities(kGrace).capacity.at(name), 2);
  EXPECT_EQ(table.TakeCapacities(kGrace).allocatable.at(name), 1);
  EXPECT_EQ(table.HealthOf(name, "b"), kUnhealthy);
  EXPECT_EQ(table.HealthOf(name, "unknown"), kHealthy);
  table.Disconnect(name);
  clock.Advance(kGrace);
  EXPECT_EQ(table.TakeCapacities(kGrace).allocatable.at(name), 0);
  EXPECT_EQ(table.TakeCapacities(kGrace).capacity.at(name), 2);
  clock.Advance(std::chrono::seconds(1));
  EXPECT_THAT(table.TakeCapacities(kGrace).removed, ElementsAre(name));
  EXPECT_THAT(table.TakeCapacities(kGrace).removed, IsEmpty());
  EXPECT_EQ(table.HealthOf(name, "b"), kUnhealthy);
}

TEST(MergeTest, TheFirstValueWinsAndOthersAreNamed) {
  ContainerOptions into;
  into.envs = {{"A", "1"}, {"B", "2"}};
  into.mounts = {{"/in", "/out", false}};
  ContainerOptions from;
  from.envs = {{"A", "other"}, {"B", "2"}, {"C", "3"}};
  from.mounts = {{"/in", "/elsewhere", false}, {"/more", "/more", true}};
  from.devices = {{"/dev/a", "/dev/a", "rw"}};
  from.cdi_devices = {"v/c=1", "v/c=1"};
  EXPECT_THAT(MergeInto(into, from), ElementsAre(HasSubstr("env A"), HasSubstr("mount /in")));
  EXPECT_EQ(into.envs, (std::map<std::string, std::string>{{"A", "1"}, {"B", "2"}, {"C", "3"}}));
  EXPECT_THAT(into.mounts, SizeIs(2));
  EXPECT_THAT(into.devices, SizeIs(1));
  EXPECT_THAT(into.cdi_devices, SizeIs(1));
}

TEST(ResourceNameTest, TakesVendorsNamesOnly) {
  for (const char* good :
       {"nvidia.com/gpu", "nvidia.com/mig-1g.5gb", "a/B_c", "x-y.example.com/g"}) {
    EXPECT_TRUE(IsExtendedResourceName(good)) << good;
  }
  const std::string long_name = "a/" + std::string(64, 'x');
  for (const std::string bad : {"", "gpu", "/gpu", "nvidia.com/", "a/b/c", "kubernetes.io/gpu",
                                "x.kubernetes.io/gpu", "requests.nvidia.com/gpu", "Nvidia.com/gpu",
                                "nvidia..com/gpu", "a/-b", "a/b c", long_name.c_str()}) {
    EXPECT_FALSE(IsExtendedResourceName(bad)) << bad;
  }
}

TEST(RequestsTest, CountInitContainersBesideTheSidecarsBeforeThem) {
  PodSpec pod;
  pod.containers = {{.name = "s", .kind = ContainerKind::kSidecar, .limits = {{"a/b", 1}}},
                    {.name = "i", .kind = ContainerKind::kInit, .limits = {{"a/b", 4}}},
                    {.name = "m", .limits = {{"a/b", 2}}}};
  EXPECT_EQ(RequestsOf(pod).at("a/b"), 5);
}

TEST(CallLogTest, KeepsTheLastCallsAndCountsAll) {
  FakeClock clock;
  CallLog log(clock);
  const uint64_t first = log.Begin("Allocate", "r", "[a]");
  for (size_t i = 0; i < CallLog::kLength; ++i) {
    log.Note("Register", "r", std::string(1000, 'x'));
  }
  log.End(first, "too late");
  EXPECT_THAT(log.records(), SizeIs(CallLog::kLength));
  EXPECT_EQ(log.records().front().number, 2);
  EXPECT_LE(log.records().back().arguments.size(), CallLog::kTextLimit + 3);
  EXPECT_EQ(log.Count("Allocate"), 1);
  EXPECT_EQ(log.Count("Register"), CallLog::kLength);
  EXPECT_EQ(log.Count("GetInfo"), 0);
}

TEST(UidTest, AreDifferentVersionFourUuids) {
  const std::string uid = NewUid();
  EXPECT_THAT(uid, ::testing::MatchesRegex(
                       "[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}"));
  EXPECT_NE(uid, NewUid());
}

}  // namespace
}  // namespace kgpu::kubelet
