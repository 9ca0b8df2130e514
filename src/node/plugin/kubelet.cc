#include "src/node/plugin/kubelet.h"

#include <deviceplugin_v1beta1.grpc.pb.h>
#include <fcntl.h>
#include <grpcpp/grpcpp.h>
#include <sys/stat.h>

#include <utility>

#include "src/platform/rpc/channel.h"
#include "src/platform/rpc/status_map.h"

namespace kgpu::plugin {
namespace {

constexpr char kApiVersion[] = "v1beta1";

// State of the call until gRPC is done with it, which may be after its owner is destroyed.
struct CallState {
  std::shared_ptr<grpc::Channel> channel;
  std::unique_ptr<::v1beta1::Registration::Stub> stub;
  grpc::ClientContext context;
  ::v1beta1::RegisterRequest request;
  ::v1beta1::Empty reply;
  // Loop thread only; empty once the owner is gone.
  std::function<void(Status)> done;
};

class Call final : public RegisterCall {
 public:
  explicit Call(std::shared_ptr<CallState> state) : state_(std::move(state)) {}
  ~Call() override {
    state_->done = nullptr;
    state_->context.TryCancel();
  }

 private:
  std::shared_ptr<CallState> state_;
};

}  // namespace

KubeletPaths::KubeletPaths(std::string kubelet_dir)
    : device_plugins(kubelet_dir + "/device-plugins"),
      registration_socket(device_plugins + "/kubelet.sock"),
      plugins_registry(kubelet_dir + "/plugins_registry"),
      pod_resources(std::move(kubelet_dir) + "/pod-resources/kubelet.sock") {
}

std::optional<SocketIdentity> IdentityOf(const std::string& path) {
  struct statx file = {};
  if (statx(AT_FDCWD, path.c_str(), AT_SYMLINK_NOFOLLOW, STATX_TYPE | STATX_INO | STATX_BTIME,
            &file) != 0 ||
      !S_ISSOCK(file.stx_mode)) {
    return std::nullopt;
  }
  SocketIdentity identity;
  identity.device = (uint64_t{file.stx_dev_major} << 32) | file.stx_dev_minor;
  identity.inode = file.stx_ino;
  if ((file.stx_mask & STATX_BTIME) != 0) {
    identity.born_ns = file.stx_btime.tv_sec * 1'000'000'000 + file.stx_btime.tv_nsec;
  }
  return identity;
}

std::unique_ptr<RegisterCall> StartRegister(EventLoop& loop, UniqueFd fd,
                                            const RegisterRequest& request,
                                            std::chrono::milliseconds deadline,
                                            std::function<void(Status)> done) {
  auto state = std::make_shared<CallState>();
  state->channel = rpc::ChannelOver(std::move(fd));
  state->stub = ::v1beta1::Registration::NewStub(state->channel);
  state->context.set_deadline(std::chrono::system_clock::now() + deadline);
  state->request.set_version(kApiVersion);
  state->request.set_endpoint(request.endpoint);
  state->request.set_resource_name(request.resource);
  // Not read by today's kubelets, which ask for the options; older ones may.
  state->request.mutable_options()->set_get_preferred_allocation_available(true);
  state->done = std::move(done);
  state->stub->async()->Register(
      &state->context, &state->request, &state->reply,
      [&loop, state](const grpc::Status& status) mutable {
        // Handed over: whoever destroys the last channel waits for gRPC's threads to end, so it
        // must not be one of them.
        loop.Post([state = std::move(state), outcome = rpc::FromGrpc(status)] {
          if (state->done) {
            std::exchange(state->done, nullptr)(outcome);
          }
        });
      });
  return std::make_unique<Call>(std::move(state));
}

}  // namespace kgpu::plugin
