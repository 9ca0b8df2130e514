// The folders of a kubelet below its root folder (/var/lib/kubelet on a real node).
#pragma once

#include <string>

#include "src/platform/base/status.h"

namespace kgpu::kubelet {

struct Layout {
  std::string root;  // absolute

  std::string device_plugins() const { return root + "/device-plugins"; }
  std::string plugins_registry() const { return root + "/plugins_registry"; }
  std::string plugins() const { return root + "/plugins"; }
  std::string pod_resources() const { return root + "/pod-resources"; }
  std::string kubelet_socket() const { return device_plugins() + "/kubelet.sock"; }
  std::string pod_resources_socket() const { return pod_resources() + "/kubelet.sock"; }
  // The container runtime's socket.
  std::string cri_socket() const { return root + "/cri.sock"; }
  std::string dra_state() const { return root + "/dra_manager_state"; }
  std::string checkpoint() const { return device_plugins() + "/kubelet_internal_checkpoint"; }
};

// Creates missing folders, with mode 0750. Errors: as ErrnoStatus.
Status MakeFolders(const Layout& layout);

// What a starting kubelet does to its plugin folder: removes every socket directly in it; other
// files stay. Errors: as ErrnoStatus.
Status RemoveSockets(const std::string& folder);

}  // namespace kgpu::kubelet
