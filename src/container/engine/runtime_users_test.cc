#include "src/container/engine/runtime_users.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/container/engine/test_engine_host.h"

namespace kgpu::engine {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr const char* kProgram = "/usr/local/bin/kgpu-runtime";

TEST(RuntimeUsersTest, AreFoundByTheirBundles) {
  EngineHost host;
  const std::string docker = "run/docker/containerd/daemon/io.containerd.runtime.v2.task/moby/";
  const std::string kubernetes = "run/containerd/io.containerd.runtime.v2.task/k8s.io/";
  host.folder().WriteFile(docker + "aaa/runtime", kProgram);
  host.folder().WriteFile(docker + "bbb/runtime", "runc");
  host.folder().WriteFile(kubernetes + "ccc/options.json",
                          R"({"binary_name":"/usr/local/bin/kgpu-runtime"})");

  EXPECT_THAT(RuntimeUsers(host.root(), kProgram), ElementsAre("aaa", "ccc"));
}

TEST(RuntimeUsersTest, AreFoundByTheirMonitors) {
  EngineHost host;
  host.AddProcess(5, "conmon", {"/usr/bin/conmon", "-c", "ddd", "-r", kProgram});
  host.AddProcess(6, "conmon", {"/usr/bin/conmon", "-c", "eee", "-r", "/usr/bin/runc"});

  EXPECT_THAT(RuntimeUsers(host.root(), kProgram), ElementsAre("ddd"));
}

TEST(RuntimeUsersTest, AHostWithoutContainersHasNone) {
  EngineHost host;

  EXPECT_THAT(RuntimeUsers(host.root(), kProgram), IsEmpty());
}

}  // namespace
}  // namespace kgpu::engine
