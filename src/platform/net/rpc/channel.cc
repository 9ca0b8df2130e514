#include "src/platform/net/rpc/channel.h"

#include <grpcpp/create_channel_posix.h>
#include <grpcpp/grpcpp.h>

#include "src/platform/net/rpc/engine_on_demand.h"

namespace kgpu::rpc {

std::shared_ptr<grpc::Channel> ChannelOver(UniqueFd fd) {
  MakeEngineOnDemand();
  grpc::ChannelArguments arguments;
  constexpr int kReceiveLimit = 16 << 20;
  arguments.SetMaxReceiveMessageSize(kReceiveLimit);
  arguments.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);
  return grpc::CreateCustomInsecureChannelFromFd("unix", fd.Release(), arguments);
}

}  // namespace kgpu::rpc
