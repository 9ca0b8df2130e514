// What the chart makes of twelve sets of values, and the files of deploy/ that are made from it.
#include "testing/golden.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "src/cluster/chart/chart.h"
#include "src/cluster/chart/test_value_sets.h"
#include "testing/status_matchers.h"

namespace kgpu::chart {
namespace {

constexpr const char* kHead =
    "# The output of `kgpu cluster render`: change deploy/chart, then run tools/update_goldens.\n"
    "#   kubectl apply -f deploy/manifests/kgpu.yaml\n";

std::vector<Manifest> RenderSet(const ValueSet& set) {
  const auto values = ReadValues(set.request);
  EXPECT_OK(values);
  auto manifests = values.ok() ? Render(*values) : StatusOr<std::vector<Manifest>>(values.status());
  EXPECT_OK(manifests);
  return manifests.ok() ? *std::move(manifests) : std::vector<Manifest>();
}

class ChartGoldenTest : public ::testing::TestWithParam<ValueSet> {};

TEST_P(ChartGoldenTest, RendersAsBefore) {
  const ValueSet& set = GetParam();
  const std::string text = PrintYaml(RenderSet(set));
  if (set.name == "default") {
    ExpectGolden("deploy/manifests/kgpu.yaml", kHead + text);
  } else {
    ExpectGolden(fmt::format("src/cluster/chart/testdata/{}.yaml", set.name), text);
  }
}

INSTANTIATE_TEST_SUITE_P(Sets, ChartGoldenTest, ::testing::ValuesIn(TestValueSets(KGPU_SOURCE_DIR)),
                         [](const auto& set) { return set.param.name; });

TEST(KustomizeGoldenTest, TheKustomizeBaseIsTheDefault) {
  std::set<std::string> paths;
  for (const OutputFile& file : KustomizeFolder(RenderSet({.name = "default", .request = {}}))) {
    ExpectGolden("deploy/kustomize/" + file.path, file.text);
    paths.insert(file.path);
  }
  for (const auto& entry : std::filesystem::directory_iterator(
           std::filesystem::path(KGPU_SOURCE_DIR) / "deploy/kustomize")) {
    EXPECT_TRUE(paths.contains(entry.path().filename()))
        << entry.path() << " is in no kustomization";
  }
}

}  // namespace
}  // namespace kgpu::chart
