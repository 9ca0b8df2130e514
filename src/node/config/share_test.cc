#include "src/node/sharing/share.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "src/node/config/node_config.h"
#include "src/node/sharing/memory/memory.h"
#include "src/node/sharing/mig/mig.h"
#include "src/node/sharing/mps/mps.h"
#include "testing/status_matchers.h"

namespace kgpu::config {
namespace {

using sharing::MultipleSlots;
using sharing::ParseSliceSize;
using sharing::Share;
using sharing::SizesOf;
using sharing::SliceOfResource;
using sharing::SliceSize;

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string WithShare(std::string_view share) {
  return fmt::format(
      "apiVersion: kgpu.dev/v1\nkind: NodeConfig\npools:\n- devices: all\n  share: {}\n", share);
}

TEST(ShareTest, SizesAreAmountsOrParts) {
  for (const char* text : {"20Gi", "512Mi", "1/4", "1/1024"}) {
    const auto size = ParseSliceSize(text);
    ASSERT_OK(size);
    EXPECT_EQ(ToString(*size), text);
  }
  EXPECT_EQ(NameOf(*ParseSliceSize("20Gi")), "20gi");
  EXPECT_EQ(NameOf(*ParseSliceSize("1536Mi")), "1536mi");
  EXPECT_EQ(NameOf(*ParseSliceSize("1/4")), "1of4");
  for (const char* text : {"", "2/4", "1/1", "1/0", "1/1025", "1/", "/4", "63Mi", "x", "-1Gi"}) {
    EXPECT_THAT(ParseSliceSize(text), StatusIs(StatusCode::kInvalidArgument)) << text;
  }
}

TEST(ShareTest, AResourceOfSlicesHasItsSizeInItsName) {
  for (const char* size : {"20Gi", "1536Mi", "1Ti"}) {
    const SliceSize slice = *ParseSliceSize(size);
    EXPECT_EQ(SliceOfResource(fmt::format("nvidia.com/gpu-{}", NameOf(slice))), slice.bytes);
  }
  for (const char* name : {"nvidia.com/gpu", "nvidia.com/gpu-1of4", "nvidia.com/gpu-a100-sxm4-80gb",
                           "x.io/a-gi", "x.io/a-i", "x.io/a-", "nvidia.com/mig-1g.10gb"}) {
    EXPECT_EQ(SliceOfResource(name), std::nullopt) << name;
  }
}

TEST(ShareTest, ASliceMayHaveAShareOfTheTime) {
  for (const char* compute : {"1", "25", "100", "proportional"}) {
    const auto config = ParseNodeConfig(
        WithShare(fmt::format("{{by: memory, size: 20Gi, compute: {}}}", compute)), "n.yaml");
    ASSERT_OK(config);
    EXPECT_TRUE(config->pools.front().share.compute.is_set());
    const auto again = ParseNodeConfig(PrintNodeConfig(*config), "n.yaml");
    ASSERT_OK(again);
    EXPECT_EQ(*again, *config) << compute;
  }
  for (const char* compute : {"0", "101", "equal", "[1]", "2.5"}) {
    EXPECT_THAT(
        ParseNodeConfig(WithShare(fmt::format("{{by: memory, size: 20Gi, compute: {}}}", compute)),
                        "n.yaml"),
        StatusIs(StatusCode::kInvalidArgument, HasSubstr("compute")))
        << compute;
  }
  EXPECT_THAT(ParseNodeConfig(WithShare("{by: time, replicas: 4, compute: 25}"), "n.yaml"),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("by: memory")));
}

TEST(ShareTest, SlicesAreReadAndPrinted) {
  for (const char* text :
       {"{by: memory, size: 20Gi}", "{by: memory, size: 1/4, multiple: spread}",
        "{by: memory, layout: [40Gi, 20Gi, 20Gi], context: 400Mi, pinned: true, unknown: flag}"}) {
    const auto config = ParseNodeConfig(WithShare(text), "n.yaml");
    ASSERT_OK(config);
    EXPECT_EQ(ResourceOf(config->pools.front()), "nvidia.com/gpu-{size}");
    const auto again = ParseNodeConfig(PrintNodeConfig(*config), "n.yaml");
    ASSERT_OK(again);
    EXPECT_EQ(*again, *config) << text;
  }
  const auto config = ParseNodeConfig(
      WithShare("{by: memory, layout: [1/2, 10Gi, 10Gi], context: 1Gi, pinned: true}"), "n.yaml");
  ASSERT_OK(config);
  const Share& share = config->pools.front().share;
  EXPECT_EQ(share.by, &sharing::kMemory);
  EXPECT_THAT(share.layout, ElementsAre(SliceSize{.parts = 2}, SliceSize{.bytes = GibiBytes(10)},
                                        SliceSize{.bytes = GibiBytes(10)}));
  EXPECT_THAT(SizesOf(share),
              ElementsAre(SliceSize{.parts = 2}, SliceSize{.bytes = GibiBytes(10)}));
  EXPECT_EQ(share.context, GibiBytes(1));
  EXPECT_TRUE(share.counts_pinned);
}

TEST(ShareTest, MigLayoutsAreReadAndPrinted) {
  for (const char* text :
       {"{by: mig, layout: [3g.40gb, 2g.20gb, 1g.10gb, 1g.10gb+me]}",
        "{by: mig, layout: [1c.3g.40gb, 2c.3g.40gb]}", "{layout: [4g.24gb], by: mig}"}) {
    const auto config = ParseNodeConfig(WithShare(text), "n.yaml");
    ASSERT_OK(config) << text;
    EXPECT_EQ(config->pools.front().share.by, &sharing::kMig);
    const auto again = ParseNodeConfig(PrintNodeConfig(*config), "n.yaml");
    ASSERT_OK(again);
    EXPECT_EQ(*again, *config) << text;
  }
}

TEST(ShareTest, PoolsOfMigLayoutsTakeWholeGpus) {
  const auto config = [](std::string_view more) {
    return fmt::format(
        "apiVersion: kgpu.dev/v1\nkind: NodeConfig\npools:\n- share: {{by: mig, layout: "
        "[7g.80gb]}}\n  {}\n",
        more);
  };
  EXPECT_OK(ParseNodeConfig(config("devices: {model: A100*}"), "n.yaml"));
  EXPECT_OK(ParseNodeConfig(config("resource: x.io/part"), "n.yaml"));
  for (const auto& [more, problem] :
       {std::pair("mig: single", "pools[0].mig: share.by: mig advertises"),
        std::pair("devices: {mig: 1g.10gb}", "pools[0].devices: share.by: mig partitions"),
        std::pair("provider: local", "lends whole GPUs or memory slices: set by: memory")}) {
    EXPECT_THAT(ParseNodeConfig(config(more), "n.yaml"),
                StatusIs(StatusCode::kInvalidArgument, HasSubstr(problem)));
  }
}

TEST(ShareTest, SaysWhatIsWrong) {
  const struct {
    const char* share;
    const char* problem;
  } cases[] = {
      {"{by: memory}", "size: missing: set size, such as 20Gi or 1/4"},
      {"{by: memory, size: 1/4, layout: [1/2]}", "size and layout: set size"},
      {"{by: memory, replicas: 4, size: 1/4}", "replicas is for by: time"},
      {"{by: time, replicas: 4, size: 1/4}", "are for by: memory and by: mps"},
      {"{by: time, replicas: 4, pinned: true}", "are for by: memory and by: mps"},
      {"{by: memory, size: 256Mi}", "a CUDA context takes 320Mi of it"},
      {"{by: memory, layout: [1/2, 1/2, 1/4]}", "more than one device"},
      {"{by: memory, layout: []}", "has 0 sizes: list 1 to 64"},
      {"{by: memory, size: 3/4}", "must be one part of 2 to 1024: 1/4"},
      {"{by: mig}", "layout: missing: list the MIG instances of each GPU"},
      {"{by: mig, layout: [20Gi]}", "has sizes of memory slices"},
      {"{by: mig, layout: []}", "has 0 sizes: list 1 to 64"},
      {"{by: mig, layout: [3g.40gb], multiple: refuse}", "by: mig takes layout alone"},
      {"{by: mig, layout: [3g.40gb], size: 1/4}", "by: mig takes layout alone"},
      {"{by: mig, layout: [3g.40gb], compute: 50}", "onExcess and compute"},
      {"{by: mig, layout: [3g.40gb, 3g.40gb, 1g.10gb]}", "no GPU can have all of it: A100-80GB: "},
      {"{by: mig, layout: [3g.40gb, 2g.10gb]}", "no model has all of these profiles"},
      {"{by: memory, layout: [3g.40gb]}", "3g.40gb is a MIG instance: set by: mig"},
      {"{by: memory, size: 1/4, threads: 20}", "threads is for by: mps: remove it"},
      {"{by: mps, replicas: 4, compute: 25}", "compute: programs run at the same time with MPS"},
      {"{by: mig, layout: [3g.40gb], compute: 25}", "by: mig takes layout alone"},
      {"{by: mig, layout: [3g.40gb], threads: 25}", "threads is for by: mps: remove it"},
      {"{by: space}", "must be time, memory, mps or mig"},
  };
  for (const auto& c : cases) {
    EXPECT_THAT(ParseNodeConfig(WithShare(c.share), "n.yaml"),
                StatusIs(StatusCode::kInvalidArgument, HasSubstr(c.problem)))
        << c.share;
  }
}

TEST(ShareTest, AResourceHasOneSize) {
  const auto config = [](std::string_view resource, std::string_view share) {
    return fmt::format(
        "apiVersion: kgpu.dev/v1\nkind: NodeConfig\npools:\n- resource: {}\n  devices: all\n"
        "  share: {}\n",
        resource, share);
  };
  EXPECT_OK(ParseNodeConfig(config("x.io/slice", "{by: memory, layout: [20Gi, 20Gi]}"), "n.yaml"));
  EXPECT_OK(
      ParseNodeConfig(config("x.io/a-{size}", "{by: memory, layout: [20Gi, 1/2]}"), "n.yaml"));
  EXPECT_THAT(ParseNodeConfig(config("x.io/slice", "{by: memory, layout: [20Gi, 40Gi]}"), "n.yaml"),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("the layout has several sizes")));
  EXPECT_THAT(ParseNodeConfig(config("x.io/a-{size}", "{by: time, replicas: 2}"), "n.yaml"),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("{size} is for pools whose slots")));
}

TEST(MpsShareTest, IsReadAndPrinted) {
  for (const char* text :
       {"{by: mps, replicas: 4}", "{by: mps, replicas: 48, multiple: allow, threads: 50}",
        "{by: mps, size: 20Gi, context: 400Mi, pinned: true, unknown: flag, onExcess: kill}",
        "{by: mps, layout: [1/2, 20Gi, 20Gi]}"}) {
    const auto config = ParseNodeConfig(WithShare(text), "n.yaml");
    ASSERT_OK(config);
    const auto again = ParseNodeConfig(PrintNodeConfig(*config), "n.yaml");
    ASSERT_OK(again);
    EXPECT_EQ(*again, *config) << text;
  }
  const auto config = ParseNodeConfig(WithShare("{by: mps, size: 1/4, threads: 30}"), "n.yaml");
  ASSERT_OK(config);
  const Share& share = config->pools.front().share;
  EXPECT_EQ(share.by, &sharing::kMps);
  EXPECT_EQ(share.threads, 30U);
  EXPECT_EQ(share.multiple, MultipleSlots::kRefuse) << "unless asked for, as NVIDIA's plugin";
  EXPECT_EQ(ResourceOf(config->pools.front()), "nvidia.com/gpu-{size}");
}

TEST(MpsShareTest, ReplicasHaveTheNameOfTheWholeGpu) {
  const auto config = ParseNodeConfig(WithShare("{by: mps, replicas: 4}"), "n.yaml");
  ASSERT_OK(config);
  EXPECT_EQ(ResourceOf(config->pools.front()), "nvidia.com/gpu");
}

TEST(MpsShareTest, SaysWhatIsWrong) {
  const struct {
    const char* share;
    const char* problem;
  } cases[] = {
      {"{by: mps}", "replicas: missing: set replicas, such as 4"},
      {"{by: mps, replicas: 2, size: 1/2}", "only one of replicas, size and layout"},
      {"{by: mps, size: 1/2, layout: [1/2]}", "only one of replicas, size and layout"},
      {"{by: mps, replicas: 49}", "an MPS server takes 48 programs"},
      {"{by: mps, replicas: 2, multiple: spread}", "reaches the MPS server of one device"},
      {"{by: mps, replicas: 2, threads: 101}", "from 1 to 100"},
      {"{by: mps, replicas: 2, threads: 0}", "from 1 to 100"},
      {"{by: mps, size: 256Mi}", "a CUDA context takes 320Mi of it"},
      {"{by: mps, layout: [1/2, 1/2, 1/4]}", "more than one device"},
  };
  for (const auto& c : cases) {
    EXPECT_THAT(ParseNodeConfig(WithShare(c.share), "n.yaml"),
                StatusIs(StatusCode::kInvalidArgument, HasSubstr(c.problem)))
        << c.share;
  }
}

}  // namespace
}  // namespace kgpu::config
