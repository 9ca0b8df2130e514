#include "testing/allocator/allocator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <boost/json.hpp>

#include "src/kube/api/json.h"
#include "src/node/dra/offer.h"
#include "src/node/dra/slices.h"
#include "src/node/pools/test_node.h"
#include "src/platform/doc/doc.h"
#include "testing/status_matchers.h"

namespace kgpu::allocator {
namespace {

namespace json = boost::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr char kClass[] =
    R"(metadata: {name: gpu.nvidia.com}
spec:
  selectors: [{cel: {expression: 'device.driver == "gpu.nvidia.com" && device.attributes["gpu.nvidia.com"].type == "gpu"'}}]
  config: [{opaque: {driver: gpu.nvidia.com, parameters: {from: class}}}]
)";
constexpr char kMigClass[] =
    R"(metadata: {name: mig.nvidia.com}
spec:
  selectors: [{cel: {expression: 'device.driver == "gpu.nvidia.com" && device.attributes["gpu.nvidia.com"].type == "mig"'}}]
)";

json::value Yaml(const std::string& text) {
  const auto value = doc::Parse(text, doc::Format::kYaml, "test");
  EXPECT_OK(value);
  return value.ok() ? *value : json::value(json::object());
}

// The claims of a cluster with one node of A100s, as kgpu publishes them.
class AllocatorTest : public ::testing::Test {
 protected:
  explicit AllocatorTest() : snapshot_(pools::TestNode(4)) {
    for (device::Gpu& gpu : snapshot_.gpus) {
      gpu.minor = gpu.index;
      gpu.pci_device_id = 0x20b2;  // A100 SXM4, 80 GB
      gpu.usable_memory = gpu.memory;
    }
    cluster_.classes = {Yaml(kClass), Yaml(kMigClass)};
  }

  void Publish(std::string_view config = "", const dra::OfferOptions& options = {}) {
    const auto offers = dra::OffersOf(
        snapshot_, pools::AssignDevices(snapshot_, pools::TestConfig(config)).resources, options);
    std::vector<json::object> specs = dra::SliceSpecs({.name = "n1", .uid = "u1"}, offers);
    cluster_.slices.clear();
    for (size_t i = 0; i < specs.size(); ++i) {
      specs[i]["pool"].as_object()["generation"] = 1;
      specs[i]["pool"].as_object()["resourceSliceCount"] = specs.size();
      cluster_.slices.push_back(json::object{{"metadata", {{"name", fmt::format("s-{}", i)}}},
                                             {"spec", std::move(specs[i])}});
    }
  }
  void PublishPartitions() { Publish("", {.partitioned = {snapshot_.gpus[0].uuid.str()}}); }

  // Allocates a claim with this `devices:`, and keeps it in use.
  StatusOr<json::object> Claim(const std::string& devices) {
    json::value claim =
        Yaml(fmt::format("metadata: {{name: c{}, namespace: team-a}}\nspec: {{devices: {{{}}}}}\n",
                         cluster_.claims.size(), devices));
    const auto allocation = Allocate(claim, cluster_, "n1");
    if (allocation.ok()) {
      claim.as_object()["status"] = {{"allocation", *allocation}};
      cluster_.claims.push_back(claim);
    }
    return allocation;
  }
  StatusOr<json::object> Gpus(const std::string& fields) {
    return Claim("requests: [{name: gpu, exactly: {deviceClassName: gpu.nvidia.com, " + fields +
                 "}}]");
  }
  StatusOr<json::object> Mig(const std::string& profile) {
    return Claim(
        "requests: [{name: mig, exactly: {deviceClassName: mig.nvidia.com, selectors: [{cel: "
        "{expression: 'device.attributes[\"gpu.nvidia.com\"].profile == \"" +
        profile + "\"'}}]}}]");
  }
  static std::vector<std::string> DevicesOf(const StatusOr<json::object>& allocation) {
    EXPECT_OK(allocation);
    std::vector<std::string> names;
    for (const json::value& result :
         allocation.ok() ? allocation->at("devices").at("results").as_array() : json::array()) {
      names.emplace_back(kube::TextField(result, {"device"}));
    }
    return names;
  }
  static auto Refused(const std::string& text) {
    return StatusIs(StatusCode::kFailedPrecondition, HasSubstr(text));
  }

  device::Snapshot snapshot_;
  Cluster cluster_;
};

TEST_F(AllocatorTest, WritesWhatTheSchedulerWrites) {
  Publish();
  const auto allocation = Claim(
      R"(requests: [{name: gpu, exactly: {deviceClassName: gpu.nvidia.com,
           tolerations: [{key: x, operator: Exists}]}}],
         config: [{requests: [gpu], opaque: {driver: gpu.nvidia.com, parameters: {from: claim}}}])");
  ASSERT_OK(allocation);
  EXPECT_EQ(json::value(*allocation), json::parse(R"({
      "devices": {
        "results": [{"request": "gpu", "driver": "gpu.nvidia.com", "pool": "n1", "device": "gpu-0",
                     "tolerations": [{"key": "x", "operator": "Exists"}]}],
        "config": [
          {"opaque": {"driver": "gpu.nvidia.com", "parameters": {"from": "class"}},
           "source": "FromClass"},
          {"requests": ["gpu"], "opaque": {"driver": "gpu.nvidia.com",
           "parameters": {"from": "claim"}}, "source": "FromClaim"}]},
      "nodeSelector": {"nodeSelectorTerms": [{"matchFields": [
          {"key": "metadata.name", "operator": "In", "values": ["n1"]}]}]}})"));
}

TEST_F(AllocatorTest, ADeviceGoesToOneClaimAndToAdministrators) {
  Publish();
  EXPECT_THAT(DevicesOf(Gpus("count: 3")), ElementsAre("gpu-0", "gpu-1", "gpu-2"));
  EXPECT_THAT(Gpus("count: 2"), Refused("gpu: gpu-0, gpu-1, gpu-2: another claim has it (gpu-0: "
                                        "team-a/c0; gpu-1: team-a/c0; gpu-2: team-a/c0)"));
  const auto all = Gpus("allocationMode: All, adminAccess: true");
  EXPECT_THAT(DevicesOf(all), ElementsAre("gpu-0", "gpu-1", "gpu-2", "gpu-3"));
  EXPECT_EQ(all->at("devices").at("results").at(0).at("adminAccess"), json::value(true));
  EXPECT_THAT(DevicesOf(Gpus("count: 1")), ElementsAre("gpu-3"))
      << "an administrator holds nothing";
  EXPECT_THAT(Gpus("allocationMode: All"), Refused("another claim has it"));
}

TEST_F(AllocatorTest, CountersExcludePartitionsThatOverlap) {
  PublishPartitions();
  EXPECT_THAT(DevicesOf(Mig("3g.40gb")), ElementsAre("gpu-0-mig-3g40gb-9-4"));
  EXPECT_THAT(DevicesOf(Mig("4g.40gb")), ElementsAre("gpu-0-mig-4g40gb-5-0"));
  EXPECT_THAT(
      Mig("3g.40gb"),
      Refused(
          "mig: gpu-0-mig-3g40gb-9-0: others use what it is made of (compute-slices of gpu-0: 0 "
          "of 3 left, used by gpu-0-mig-3g40gb-9-4 (team-a/c0), gpu-0-mig-4g40gb-5-0 "
          "(team-a/c1))"));
  // The whole GPU is made of the same.
  EXPECT_THAT(DevicesOf(Gpus("count: 3")), ElementsAre("gpu-1", "gpu-2", "gpu-3"));
}

TEST_F(AllocatorTest, CountersHoldWithinAClaim) {
  PublishPartitions();
  const std::string mig =
      "exactly: {deviceClassName: mig.nvidia.com, selectors: [{cel: {expression: "
      "'device.attributes[\"gpu.nvidia.com\"].profile == \"3g.40gb\"'}}]";
  EXPECT_THAT(DevicesOf(Claim("requests: [{name: a, " + mig + "}}, {name: b, " + mig + "}}]")),
              ElementsAre("gpu-0-mig-3g40gb-9-4", "gpu-0-mig-3g40gb-9-0"));
  cluster_.claims.clear();
  EXPECT_THAT(Claim("requests: [{name: a, " + mig + ", count: 3}}]"), Refused("3g.40gb"));
}

TEST_F(AllocatorTest, ATaintIsTolerated) {
  snapshot_.gpus[0].health = {.is_healthy = false, .reason = "Xid79", .message = ""};
  Publish();
  EXPECT_THAT(DevicesOf(Gpus("count: 1")), ElementsAre("gpu-1"));
  EXPECT_THAT(Gpus("count: 4"), Refused("gpu-0: taint gpu.nvidia.com/xid=79:NoSchedule"));
  EXPECT_THAT(DevicesOf(Gpus("tolerations: [{key: gpu.nvidia.com/xid, operator: Exists}]")),
              ElementsAre("gpu-0"));
}

TEST_F(AllocatorTest, SharesOfMemoryAreConsumed) {
  snapshot_.gpus.resize(1);
  Publish("pools: [{share: {by: memory, size: 20Gi}}]\n");
  const auto first = Gpus("capacity: {requests: {memory: 30Gi}}");
  ASSERT_THAT(DevicesOf(first), ElementsAre("gpu-0-20gi"));
  const json::value& result = first->at("devices").at("results").at(0);
  EXPECT_EQ(result.at("consumedCapacity").at("memory"), json::value("40Gi")) << "rounded up";
  EXPECT_EQ(result.at("shareID"), json::value("00000000-0000-4000-8000-000000000001"));
  const auto second = Gpus("count: 1");
  ASSERT_OK(second);
  EXPECT_EQ(second->at("devices").at("results").at(0).at("consumedCapacity").at("memory"),
            json::value("20Gi"));
  EXPECT_THAT(Gpus("capacity: {requests: {memory: 40Gi}}"),
              Refused("memory: 20Gi of 80Gi left, 40Gi requested (gpu-0-20gi: team-a/c0; "
                      "gpu-0-20gi: team-a/c1)"));
  EXPECT_THAT(Gpus("capacity: {requests: {memory: 100Gi}}"),
              Refused("memory: at most 80Gi for one request"));
  EXPECT_THAT(Gpus("capacity: {requests: {bandwidth: 1}}"),
              Refused("it has no capacity bandwidth"));
  EXPECT_THAT(DevicesOf(Gpus("count: 1")), ElementsAre("gpu-0-20gi"));
  EXPECT_THAT(Gpus("count: 1"), Refused("0 of 80Gi left"));
}

TEST_F(AllocatorTest, ConstraintsCompareDevices) {
  snapshot_.gpus[1].model = "A100-PCIE-40GB";
  snapshot_.gpus[2].model = "A100-PCIE-40GB";
  Publish();
  const auto claim = [&](int count, const std::string& constraint) {
    return Claim(
        fmt::format("requests: [{{name: gpu, exactly: {{deviceClassName: gpu.nvidia.com, "
                    "count: {}}}}}], constraints: [{}]",
                    count, constraint));
  };
  EXPECT_THAT(
      claim(3, "{matchAttribute: kgpu.dev/model}"),
      Refused("matchAttribute kgpu.dev/model: 3 of one value are requested, but there are 2 "
              "of \"A100-PCIE-40GB\", 2 of \"A100-SXM4-80GB\""));
  EXPECT_THAT(claim(3, "{distinctAttribute: kgpu.dev/model}"),
              Refused("distinctAttribute kgpu.dev/model: 3 different ones are requested"));
  EXPECT_THAT(claim(2, "{matchAttribute: kgpu.dev/nvlinkGroup}"),
              Refused("it has no attribute kgpu.dev/nvlinkGroup, which matchAttribute compares"));
  EXPECT_THAT(DevicesOf(claim(2, "{matchAttribute: kgpu.dev/model}")),
              ElementsAre("gpu-0", "gpu-3"));
  cluster_.claims.clear();
  EXPECT_THAT(DevicesOf(claim(2, "{distinctAttribute: gpu.nvidia.com/uuid, requests: [gpu]}")),
              ElementsAre("gpu-0", "gpu-1"));
  cluster_.claims.clear();
  EXPECT_THAT(DevicesOf(claim(2, "{distinctAttribute: kgpu.dev/model}")),
              ElementsAre("gpu-0", "gpu-1"));
}

TEST_F(AllocatorTest, TheFirstAlternativeThatFitsIsTaken) {
  Publish();
  const auto allocation = Claim(
      R"(requests: [{name: gpu, firstAvailable: [
           {name: big, deviceClassName: gpu.nvidia.com, count: 8},
           {name: small, deviceClassName: gpu.nvidia.com, count: 2}]}])");
  EXPECT_THAT(DevicesOf(allocation), ElementsAre("gpu-0", "gpu-1"));
  EXPECT_EQ(allocation->at("devices").at("results").at(0).at("request"), json::value("gpu/small"));
  EXPECT_THAT(Claim("requests: [{name: a, exactly: {deviceClassName: none}}]"),
              StatusIs(StatusCode::kNotFound, HasSubstr("request a: DeviceClass none not found")));
}

TEST_F(AllocatorTest, ASelectorThatFailsEndsTheSearch) {
  Publish();
  const auto select = [&](const std::string& expression) {
    return Gpus("selectors: [{cel: {expression: '" + expression + "'}}]");
  };
  EXPECT_THAT(select(R"(device.attributes["kgpu.dev"].none == "x")"),
              Refused("device.attributes[\"kgpu.dev\"].none: no such key"));
  EXPECT_THAT(select(R"(device.attributes["kgpu.dev"].model == "H100")"),
              Refused("gpu: gpu-0, gpu-1, gpu-2, gpu-3: the selector of request gpu is false: "
                      "device.attributes[\"kgpu.dev\"].model == \"H100\" "
                      "(device.attributes[\"kgpu.dev\"].model is \"A100-SXM4-80GB\")"));
  EXPECT_THAT(select("device.driver.charAt(0) == \"g\""),
              StatusIs(StatusCode::kUnimplemented,
                       HasSubstr("selector of request gpu, \"device.driver.charAt")));
  EXPECT_THAT(DevicesOf(select(
                  R"(device.capacity["gpu.nvidia.com"].memory.compareTo(quantity("40Gi")) >= 0)")),
              ElementsAre("gpu-0"));
}

TEST_F(AllocatorTest, OnlyCompletePoolsOfTheNewestGenerationHaveDevices) {
  Publish();
  json::value next = cluster_.slices[0];
  next.as_object()["metadata"].as_object()["name"] = "s-new";
  json::object& pool = next.as_object()["spec"].as_object()["pool"].as_object();
  pool["generation"] = 2;
  pool["resourceSliceCount"] = 2;
  cluster_.slices.push_back(next);
  EXPECT_THAT(Gpus("count: 1"),
              Refused("pool n1 of gpu.nvidia.com: it has 1 of 2 slices of generation 2"));
  EXPECT_THAT(Gpus("allocationMode: All"), Refused("all devices are requested, and pool n1"));
  cluster_.slices.back().as_object()["spec"].as_object()["pool"].as_object()["resourceSliceCount"] =
      1;
  EXPECT_THAT(DevicesOf(Gpus("count: 1")), ElementsAre("gpu-0"));
  const auto elsewhere = Allocate(cluster_.claims[0], cluster_, "n2");
  EXPECT_THAT(elsewhere, StatusIs(StatusCode::kFailedPrecondition)) << "another node's devices";
}

}  // namespace
}  // namespace kgpu::allocator
