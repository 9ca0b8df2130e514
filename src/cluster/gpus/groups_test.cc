#include "src/cluster/gpus/groups.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>

#include <string>
#include <vector>

#include "src/cluster/gpus/test_objects.h"
#include "testing/status_matchers.h"

namespace kgpu::gpus {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

NodePool PoolOn(const std::string& node, const std::string& resource, const std::string& model,
                const Counts& counts, const std::string& problem = "") {
  return {.node = node, .resource = resource, .model = model, .counts = counts, .problem = problem};
}

Summary TwoNodes() {
  Summary summary;
  summary.pools = {
      PoolOn("n1", "nvidia.com/gpu", "T4", {.total = 4, .used = 2, .free = 2}),
      PoolOn("n2", "nvidia.com/gpu", "H100", {.total = 8, .used = 1, .unhealthy = 7},
             "GPUReady is False: x"),
      PoolOn("n2", "nvidia.com/mig-1g.10gb", "H100", {.total = 7, .used = 1, .cordoned = 6})};
  summary.holders = {
      {.space = "a", .pod = "p", .node = "n1", .resource = "nvidia.com/gpu", .count = 2},
      {.space = "a", .pod = "q", .node = "n2", .resource = "nvidia.com/gpu", .count = 1},
      {.space = "b",
       .pod = "r",
       .claim = "c",
       .node = "n2",
       .resource = "nvidia.com/mig-1g.10gb",
       .count = 1}};
  summary.pending = {{.space = "b", .pod = "w", .resource = "nvidia.com/gpu", .count = 4}};
  return summary;
}

TEST(GroupsTest, TablesByEachGrouping) {
  const Summary summary = TwoNodes();
  EXPECT_EQ(
      SummaryTable(summary, GroupBy::kNode),
      "NODE  MODELS  POOLS                                   TOTAL  USED  FREE  UNHEALTHY  "
      "CORDONED\n"
      "n1    T4      nvidia.com/gpu                          4      2     2     0          0\n"
      "n2    H100    nvidia.com/gpu, nvidia.com/mig-1g.10gb  15     2     0     7          6\n"
      "\n"
      "4 of 19 used, 2 free, 7 unhealthy, 6 cordoned\n"
      "1 pending pod requests 4: `kgpu explain pod NS/NAME` says why\n"
      "n2: GPUReady is False: x\n");
  EXPECT_THAT(SummaryTable(summary, GroupBy::kModel),
              HasSubstr("H100   1      nvidia.com/gpu, nvidia.com/mig-1g.10gb  15"));
  EXPECT_THAT(SummaryTable(summary, GroupBy::kPool),
              HasSubstr("nvidia.com/gpu          2      T4, H100  12     3     2     7"));
  EXPECT_THAT(SummaryTable(summary, GroupBy::kNamespace),
              HasSubstr("NAMESPACE  USED  PENDING  PODS  NODES  MODELS\n"
                        "a          3     0        2     2      T4, H100\n"
                        "b          1     4        1     1      H100\n"));
}

TEST(GroupsTest, FiltersLeaveWhatMatches) {
  EXPECT_THAT(Filtered(TwoNodes(), {.node = "n1"}).pools, SizeIs(1));
  EXPECT_THAT(Filtered(TwoNodes(), {.model = "H100"}).holders, SizeIs(2));
  EXPECT_THAT(Filtered(TwoNodes(), {.pool = "nvidia.com/gpu"}).pools, SizeIs(2));
  const Summary of_b = Filtered(TwoNodes(), {.space = "b"});
  ASSERT_THAT(of_b.pools, SizeIs(1));
  EXPECT_EQ(of_b.pools[0].resource, "nvidia.com/mig-1g.10gb");
  EXPECT_THAT(of_b.holders, SizeIs(1));
  EXPECT_THAT(of_b.pending, SizeIs(1));
  EXPECT_THAT(Filtered(TwoNodes(), {}).holders, SizeIs(3));
}

TEST(GroupsTest, JsonHasCountsAndPods) {
  const boost::json::object json = SummaryJson(TwoNodes(), GroupBy::kNode);
  EXPECT_EQ(json.at("gpus").at("total"), 19);
  const boost::json::value& second = json.at("groups").at(1);
  EXPECT_EQ(second.at("name"), "n2");
  EXPECT_EQ(second.at("cordoned"), 6);
  EXPECT_EQ(second.at("problem"), "GPUReady is False: x");
  EXPECT_EQ(second.at("pods").at(1).at("claim"), "c");
  EXPECT_EQ(json.at("pending").at(0).at("count"), 4);
}

TEST(GroupsTest, ParsesTheFour) {
  for (const char* name : {"node", "model", "pool", "namespace"}) {
    const auto by = ParseGroupBy("--by", name);
    ASSERT_OK(by);
    EXPECT_EQ(ToString(*by), name);
  }
  EXPECT_EQ(Message(ParseGroupBy("--by", "pod").status()),
            "--by: \"pod\" must be node, model, pool or namespace");
}

TEST(GroupsTest, AThousandNodesAreNoProblem) {
  SummaryBuilder builder;
  for (int i = 0; i < 1000; ++i) {
    const std::string node = fmt::format("node-{:04}", i);
    builder.AddNode(Parsed(GpuNodeText(node, 8, 8)));
    boost::json::value pod = Parsed(GpuPodText("a", "p-" + node, node, 3));
    TrimGpuPod(pod);
    builder.AddPod(pod);
  }
  const Summary summary = builder.Build();
  EXPECT_EQ(TotalOf(summary), (Counts{.total = 8000, .used = 3000, .free = 5000}));
  EXPECT_THAT(GroupsOf(summary, GroupBy::kNode), SizeIs(1000));
  EXPECT_THAT(GroupsOf(summary, GroupBy::kModel), SizeIs(1));
}

}  // namespace
}  // namespace kgpu::gpus
