#include "src/node/plugin/endpoint_core.h"

#include <deviceplugin_v1beta1.grpc.pb.h>
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <chrono>
#include <future>

#include "src/platform/net/rpc/channel.h"
#include "src/platform/sys/unix_socket.h"
#include "testing/fake_loop.h"
#include "testing/status_matchers.h"
#include "testing/temp_dir.h"

namespace kgpu::plugin {
namespace {

using ::testing::HasSubstr;

// The pod's events show it.
TEST(EndpointCoreTest, AnAllocationThatWaitsWhenTheResourceGoesGetsTheReason) {
  const TempDir dir;
  FakeLoop loop;
  auto core = EndpointCore::Create(loop, "nvidia.com/gpu", dir.At("s"), [] {}, {}, {});
  ASSERT_OK(core);
  ASSERT_TRUE((*core)->EnsureSocket());
  const auto channel = rpc::ChannelOver(sys::ConnectUnix(dir.At("s")).value());
  ASSERT_TRUE(loop.WaitForDescriptor(std::chrono::seconds(20)));
  auto answer = std::async(std::launch::async, [&channel] {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::minutes(1));
    v1beta1::AllocateResponse response;
    return v1beta1::DevicePlugin::NewStub(channel)->Allocate(&context, v1beta1::AllocateRequest(),
                                                             &response);
  });
  // The timer of its patience.
  while (loop.timers() == 0 &&
         answer.wait_for(std::chrono::milliseconds(1)) != std::future_status::ready) {
    loop.RunUntilIdle();
  }
  core->reset();
  const grpc::Status status = answer.get();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_THAT(status.error_message(), HasSubstr("configuration has changed"));
}

}  // namespace
}  // namespace kgpu::plugin
