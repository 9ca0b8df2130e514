#include "src/functions/build/containerfile.h"

#include <gmock/gmock.h>

#include "testing/golden.h"
#include "testing/status_matchers.h"

namespace kgpu::functions {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

Function FunctionOf(std::string runtime, std::string file) {
  return {.name = "hello",
          .runtime = std::move(runtime),
          .description = "Says \"hello\" for $5",
          .maintainer = "A. Uthor",
          .handler = {.dir = "./src", .file = std::move(file), .name = "Handler"}};
}

// Base images have the digest of this machine's architecture in their tags.
std::string WithoutTags(std::string text) {
  constexpr std::string_view kBase = "localhost/kgpu-fn-base/";
  for (size_t at = text.find(kBase); at != std::string::npos; at = text.find(kBase, at + 1)) {
    const size_t colon = text.find(':', at);
    text.replace(colon + 1, 12, "TAG");
  }
  return text;
}

std::string TextOf(const Function& function, bool has_dependencies = false) {
  const auto image = ImageRecipeOf(function, has_dependencies);
  EXPECT_OK(image);
  if (!image.ok()) {
    return "";
  }
  const auto text = ContainerfileOf(function, *image, "src");
  EXPECT_OK(text);
  return WithoutTags(text.value_or(""));
}

TEST(ContainerfileGoldenTest, EachRuntime) {
  const std::pair<const char*, const char*> cases[] = {
      {"cpp", "handler.cc"},    {"go", "handler.go"},      {"java", "Handler.java"},
      {"nodejs", "handler.js"}, {"python3", "handler.py"}, {"ruby", "handler.rb"}};
  for (const auto& [runtime, file] : cases) {
    ExpectGolden(fmt::format("src/functions/build/testdata/{}.containerfile", runtime),
                 TextOf(FunctionOf(runtime, file)));
  }
}

TEST(ContainerfileGoldenTest, DependenciesAndChosenImages) {
  ExpectGolden("src/functions/build/testdata/python3-dependencies.containerfile",
               TextOf(FunctionOf("python3", "handler.py"), true));
  Function cuda = FunctionOf("cpp", "handler.cc");
  cuda.base_image = "docker.io/nvidia/cuda:12.4.1-runtime-ubuntu22.04";
  cuda.build_options = {"libjpeg-dev"};
  cuda.build_args = {{"BUILD_IMAGE", "docker.io/nvidia/cuda:12.4.1-devel-ubuntu22.04"},
                     {"CXX", "nvcc"},
                     {"CXXFLAGS", "-DPRICE=\"$5\""}};
  ExpectGolden("src/functions/build/testdata/cpp-cuda.containerfile", TextOf(cuda));
}

TEST(ContainerfileTest, PackagesOfTheAuthorAreInTheBaseImages) {
  Function function = FunctionOf("cpp", "handler.cc");
  const auto plain = ImageRecipeOf(function, false);
  function.build_options = {"libjpeg-dev", "g++"};
  const auto image = ImageRecipeOf(function, false);
  ASSERT_OK(plain);
  ASSERT_OK(image);
  EXPECT_THAT(image->run.debian->packages,
              ::testing::ElementsAre("g++", "libjpeg-dev", "libstdc++6"));
  EXPECT_THAT(image->build->debian->packages,
              ::testing::ElementsAre("coreutils", "dash", "g++", "libjpeg-dev"));
  EXPECT_NE(image->run.image, plain->run.image);
  EXPECT_THAT(TextOf(function), Not(HasSubstr("apt-get")));
}

TEST(ContainerfileTest, RefusesWhatWouldBecomeAnInstruction) {
  Function function = FunctionOf("cpp", "handler.cc");
  function.build_args = {{"X", "a\nRUN evil"}};
  EXPECT_THAT(ContainerfileOf(function, *ImageRecipeOf(function, false), "src"),
              StatusIs(StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("build_args: X"), HasSubstr("line end"))));
  function.build_args = {};
  function.base_image = "image AS build";
  EXPECT_THAT(ContainerfileOf(function, *ImageRecipeOf(function, false), "src"),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("baseImage")));
  function.base_image = "";
  function.description = "one\nRUN evil";
  EXPECT_THAT(TextOf(function), HasSubstr("description=\"one RUN evil\"\n"));
}

TEST(ContainerfileTest, NamesTheNearestRuntime) {
  EXPECT_THAT(ImageRecipeOf(FunctionOf("pyton3", "handler.py"), false),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("python3")));
}

TEST(RecipeTest, EmptyListsHaveNoPackages) {
  EXPECT_FALSE(ListsPackages("requirements.txt", "# none\n\n"));
  EXPECT_TRUE(ListsPackages("requirements.txt", "# one\nnumpy\n"));
  EXPECT_FALSE(ListsPackages("Gemfile", "source 'https://rubygems.org'\n"));
  EXPECT_TRUE(ListsPackages("Gemfile", "gem 'rack'\n"));
  EXPECT_FALSE(ListsPackages("package.json", R"({"name": "hello", "dependencies": { }})"));
  EXPECT_FALSE(ListsPackages("package.json", R"({"name": "hello"})"));
  EXPECT_TRUE(ListsPackages("package.json", R"({"dependencies": {"left-pad": "1"}})"));
}

}  // namespace
}  // namespace kgpu::functions
