#include "src/cluster/gpus/summary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>

#include <string>
#include <string_view>

#include "src/cluster/gpus/test_objects.h"

namespace kgpu::gpus {
namespace {

using ::testing::SizeIs;

// Takes objects as they come from a server: each is trimmed first.
class SummaryTest : public ::testing::Test {
 protected:
  void Node(std::string_view yaml) {
    boost::json::value node = Parsed(yaml);
    EXPECT_TRUE(IsGpuNode(node));
    TrimGpuNode(node);
    builder_.AddNode(node);
  }
  void Pod(std::string_view yaml) {
    boost::json::value pod = Parsed(yaml);
    EXPECT_TRUE(IsGpuPod(pod));
    TrimGpuPod(pod);
    builder_.AddPod(pod);
  }
  void Slice(std::string_view yaml) {
    boost::json::value slice = Parsed(yaml);
    EXPECT_TRUE(IsGpuSlice(slice));
    TrimGpuSlice(slice);
    builder_.AddSlice(slice);
  }
  void Claim(std::string_view yaml) {
    boost::json::value claim = Parsed(yaml);
    EXPECT_TRUE(IsGpuClaim(claim));
    TrimGpuClaim(claim);
    builder_.AddClaim(claim);
  }
  // The only pool.
  Counts OfPool() {
    const Summary summary = builder_.Build();
    EXPECT_THAT(summary.pools, SizeIs(1));
    return summary.pools.empty() ? Counts() : summary.pools[0].counts;
  }

  SummaryBuilder builder_;
};

std::string Device(const std::string& name, const std::string& more = "") {
  return fmt::format(
      "{{name: {0}, attributes: {{type: {{string: gpu}}, uuid: {{string: GPU-{0}}}, "
      "kgpu.dev/model: {{string: T4}}, kgpu.dev/pool: {{string: nvidia.com/gpu}}}}{1}}}",
      name, more);
}

std::string Slices(const std::string& devices, int generation = 1) {
  return fmt::format(
      "{{spec: {{driver: gpu.nvidia.com, nodeName: n1, pool: {{name: n1, generation: {}}}, "
      "devices: [{}]}}}}",
      generation, devices);
}

std::string ClaimOf(const std::string& results, const std::string& pods = "") {
  return fmt::format(
      "{{metadata: {{namespace: a, name: c}}, status: {{reservedFor: [{}], allocation: {{devices: "
      "{{results: [{}]}}}}}}}}",
      pods, results);
}

constexpr char kOfGpu0[] = "{driver: gpu.nvidia.com, pool: n1, device: gpu-0}";

TEST_F(SummaryTest, CountsWhatTheKubeletReports) {
  Node(GpuNodeText("n1", 8, 7));
  Pod(GpuPodText("a", "p", "n1", 2));
  Pod(GpuPodText("b", "q", "n1", 1, "{phase: Pending}"));
  Pod(GpuPodText("b", "done", "n1", 4, "{phase: Succeeded}"));
  Pod(GpuPodText("b", "waits", "", 4, "{phase: Pending}"));
  const Summary summary = builder_.Build();
  ASSERT_THAT(summary.pools, SizeIs(1));
  EXPECT_EQ(summary.pools[0].counts, (Counts{.total = 8, .used = 3, .free = 4, .unhealthy = 1}));
  EXPECT_EQ(summary.pools[0].model, "T4");
  EXPECT_EQ(summary.pools[0].problem, "");
  ASSERT_THAT(summary.holders, SizeIs(2));
  EXPECT_EQ(summary.holders[0].pod, "p");
  EXPECT_EQ(summary.holders[0].count, 2U);
  ASSERT_THAT(summary.pending, SizeIs(1));
  EXPECT_EQ(summary.pending[0].pod, "waits");
}

TEST_F(SummaryTest, ANodeThatIsNotReadyHasNothingFree) {
  Node(GpuNodeText("n1", 8, 8, "{}", "False"));
  Pod(GpuPodText("a", "p", "n1", 2));
  const Summary summary = builder_.Build();
  EXPECT_EQ(summary.pools[0].counts, (Counts{.total = 8, .used = 2, .unhealthy = 6}));
  EXPECT_EQ(summary.pools[0].problem, "GPUReady is False: DriverNoLibrary: run kgpu doctor");
}

TEST_F(SummaryTest, CordonedNodesAreCountedApart) {
  Node(GpuNodeText("n1", 8, 7, "{unschedulable: true}"));
  EXPECT_EQ(OfPool(), (Counts{.total = 8, .unhealthy = 1, .cordoned = 7}));
}

TEST_F(SummaryTest, ANodeThatOffersNothingIsShown) {
  Node(
      "{metadata: {name: n1, labels: {nvidia.com/gpu.present: 'true', "
      "nvidia.com/gpu.product: Tesla-T4}}}");
  const Summary summary = builder_.Build();
  ASSERT_THAT(summary.pools, SizeIs(1));
  EXPECT_EQ(summary.pools[0].resource, "");
  EXPECT_EQ(summary.pools[0].model, "Tesla-T4");
  EXPECT_EQ(summary.pools[0].counts, Counts());
}

TEST_F(SummaryTest, CountsDevicesOfSlices) {
  Slice(Slices(Device("gpu-0") + "," + Device("gpu-1") + "," +
               Device("gpu-2", ", taints: [{key: gpu.nvidia.com/xid, effect: NoSchedule}]")));
  Claim(ClaimOf(kOfGpu0, "{resource: pods, name: p}, {resource: pods, name: q}"));
  const Summary summary = builder_.Build();
  ASSERT_THAT(summary.pools, SizeIs(1));
  EXPECT_EQ(summary.pools[0].counts, (Counts{.total = 3, .used = 1, .free = 1, .unhealthy = 1}));
  EXPECT_EQ(summary.pools[0].resource, "nvidia.com/gpu");
  ASSERT_THAT(summary.holders, SizeIs(1));
  EXPECT_EQ(summary.holders[0].pod, "p");
  EXPECT_EQ(summary.holders[0].claim, "c");
  EXPECT_EQ(summary.holders[0].other_pods, 1U);
  EXPECT_EQ(summary.holders[0].node, "n1");
}

TEST_F(SummaryTest, ADeviceServedBothWaysIsOne) {
  Node(GpuNodeText("n1", 2, 2));
  Slice(Slices(Device("gpu-0") + "," + Device("gpu-1")));
  Claim(ClaimOf(kOfGpu0));
  Pod(GpuPodText("b", "q", "n1", 1));
  EXPECT_EQ(OfPool(), (Counts{.total = 2, .used = 2}));
}

TEST_F(SummaryTest, ACountedResourceThatAClaimServesCountsOnce) {
  Node(GpuNodeText("n1", 0, 0));
  Slice(Slices(Device("gpu-0") + "," + Device("gpu-1")));
  Claim(ClaimOf(kOfGpu0, "{resource: pods, name: p}"));
  Pod(GpuPodText("a", "p", "n1", 1,
                 "{phase: Running, extendedResourceClaimStatus: {resourceClaimName: c, "
                 "requestMappings: [{resourceName: nvidia.com/gpu}]}}"));
  EXPECT_EQ(OfPool(), (Counts{.total = 2, .used = 1, .free = 1}));
}

TEST_F(SummaryTest, MigDevicesThatCouldBeMadeAreTheirGpu) {
  const std::string mig =
      "{name: gpu-0-mig-1g10gb-19-0, attributes: {type: {string: mig}, profile: {string: 1g.10gb}, "
      "parentUUID: {string: GPU-gpu-0}, kgpu.dev/pool: {string: nvidia.com/gpu}}}";
  Slice(Slices(mig + "," + Device("gpu-0") + "," + Device("gpu-1")));
  EXPECT_EQ(OfPool(), (Counts{.total = 2, .free = 2}));
  Claim(ClaimOf("{driver: gpu.nvidia.com, pool: n1, device: gpu-0-mig-1g10gb-19-0}"));
  EXPECT_EQ(OfPool(), (Counts{.total = 2, .used = 1, .free = 1}));
}

TEST_F(SummaryTest, SharedDevicesCountTheirSlots) {
  Slice(Slices(
      Device("gpu-0", ", allowMultipleAllocations: true, capacity: {shares: {value: '10'}}") + "," +
      Device("gpu-1",
             ", allowMultipleAllocations: true, capacity: {memory: {value: 80Gi, "
             "requestPolicy: {validRange: {min: 20Gi, step: 20Gi}}}}")));
  Claim(
      ClaimOf("{driver: gpu.nvidia.com, pool: n1, device: gpu-0, shareID: x, consumedCapacity: "
              "{shares: '3'}}, {driver: gpu.nvidia.com, pool: n1, device: gpu-1, shareID: y, "
              "consumedCapacity: {memory: 30Gi}}"));
  EXPECT_EQ(OfPool(), (Counts{.total = 14, .used = 5, .free = 9}));
}

TEST_F(SummaryTest, ObserversAndOtherDriversTakeNothing) {
  Slice(Slices(Device("gpu-0")));
  Claim(
      ClaimOf("{driver: gpu.nvidia.com, pool: n1, device: gpu-0, adminAccess: true}, {driver: "
              "nic.example.com, pool: n1, device: gpu-0}"));
  EXPECT_EQ(OfPool(), (Counts{.total = 1, .free = 1}));
  EXPECT_FALSE(IsGpuSlice(Parsed("{spec: {driver: nic.example.com}}")));
  EXPECT_FALSE(IsGpuNode(Parsed("{metadata: {name: cpu}, status: {capacity: {cpu: '4'}}}")));
}

TEST_F(SummaryTest, OnlyTheNewestGenerationCounts) {
  Slice(Slices(Device("gpu-0"), 2));
  Slice(Slices(Device("gpu-0") + "," + Device("gpu-1"), 1));
  EXPECT_EQ(OfPool().total, 1U);
  Slice(Slices(Device("gpu-0") + "," + Device("gpu-1") + "," + Device("gpu-2"), 3));
  EXPECT_EQ(OfPool().total, 3U);
}

TEST_F(SummaryTest, DevicesOfNvidiasDriverHaveNoPoolOfTheirOwn) {
  Slice(
      Slices("{name: gpu-0, basic: {attributes: {type: {string: gpu}, uuid: {string: GPU-0}, "
             "productName: {string: NVIDIA H100}}}}"));
  const Summary summary = builder_.Build();
  ASSERT_THAT(summary.pools, SizeIs(1));
  EXPECT_EQ(summary.pools[0].resource, "nvidia.com/gpu");
  EXPECT_EQ(summary.pools[0].model, "NVIDIA H100");
}

}  // namespace
}  // namespace kgpu::gpus
