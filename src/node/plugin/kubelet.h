// Where a kubelet keeps its sockets, and how to register a resource with it.
#pragma once

#include <chrono>
#include <compare>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "src/platform/base/event_loop.h"
#include "src/platform/base/status.h"
#include "src/platform/base/unique_fd.h"

namespace kgpu::rpc {
class PendingCall;
}

namespace kgpu::plugin {

// Folders below the kubelet's root, usually /var/lib/kubelet. Source: the kubelet's
// pkg/apis/deviceplugin/v1beta1/constants.go; device-plugins/ does not follow its --root-dir.
struct KubeletPaths {
  explicit KubeletPaths(std::string kubelet_dir);

  std::string device_plugins;       // <root>/device-plugins
  std::string registration_socket;  // <root>/device-plugins/kubelet.sock
  std::string plugins_registry;     // <root>/plugins_registry
  std::string pod_resources;        // <root>/pod-resources/kubelet.sock
};

// Identifies one socket file over time: a later one may have the same inode number.
struct SocketIdentity {
  uint64_t device = 0;
  uint64_t inode = 0;
  int64_t born_ns = 0;  // 0 if the file system has no birth times
  auto operator<=>(const SocketIdentity&) const = default;
};

// Nothing if there is no socket. Source: statx(2).
std::optional<SocketIdentity> IdentityOf(const std::string& path);

struct RegisterRequest {
  std::string endpoint;  // file name in device-plugins/
  std::string resource;
};

// Calls v1beta1.Registration/Register over `fd`, a non-blocking connection to kubelet.sock, and
// `done` on the loop with the result. The kubelet calls back during the call.
std::unique_ptr<rpc::PendingCall> StartRegister(EventLoop& loop, UniqueFd fd,
                                                const RegisterRequest& request,
                                                std::chrono::milliseconds deadline,
                                                std::function<void(Status)> done);

}  // namespace kgpu::plugin
