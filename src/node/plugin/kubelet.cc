#include "src/node/plugin/kubelet.h"

#include <deviceplugin_v1beta1.pb.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <utility>

#include "src/platform/net/rpc/one_call.h"

namespace kgpu::plugin {
namespace {

constexpr char kApiVersion[] = "v1beta1";

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

std::unique_ptr<rpc::PendingCall> StartRegister(EventLoop& loop, UniqueFd fd,
                                                const RegisterRequest& request,
                                                std::chrono::milliseconds deadline,
                                                std::function<void(Status)> done) {
  ::v1beta1::RegisterRequest message;
  message.set_version(kApiVersion);
  message.set_endpoint(request.endpoint);
  message.set_resource_name(request.resource);
  // Not read by today's kubelets, which ask for the options; older ones may.
  message.mutable_options()->set_get_preferred_allocation_available(true);
  return rpc::StartCall<::v1beta1::RegisterRequest, ::v1beta1::Empty>(
      loop, std::move(fd), "/v1beta1.Registration/Register", std::move(message), deadline,
      [done = std::move(done)](const StatusOr<::v1beta1::Empty>& reply) { done(reply.status()); });
}

}  // namespace kgpu::plugin
