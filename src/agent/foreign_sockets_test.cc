#include "src/agent/foreign_sockets.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/sys/unix_socket.h"
#include "testing/status_matchers.h"
#include "testing/temp_dir.h"

namespace kgpu::agent {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(ForeignSocketsTest, SeesThoseOfNvidiaThatSomebodyAnswersOn) {
  const TempDir dir;
  const auto listen = [&dir](const char* name) {
    return sys::UnixListener::Listen(dir.At(name), {});
  };
  const auto gpu = listen("nvidia-gpu.sock");
  const auto gke = listen("nvidiaGPU.sock");
  const auto ours = listen("kgpu-nvidia.com_gpu.sock");
  const auto other = listen("rdma.sock");
  ASSERT_OK(gpu);
  ASSERT_OK(gke);
  dir.WriteFile("nvidia-stale.sock", "");
  EXPECT_THAT(FindForeignSockets(dir.path()), ElementsAre("nvidia-gpu.sock", "nvidiaGPU.sock"));
}

TEST(ForeignSocketsTest, AFolderThatIsNotThereHasNone) {
  EXPECT_THAT(FindForeignSockets("/nonexistent"), IsEmpty());
}

}  // namespace
}  // namespace kgpu::agent
