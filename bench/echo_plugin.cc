// The least a device plugin on gRPC can be: eight fixed devices, one registration, empty answers.
// The floor of bench/agent_bench.cc. With a driver's library it waits for XIDs itself, and each
// makes its fourth device unhealthy for a moment.
//   echo-plugin KUBELET_DIR [NVML_LIBRARY]
#include <deviceplugin_v1beta1.grpc.pb.h>
#include <grpcpp/grpcpp.h>
#include <poll.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "bench/event_floor.h"
#include "src/platform/net/rpc/channel.h"
#include "src/platform/net/rpc/server.h"
#include "src/platform/sys/unix_socket.h"

namespace {

using kgpu::sys::ConnectUnix;
using kgpu::sys::UnixListener;
using v1beta1::DevicePlugin;

// How long a fault is shown.
constexpr std::chrono::milliseconds kFault{50};

// Writes the list once, and again with each call of Show.
class ListStream final : public grpc::ServerWriteReactor<v1beta1::ListAndWatchResponse> {
 public:
  ListStream() {
    for (int i = 0; i < 8; ++i) {
      auto* device = list_.add_devices();
      device->set_id("GPU-0000000" + std::to_string(i) + "-0000-0000-0000-000000000000");
      device->set_health("Healthy");
    }
    StartWrite(&list_);
  }
  // The former list has been written.
  void Show(const char* health) {
    list_.mutable_devices(3)->set_health(health);
    StartWrite(&list_);
  }
  void OnWriteDone(bool) override {}
  void OnCancel() override { Finish(grpc::Status::CANCELLED); }
  void OnDone() override { delete this; }

 private:
  v1beta1::ListAndWatchResponse list_;
};

class Echo final : public DevicePlugin::CallbackService {
 public:
  grpc::ServerUnaryReactor* GetDevicePluginOptions(grpc::CallbackServerContext* context,
                                                   const v1beta1::Empty*,
                                                   v1beta1::DevicePluginOptions*) override {
    return Finish(context);
  }
  grpc::ServerWriteReactor<v1beta1::ListAndWatchResponse>* ListAndWatch(
      grpc::CallbackServerContext*, const v1beta1::Empty*) override {
    auto* stream = new ListStream();
    stream_ = stream;
    return stream;
  }
  // One kubelet that stays is all that this knows.
  void ShowFault() {
    if (ListStream* stream = stream_) {
      stream->Show("Unhealthy");
      std::this_thread::sleep_for(kFault);
      stream->Show("Healthy");
    }
  }
  grpc::ServerUnaryReactor* Allocate(grpc::CallbackServerContext* context,
                                     const v1beta1::AllocateRequest*,
                                     v1beta1::AllocateResponse* response) override {
    response->add_container_responses();
    return Finish(context);
  }

 private:
  std::atomic<ListStream*> stream_ = nullptr;

  static grpc::ServerUnaryReactor* Finish(grpc::CallbackServerContext* context) {
    grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
    reactor->Finish(grpc::Status::OK);
    return reactor;
  }
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2 && argc != 3) {
    (void)std::fputs("usage: echo-plugin KUBELET_DIR [NVML_LIBRARY]\n", stderr);
    return 2;
  }
  const std::string folder = std::string(argv[1]) + "/device-plugins";
  Echo echo;
  const auto server = kgpu::rpc::Server::Start({&echo}).value();
  UnixListener listener = UnixListener::Listen(folder + "/echo.sock", {}).value();
  auto fd = ConnectUnix(folder + "/kubelet.sock");
  if (!fd.ok()) {
    return 1;
  }
  const auto stub = v1beta1::Registration::NewStub(kgpu::rpc::ChannelOver(*std::move(fd)));
  v1beta1::RegisterRequest request;
  request.set_version("v1beta1");
  request.set_endpoint("echo.sock");
  request.set_resource_name("example.com/echo");
  v1beta1::Empty empty;
  grpc::ClientContext context;
  stub->async()->Register(&context, &request, &empty, [](const grpc::Status&) {});
  std::optional<kgpu::bench::EventFloor> events;
  if (argc == 3) {
    events.emplace(argv[2], [&echo] { echo.ShowFault(); });
  }
  for (;;) {
    pollfd ready = {.fd = listener.fd(), .events = POLLIN, .revents = 0};
    if (poll(&ready, 1, -1) > 0) {
      auto connection = listener.Accept().value_or(std::nullopt);
      if (connection) {
        server->Serve(*std::move(connection));
      }
    }
  }
}
