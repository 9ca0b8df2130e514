// Every slice of every model, as the stub API server judges it.
#include "src/node/dra/slices.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>

#include <set>

#include "src/gpu/device/mig.h"
#include "src/node/dra/slice_plan.h"
#include "src/node/pools/test_node.h"
#include "testing/apiserver/api.h"
#include "testing/fake_loop.h"

namespace kgpu::dra {
namespace {

namespace json = boost::json;

// A node of 16 GPUs of one model, all partitioned for claims.
device::Snapshot NodeOf(uint16_t pci_device_id, bool is_healthy) {
  device::Snapshot snapshot = pools::TestNode(16);
  for (device::Gpu& gpu : snapshot.gpus) {
    gpu.minor = gpu.index;
    gpu.pci_device_id = pci_device_id;
    gpu.usable_memory = gpu.memory;
    gpu.health = {.is_healthy = is_healthy, .reason = is_healthy ? "" : "Xid79", .message = ""};
  }
  return snapshot;
}

OfferOptions AllPartitioned(const device::Snapshot& snapshot) {
  OfferOptions options;
  for (const device::Gpu& gpu : snapshot.gpus) {
    options.partitioned.insert(gpu.uuid.str());
  }
  return options;
}

std::vector<CardOffer> OffersOn(const device::Snapshot& snapshot, std::string_view config = "") {
  return OffersOf(snapshot, pools::AssignDevices(snapshot, pools::TestConfig(config)).resources,
                  AllPartitioned(snapshot));
}

class SlicesTest : public ::testing::TestWithParam<device::MigModel> {
 protected:
  // The names of all devices that the server takes.
  std::set<std::string> Publish(const std::vector<CardOffer>& cards) {
    std::set<std::string> names;
    std::vector<json::object> specs = SliceSpecs({.name = "n1", .uid = "u1"}, cards);
    for (size_t i = 0; i < specs.size(); ++i) {
      json::object& pool = specs[i]["pool"].as_object();
      pool["generation"] = 1;
      pool["resourceSliceCount"] = specs.size();
      const auto stored = api_.Do("POST", "/apis/resource.k8s.io/v1/resourceslices",
                                  {{"apiVersion", "resource.k8s.io/v1"},
                                   {"kind", "ResourceSlice"},
                                   {"metadata", {{"generateName", "s-"}}},
                                   {"spec", specs[i]}});
      EXPECT_TRUE(stored.ok()) << stored.status();
      const json::value* devices = specs[i].if_contains("devices");
      for (const json::value& device : devices == nullptr ? json::array() : devices->as_array()) {
        EXPECT_TRUE(names.insert(std::string(device.at("name").as_string())).second);
      }
    }
    return names;
  }

  FakeLoop loop_;
  apiserver::Api api_{loop_};
};

TEST_P(SlicesTest, AreWithinTheLimits) {
  for (const bool is_healthy : {true, false}) {
    const std::vector<CardOffer> cards =
        OffersOn(NodeOf(GetParam().pci_device_ids.front(), is_healthy));
    ASSERT_EQ(cards.size(), 16U);
    EXPECT_EQ(Publish(cards).size(), 16 * cards[0].offers.size());
  }
}

INSTANTIATE_TEST_SUITE_P(Models, SlicesTest, ::testing::ValuesIn(device::MigModels()),
                         [](const auto& model) {
                           std::string name = model.param.name;
                           std::erase_if(name, [](char c) { return !std::isalnum(c); });
                           return name;
                         });

using SlicesOfNodeTest = SlicesTest;

// A fault of one GPU is one write.
TEST_F(SlicesOfNodeTest, AGpusDevicesAreInOneSlice) {
  const device::Snapshot healthy = NodeOf(0x2901, true);  // B200
  device::Snapshot ill = healthy;
  ill.gpus[5].health = {.is_healthy = false, .reason = "Xid79", .message = ""};
  const NodeIdentity node{.name = "n1", .uid = "u1"};
  const std::vector<json::object> before = SliceSpecs(node, OffersOn(healthy));
  const std::vector<json::object> after = SliceSpecs(node, OffersOn(ill));
  ASSERT_EQ(before.size(), after.size());
  int changed = 0;
  for (size_t i = 0; i < before.size(); ++i) {
    changed += ContentOf(before[i]) == ContentOf(after[i]) ? 0 : 1;
  }
  EXPECT_EQ(changed, 1);
}

TEST_F(SlicesOfNodeTest, SharesAreTaken) {
  const device::Snapshot snapshot = NodeOf(0x20b2, true);
  for (const char* share :
       {"{by: time, replicas: 4}", "{by: memory, size: 20Gi}", "{by: memory, size: 1/4}",
        "{by: memory, layout: [40Gi, 20Gi]}", "{by: mps, replicas: 3}"}) {
    const auto assignment = pools::AssignDevices(
        snapshot, pools::TestConfig(fmt::format("pools: [{{share: {}}}]\n", share)));
    const std::vector<CardOffer> cards = OffersOf(snapshot, assignment.resources, {});
    EXPECT_GE(Publish(cards).size(), 16U) << share;
  }
}

TEST_F(SlicesOfNodeTest, ANodeWithoutDevicesSaysThatTheDriverRuns) {
  EXPECT_EQ(SliceSpecs({.name = "n1", .uid = "u1"}, {}).size(), 1U);
  EXPECT_TRUE(Publish({}).empty());
}

}  // namespace
}  // namespace kgpu::dra
