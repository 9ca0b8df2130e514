#include "src/node/object/host_facts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/platform/sys/unix_socket.h"
#include "testing/status_matchers.h"
#include "testing/temp_dir.h"

namespace kgpu::node {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(HostFactsTest, FindsPluginsOfOthersThatAnswer) {
  const TempDir dir;
  const auto theirs = sys::UnixListener::Listen(dir.At("nvidia-gpu.sock"), {});
  ASSERT_OK(theirs);
  const auto ours = sys::UnixListener::Listen(dir.At("kgpu-nvidia.com_gpu.sock"), {});
  ASSERT_OK(ours);
  dir.WriteFile("nvidia-left-behind.sock", "");
  EXPECT_THAT(ForeignPluginSockets(dir.path()), ElementsAre("nvidia-gpu.sock"));
  EXPECT_THAT(ForeignPluginSockets(dir.At("none")), IsEmpty());
}

TEST(HostFactsTest, FindsTheFileOfGfd) {
  const TempDir dir;
  const auto root = sys::Root::Open(dir.path());
  ASSERT_OK(root);
  EXPECT_FALSE(HasGfdFile(*root));
  dir.WriteFile("etc/kubernetes/node-feature-discovery/features.d/gfd", "a=b\n");
  EXPECT_TRUE(HasGfdFile(*root));
}

TEST(HostFactsTest, ReadsWhenTheHostStarted) {
  const TempDir dir;
  const auto root = sys::Root::Open(dir.path());
  ASSERT_OK(root);
  EXPECT_THAT(BootTime(*root), StatusIs(StatusCode::kNotFound));
  dir.WriteFile("proc/stat", "cpu  1 2 3\nbtime 1767323045\nprocesses 7\n");
  EXPECT_THAT(BootTime(*root), IsOkAndHolds(WallTime(std::chrono::seconds(1'767'323'045))));
  dir.WriteFile("proc/stat", "btime x\n");
  EXPECT_THAT(BootTime(*root), StatusIs(StatusCode::kUnavailable));
}

}  // namespace
}  // namespace kgpu::node
