#include "src/cluster/run/placement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "testing/status_matchers.h"

namespace kgpu::run {
namespace {

namespace json = boost::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

NodeGpus Node(const char* name, const char* labels, const char* resources) {
  return ReadNodeGpus(json::parse(
      fmt::format(R"({{"metadata":{{"name":"{}","labels":{}}},"status":{{"allocatable":{}}}}})",
                  name, labels, resources)));
}

constexpr const char* kA100 = R"({"kgpu.dev/gpu.model.A100-SXM4-80GB.count":"8",
    "kgpu.dev/gpu.model.A100-SXM4-80GB.memory":"81920","nvidia.com/gpu.memory":"81920",
    "nvidia.com/cuda.driver-version.full":"535.104.05"})";
constexpr const char* kT4 = R"({"kgpu.dev/gpu.model.T4.count":"4",
    "kgpu.dev/gpu.model.T4.memory":"15360","nvidia.com/gpu.memory":"15360",
    "nvidia.com/cuda.driver-version.full":"470.82.01"})";
constexpr const char* kBoth = R"({"kgpu.dev/gpu.model.A100-SXM4-80GB.count":"2",
    "kgpu.dev/gpu.model.A100-SXM4-80GB.memory":"81920","kgpu.dev/gpu.model.T4.count":"4",
    "kgpu.dev/gpu.model.T4.memory":"15360","nvidia.com/gpu.memory":"15360"})";
constexpr const char* kFourGpus = R"({"nvidia.com/gpu":"4","cpu":"64"})";

RunRequest Request(std::vector<std::string> models = {}, int64_t memory_mib = 0) {
  return {.models = std::move(models), .memory_mib = memory_mib};
}
std::string AffinityText(const Placement& placement) {
  return json::serialize(placement.affinity);
}

TEST(PlacementTest, ReadsLabelsOfEachModel) {
  const NodeGpus node = Node("n", kBoth, kFourGpus);
  EXPECT_EQ(node.models.size(), 2U);
  EXPECT_EQ(node.models.at("T4"), 15360);
  EXPECT_EQ(node.resources.size(), 1U);
  EXPECT_EQ(node.resources.at("nvidia.com/gpu"), 4);
}

TEST(PlacementTest, WithoutRequestsThereAreNoRules) {
  const auto placement = Place(Request(), std::nullopt, {Node("n", kT4, kFourGpus)});
  ASSERT_OK(placement);
  EXPECT_EQ(placement->resource, "nvidia.com/gpu");
  EXPECT_THAT(placement->affinity, IsEmpty());
}

TEST(PlacementTest, ModelsAndMemoryAreRequired) {
  const auto placement = Place(Request({"A100-SXM4-80GB"}, 40960), std::nullopt, {});
  ASSERT_OK(placement);
  EXPECT_EQ(
      AffinityText(*placement),
      R"({"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[)"
      R"({"matchExpressions":[)"
      R"({"key":"kgpu.dev/gpu.model.A100-SXM4-80GB.count","operator":"Exists"},)"
      R"({"key":"kgpu.dev/gpu.model.A100-SXM4-80GB.memory","operator":"Gt","values":["40959"]}]},)"
      R"({"matchExpressions":[{"key":"nvidia.com/gpu.product","operator":"In","values":[)"
      R"("A100-SXM4-80GB","A100-SXM4-80GB-SHARED","NVIDIA-A100-SXM4-80GB",)"
      R"("NVIDIA-A100-SXM4-80GB-SHARED","Tesla-A100-SXM4-80GB","Tesla-A100-SXM4-80GB-SHARED"]},)"
      R"({"key":"nvidia.com/gpu.memory","operator":"Gt","values":["40959"]}]}]}}})");
}

TEST(PlacementTest, MemoryOfOneGpuComesFromTheSmallestSlices) {
  const std::vector<NodeGpus> nodes = {
      Node("a", kA100, R"({"nvidia.com/gpu":"4","nvidia.com/gpu-40gi":"1"})"),
      Node("b", kA100, R"({"nvidia.com/gpu-20gi":"3","nvidia.com/gpu-10gi":"2"})"),
      Node("c", kA100, R"({"nvidia.com/gpu-16gi":"0"})")};
  const auto resource = [&](RunRequest request) {
    const auto placement = Place(request, std::nullopt, nodes);
    EXPECT_OK(placement);
    return placement.ok() ? placement->resource : "";
  };
  EXPECT_EQ(resource(Request({}, 12 * 1024)), "nvidia.com/gpu-20gi");
  EXPECT_EQ(resource(Request({"A100-SXM4-80GB"}, 20 * 1024)), "nvidia.com/gpu-20gi");
  EXPECT_EQ(resource(Request({}, 21 * 1024)), "nvidia.com/gpu-40gi");
  EXPECT_EQ(resource(Request({}, 41 * 1024)), "nvidia.com/gpu");
  // Slices are parts of one GPU.
  RunRequest two = Request({}, 12 * 1024);
  two.gpus = 2;
  EXPECT_EQ(resource(two), "nvidia.com/gpu");
  EXPECT_EQ(resource(Request({"A100-SXM4-80GB"})), "nvidia.com/gpu");
}

TEST(PlacementTest, EarlierModelsArePreferred) {
  const auto placement = Place(Request({"H100-SXM5-80GB", "T4"}), std::nullopt, {});
  ASSERT_OK(placement);
  const json::array& preferred = placement->affinity.at("nodeAffinity")
                                     .at("preferredDuringSchedulingIgnoredDuringExecution")
                                     .as_array();
  ASSERT_EQ(preferred.size(), 4U);
  EXPECT_EQ(preferred[0].at("weight"), 100);
  EXPECT_THAT(json::serialize(preferred[0]), HasSubstr("H100-SXM5-80GB"));
  EXPECT_EQ(preferred[2].at("weight"), 90);
  EXPECT_THAT(json::serialize(preferred[2]), HasSubstr("T4"));
}

TEST(PlacementTest, ThePoolOfAModelIsUsed) {
  const NodeGpus pooled =
      Node("n", kBoth, R"({"nvidia.com/gpu-A100-SXM4-80GB":"2","nvidia.com/gpu-T4":"4"})");
  const auto placement = Place(Request({"A100-SXM4-80GB"}), std::nullopt, {pooled});
  ASSERT_OK(placement);
  EXPECT_EQ(placement->resource, "nvidia.com/gpu-A100-SXM4-80GB");
  EXPECT_THAT(AffinityText(*placement), Not(HasSubstr("DoesNotExist")));
}

TEST(PlacementTest, AResourceThatMixesModelsIsAvoided) {
  const auto placement = Place(Request({"A100-SXM4-80GB"}), std::nullopt,
                               {Node("mixed", kBoth, kFourGpus), Node("pure", kA100, kFourGpus)});
  ASSERT_OK(placement);
  EXPECT_EQ(placement->resource, "nvidia.com/gpu");
  EXPECT_THAT(AffinityText(*placement),
              HasSubstr(R"({"key":"kgpu.dev/gpu.model.T4.count","operator":"DoesNotExist"})"));
}

TEST(PlacementTest, TheResourceThatIsNamedIsUsed) {
  RunRequest request = Request();
  request.resource = "nvidia.com/gpu.shared";
  const auto placement = Place(request, std::nullopt, {Node("n", kT4, kFourGpus)});
  ASSERT_OK(placement);
  EXPECT_EQ(placement->resource, "nvidia.com/gpu.shared");
}

TEST(PlacementTest, NodesWithAnOldDriverAreLeftOut) {
  const auto cuda = ParseCuda("12.4", "--cuda");
  ASSERT_OK(cuda);
  const auto placement =
      Place(Request(), *cuda, {Node("old", kT4, kFourGpus), Node("new", kA100, kFourGpus)});
  ASSERT_OK(placement);
  EXPECT_THAT(
      AffinityText(*placement),
      HasSubstr(R"("nvidia.com/cuda.driver-version.major","operator":"Gt","values":["524"])"));
  EXPECT_EQ(placement->notes.size(), 1U);
  EXPECT_THAT(AffinityText(*placement), Not(HasSubstr("DoesNotExist")));
}

TEST(PlacementTest, NodesWithoutADriversLabelStayBesideAnOldOne) {
  const auto placement = Place(Request(), *ParseCuda("12.4", "--cuda"),
                               {Node("old", kT4, kFourGpus), Node("unlabelled", "{}", kFourGpus)});
  ASSERT_OK(placement);
  EXPECT_EQ(
      AffinityText(*placement),
      R"({"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[)"
      R"({"matchExpressions":[{"key":"nvidia.com/cuda.driver-version.major","operator":"Gt",)"
      R"("values":["524"]}]},)"
      R"({"matchExpressions":[{"key":"nvidia.com/cuda.driver-version.major",)"
      R"("operator":"DoesNotExist"}]}]}}})");
  EXPECT_THAT(placement->notes, ElementsAre(HasSubstr("or one that no label names")));
}

TEST(PlacementTest, FailsIfNoDriverRunsTheImage) {
  const auto cuda = ParseCuda("12.4.1", "its tag");
  ASSERT_OK(cuda);
  EXPECT_EQ(cuda->update, 1U);
  EXPECT_THAT(Place(Request(), *cuda, {Node("old", kT4, kFourGpus)}),
              StatusIs(StatusCode::kFailedPrecondition,
                       HasSubstr("CUDA 12.4 (its tag) does not run on the nodes with the GPUs: old "
                                 "has driver 470.82.01")));
}

TEST(PlacementTest, ADriverThatIsNotLabelledIsNotJudged) {
  const auto placement =
      Place(Request(), *ParseCuda("12.4", "--cuda"), {Node("n", "{}", kFourGpus)});
  ASSERT_OK(placement);
  EXPECT_THAT(placement->affinity, IsEmpty());
}

}  // namespace
}  // namespace kgpu::run
