#include "src/container/engine/recipes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/platform/doc/doc.h"
#include "testing/golden.h"
#include "testing/status_matchers.h"

#include <boost/json/value.hpp>

namespace kgpu::engine {
namespace {

Settings Everything() {
  Settings settings;
  settings.runtime = NamedRuntime{};
  settings.set_default = true;
  settings.insecure_registries = {"reg.example:5000"};
  settings.registry_mirrors = {"https://mirror.example"};
  return settings;
}

TEST(RecipesTest, MinikubeGetsItsStartFlags) {
  const auto text = Recipe("minikube", Everything());

  ASSERT_OK(text);
  ExpectGolden("src/container/engine/testdata/minikube.txt", *text);
}

TEST(RecipesTest, MinikubesNodeGetsGpusByCdiUnlessConfiguredOtherwise) {
  const auto text = Recipe("minikube", Settings{});

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
  const auto text = Recipe("kubespray", Settings{});

  ASSERT_OK(text);
  EXPECT_THAT(*text, ::testing::HasSubstr("enable_cdi: true\n"));
  EXPECT_THAT(*text, ::testing::Not(::testing::HasSubstr("containerd_additional_runtimes")));
}

TEST(RecipesTest, OtherToolsAreRefused) {
  EXPECT_THAT(Recipe("kops", Settings{}), StatusIs(StatusCode::kInvalidArgument));
}

TEST(RecipesTest, KubespraySwitchesCdiOffWhereContainerdHasItOn) {
  Settings settings;
  settings.cdi = false;

  const auto text = Recipe("kubespray", settings);

  ASSERT_OK(text);
  EXPECT_THAT(*text,
              ::testing::HasSubstr("\ncontainerd_extra_runtime_args:\n  enable_cdi: false\n"));
  EXPECT_THAT(*text, ::testing::Not(::testing::HasSubstr("\nenable_cdi:")));
}

}  // namespace
}  // namespace kgpu::engine
