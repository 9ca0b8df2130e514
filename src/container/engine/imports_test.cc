#include "src/container/engine/imports.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/container/engine/test_engine_host.h"
#include "testing/status_matchers.h"

namespace kgpu::engine {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::string> Paths(const StatusOr<std::vector<NamedText>>& files) {
  std::vector<std::string> paths;
  if (files.ok()) {
    for (const NamedText& file : *files) {
      paths.push_back(file.path);
    }
  }
  return paths;
}

TEST(ImportsTest, FollowPatternsAndImportsOfImports) {
  EngineHost host;
  host.folder().WriteFile("etc/containerd/conf.d/b.toml", "imports = [\"../more.toml\"]\n");
  host.folder().WriteFile("etc/containerd/conf.d/a.toml", "");
  host.folder().WriteFile("etc/containerd/conf.d/note.txt", "not toml");
  host.folder().WriteFile("etc/containerd/more.toml", "imports = [\"config.toml\"]\n");
  host.folder().WriteFile("opt/x.toml", "");
  const NamedText main{"/etc/containerd/config.toml",
                       "imports = [\"conf.d/*.toml\", \"/opt/x.toml\", \"/opt/gone.toml\"]\n"};

  EXPECT_THAT(Paths(ReadImports(host.root(), main, "/etc/containerd/conf.d/99-kgpu.toml")),
              ElementsAre("/etc/containerd/conf.d/a.toml", "/etc/containerd/conf.d/b.toml",
                          "/opt/x.toml", "/etc/containerd/more.toml"));
}

TEST(ImportsTest, LeaveOurDropInOut) {
  EngineHost host;
  host.folder().WriteFile("etc/containerd/conf.d/99-kgpu.toml", "");
  const NamedText main{"/etc/containerd/config.toml", "imports = [\"/etc/containerd/conf.d/*\"]\n"};

  EXPECT_THAT(Paths(ReadImports(host.root(), main, "/etc/containerd/conf.d/99-kgpu.toml")),
              ElementsAre());
}

TEST(ImportsTest, OfAnotherTypeAreRefused) {
  EngineHost host;

  EXPECT_THAT(ReadImports(host.root(), {"/c.toml", "version = 2\nimports = \"x\"\n"}, ""),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("/c.toml:2")));
  EXPECT_THAT(ReadImports(host.root(), {"/c.toml", "imports = [1]\n"}, ""),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("file names")));
}

}  // namespace
}  // namespace kgpu::engine
