#include "src/container/engine/recipes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/platform/doc/doc.h"
#include "testing/golden.h"
#include "testing/status_matchers.h"

#include <boost/json/value.hpp>

namespace kgpu::engine {
namespace {

Wish Everything() {
  Wish wish;
  wish.runtime = NamedRuntime{};
  wish.set_default = true;
  wish.insecure_registries = {"reg.example:5000"};
  wish.registry_mirrors = {"https://mirror.example"};
  return wish;
}

TEST(RecipesTest, MinikubeGetsItsStartFlags) {
  const auto text = Recipe("minikube", Everything());

  ASSERT_OK(text);
  ExpectGolden("src/container/engine/testdata/minikube.txt", *text);
}

TEST(RecipesTest, MinikubesNodeGetsGpusByCdiUnlessToldOtherwise) {
  const auto text = Recipe("minikube", Wish{});

  ASSERT_OK(text);
  EXPECT_THAT(*text, ::testing::HasSubstr("--gpus=nvidia.com\n"));
}

TEST(RecipesTest, KubesprayGetsGroupVariables) {
  const auto text = Recipe("kubespray", Everything());

  ASSERT_OK(text);
  ExpectGolden("src/container/engine/testdata/kubespray.yml", *text);
  EXPECT_OK(doc::Parse(*text, doc::Format::kYaml, "kubespray.yml"));
}

TEST(RecipesTest, KubesprayNeedsLittleForCdi) {
  const auto text = Recipe("kubespray", Wish{});

  ASSERT_OK(text);
  EXPECT_THAT(*text, ::testing::HasSubstr("enable_cdi: true\n"));
  EXPECT_THAT(*text, ::testing::Not(::testing::HasSubstr("containerd_additional_runtimes")));
}

TEST(RecipesTest, OtherToolsAreRefused) {
  EXPECT_THAT(Recipe("kops", Wish{}), StatusIs(StatusCode::kInvalidArgument));
}

TEST(RecipesTest, KubespraySwitchesCdiOffWhereContainerdHasItOn) {
  Wish wish;
  wish.cdi = false;

  const auto text = Recipe("kubespray", wish);

  ASSERT_OK(text);
  EXPECT_THAT(*text,
              ::testing::HasSubstr("\ncontainerd_extra_runtime_args:\n  enable_cdi: false\n"));
  EXPECT_THAT(*text, ::testing::Not(::testing::HasSubstr("\nenable_cdi:")));
}

}  // namespace
}  // namespace kgpu::engine
