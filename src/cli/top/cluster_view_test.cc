#include "src/cli/top/cluster_view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <string>
#include <vector>

#include "src/cli/top/frame.h"
#include "src/cli/top/test_documents.h"
#include "testing/golden.h"

namespace kgpu::top {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

gpus::Summary Fleet() {
  gpus::Summary summary;
  for (size_t i = 0; i < 6; ++i) {
    const std::string node = fmt::format("gpu-{}", i);
    gpus::NodePool pool{.node = node,
                        .resource = "nvidia.com/gpu",
                        .model = i < 3 ? "H100-SXM5-80GB" : "A100-SXM4-80GB",
                        .counts = {.total = 8, .used = i, .free = 8 - i}};
    if (i == 4) {
      pool.counts = {.total = 8, .used = 4, .unhealthy = 4};
      pool.problem = "GPUReady is False: DriverNoLibrary: run kgpu doctor";
    }
    if (i > 0) {
      summary.holders.push_back({.space = i % 2 == 0 ? "research" : "team-a",
                                 .pod = fmt::format("train-{}", i),
                                 .claim = i == 3 ? "gpu" : "",
                                 .node = node,
                                 .resource = "nvidia.com/gpu",
                                 .count = i});
    }
    summary.pools.push_back(std::move(pool));
  }
  for (size_t i = 0; i < 3; ++i) {  // the agents of the others do not answer
    summary.uses.push_back({.node = fmt::format("gpu-{}", i),
                            .model = "H100-SXM5-80GB",
                            .resource = "nvidia.com/gpu",
                            .utilization = 20.0 * static_cast<double>(i),
                            .memory_used = uint64_t{10} << 30,
                            .memory_total = uint64_t{80} << 30});
  }
  summary.pending = {
      {.space = "research", .pod = "waits", .resource = "nvidia.com/gpu", .count = 8}};
  summary.unreadable = {"resourceclaims: forbidden"};
  return summary;
}

constexpr char kTime[] = "2026-11-29T21:00:00Z";

std::vector<std::string> Names(const View& view) {
  std::vector<std::string> names;
  names.reserve(view.rows.size());
  for (const Row& row : view.rows) {
    names.push_back(row.id);
  }
  return names;
}

TEST(ClusterViewTest, FitsScreensOfAllWidths) {
  for (const size_t columns : {60U, 80U, 200U}) {
    std::string text;
    for (size_t grouping = 0; grouping < 4; ++grouping) {
      State state{.list = {.toggled = {"node/gpu-4", "namespace/team-a", "pool/nvidia.com/gpu",
                                       "model/A100-SXM4-80GB"},
                           .grouping = grouping}};
      const terminal::Size size = {.columns = columns, .rows = 16};
      const View view = ClusterView(Fleet(), kTime, state.list, ColumnsFor(size), kUtf8);
      for (const terminal::Line& line : FrameOf(view, state, size, kUtf8)) {
        EXPECT_LE(line.width(), columns);
        text += Render(line, kUtf8) + "\n";
      }
    }
    ExpectGolden(fmt::format("src/cli/top/testdata/cluster-{}.txt", columns), text);
  }
}

TEST(ClusterViewTest, SortsAndFilters) {
  EXPECT_THAT(Names(ClusterView(Fleet(), kTime, {.filter = "research", .grouping = 3}, 79, kUtf8)),
              ElementsAre("namespace/research"));
  EXPECT_THAT(Names(ClusterView(Fleet(), kTime, {.sort = 3, .grouping = 1}, 79, kUtf8)),
              ElementsAre("model/A100-SXM4-80GB", "model/H100-SXM5-80GB"));
  const View by_use = ClusterView(Fleet(), kTime, {.sort = 1}, 79, kUtf8);
  ASSERT_THAT(by_use.rows, SizeIs(6));
  EXPECT_EQ(by_use.rows[0].id, "node/gpu-5");
  EXPECT_EQ(by_use.rows[5].id, "node/gpu-0");
}

TEST(ClusterViewTest, PodsCanBeExplained) {
  const View view = ClusterView(Fleet(), kTime, {.toggled = {"node/gpu-3"}}, 79, kUtf8);
  ASSERT_THAT(view.rows, SizeIs(7));
  EXPECT_EQ(view.rows[4].target, (Target{.kind = TargetKind::kPod, .name = "team-a/train-3"}));
  EXPECT_THAT(view.rows[4].line.text(), HasSubstr("claim gpu"));
}

TEST(ClusterViewTest, CsvHasALineForEachGroup) {
  EXPECT_EQ(ClusterCsv(Fleet(), gpus::GroupBy::kModel),
            "model,total,used,free,unhealthy,cordoned,pending,nodes,models,pools,"
            "utilization_percent,memory_used_bytes,memory_total_bytes\n"
            "A100-SXM4-80GB,24,12,8,4,0,0,3,A100-SXM4-80GB,nvidia.com/gpu,,,\n"
            "H100-SXM5-80GB,24,3,21,0,0,0,3,H100-SXM5-80GB,nvidia.com/gpu,20,32212254720,"
            "257698037760\n");
}

}  // namespace
}  // namespace kgpu::top
