#include "src/functions/spec/image_name.h"

#include <gmock/gmock.h>

#include "testing/status_matchers.h"

namespace kgpu::functions {
namespace {

using ::testing::HasSubstr;

struct NameCase {
  const char* registry;
  const char* image;
  const char* name;
};

TEST(ImageNameTest, HasRegistryAndTag) {
  constexpr NameCase kCases[] = {
      {"", "", "localhost/kgpu-fn/hello:latest"},
      {"registry:5000", "", "registry:5000/kgpu-fn/hello:latest"},
      {"", "hello", "localhost/hello:latest"},
      {"", "team/hello:v1", "localhost/team/hello:v1"},
      {"registry:5000", "hello:v1", "registry:5000/hello:v1"},
      {"registry:5000/team/", "hello", "registry:5000/team/hello:latest"},
      {"registry:5000", "registry:5000/hello", "registry:5000/hello:latest"},
      {"other:5000", "registry:5000/hello:v2", "registry:5000/hello:v2"},
      {"team", "team/hello", "localhost/team/hello:latest"},
      {"", "localhost/hello", "localhost/hello:latest"},
      {"", "docker.io/team/hello", "docker.io/team/hello:latest"},
  };
  for (const auto& [registry, image, name] : kCases) {
    const Function function{.name = "hello", .docker_registry = registry, .image = image};
    EXPECT_EQ(ImageNameOf(function), name) << registry << " and " << image;
  }
}

TEST(ImageNameTest, ReplacesTheTagAlone) {
  EXPECT_EQ(WithTag("registry:5000/hello:v1", "3f9c"), "registry:5000/hello:3f9c");
  EXPECT_EQ(WithTag("registry:5000/hello", "3f9c"), "registry:5000/hello:3f9c");
  EXPECT_EQ(WithTag("a.b/hello@sha256:00", "3f9c"), "a.b/hello:3f9c");
}

TEST(ImageNameTest, RefusesToPushWithoutRegistry) {
  EXPECT_THAT(CheckCanPush({.name = "hello", .image = "hello"}),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("functions.hello.image")));
  EXPECT_OK(CheckCanPush({.name = "hello", .image = "registry:5000/hello"}));
}

}  // namespace
}  // namespace kgpu::functions
