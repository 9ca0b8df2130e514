#include "src/node/dra/attributes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "src/node/pools/test_node.h"

namespace kgpu::dra {
namespace {

namespace json = boost::json;

TEST(SemanticVersionTest, HasThreeNumbersWithoutLeadingZeros) {
  EXPECT_EQ(SemanticVersion("550.54.15"), "550.54.15");
  EXPECT_EQ(SemanticVersion("535.104.05"), "535.104.5");
  EXPECT_EQ(SemanticVersion("418.87"), "418.87.0");
  EXPECT_EQ(SemanticVersion(""), "0.0.0");
  EXPECT_EQ(SemanticVersion("550.beta"), "0.0.0");
}

TEST(GpuAttributesTest, HasTheNamesThatPeopleSelectBy) {
  device::Snapshot snapshot = pools::TestNode(1);
  snapshot.driver.version = "535.104.05";
  snapshot.driver.cuda_major = 12;
  snapshot.driver.cuda_minor = 2;
  device::Gpu& gpu = snapshot.gpus[0];
  gpu.name = "NVIDIA A100-SXM4-80GB";
  gpu.brand = "NVIDIA";
  gpu.architecture = "ampere";
  gpu.compute = device::ComputeCapability{.major = 8, .minor = 0};
  gpu.numa_node = 1;
  const json::value expected = json::parse(R"({
      "type":{"string":"gpu"},
      "uuid":{"string":"GPU-5d5ba0d6-d33d-2b2c-524d-9e3d8d2b0000"},
      "productName":{"string":"NVIDIA A100-SXM4-80GB"},
      "brand":{"string":"Nvidia"},
      "architecture":{"string":"Ampere"},
      "cudaComputeCapability":{"version":"8.0.0"},
      "driverVersion":{"version":"535.104.5"},
      "cudaDriverVersion":{"version":"12.2.0"},
      "resource.kubernetes.io/pciBusID":{"string":"0000:00:00.0"},
      "resource.kubernetes.io/pcieRoot":{"string":"pci0000:00"},
      "resource.kubernetes.io/numaNode":{"int":1},
      "kgpu.dev/model":{"string":"A100-SXM4-80GB"},
      "kgpu.dev/pool":{"string":"nvidia.com/gpu"}})");
  EXPECT_EQ(json::value(GpuAttributes(snapshot, gpu,
                                      {.pcie_root = "pci0000:00", .resource = "nvidia.com/gpu"})),
            expected);
}

// A selector that reads what one device lacks fails for all.
TEST(GpuAttributesTest, UnknownValuesAreEmpty) {
  const device::Snapshot snapshot = pools::TestNode(1);
  const json::object attributes = GpuAttributes(snapshot, snapshot.gpus[0], {});
  EXPECT_EQ(attributes.at("architecture"), json::value({{"string", ""}}));
  EXPECT_EQ(attributes.at("cudaComputeCapability"), json::value({{"version", "0.0.0"}}));
  EXPECT_FALSE(attributes.contains("resource.kubernetes.io/pcieRoot"));
}

TEST(GpuAttributesTest, GpusThatAllReachEachOtherByNvLinkAreAGroup) {
  device::Snapshot snapshot = pools::TestNode(4);
  const auto link = [&](unsigned a, unsigned b) {
    snapshot.gpus[a].peers.push_back({.peer_index = b, .nvlinks = 4});
    snapshot.gpus[b].peers.push_back({.peer_index = a, .nvlinks = 4});
  };
  const auto group = [&](unsigned at) {
    const json::object attributes = GpuAttributes(snapshot, snapshot.gpus[at], {});
    const json::value* found = attributes.if_contains("kgpu.dev/nvlinkGroup");
    return found == nullptr ? -1 : found->at("int").to_number<int>();
  };
  link(0, 1);
  link(2, 3);
  EXPECT_EQ(group(0), 0);
  EXPECT_EQ(group(1), 0);
  EXPECT_EQ(group(3), 2);
  link(1, 2);  // a chain is no group: its ends do not reach each other
  EXPECT_EQ(group(0), -1);
  EXPECT_EQ(group(3), -1);
}

TEST(TaintTest, SaysWhatIsWrong) {
  EXPECT_EQ(json::value(TaintOf({.is_healthy = false, .reason = "Xid79", .message = ""})),
            json::parse(R"({"key":"gpu.nvidia.com/xid","effect":"NoSchedule","value":"79"})"));
  EXPECT_EQ(json::value(TaintOf({.is_healthy = false, .reason = "GpuLost", .message = ""})),
            json::parse(R"({"key":"gpu.nvidia.com/gpu-lost","effect":"NoSchedule"})"));
  EXPECT_EQ(
      json::value(TaintOf({.is_healthy = false, .reason = "Overheated", .message = ""})),
      json::parse(R"({"key":"kgpu.dev/unhealthy","effect":"NoSchedule","value":"Overheated"})"));
}

}  // namespace
}  // namespace kgpu::dra
