// Our own files for registry mirrors and registries without trusted TLS. Docker has keys for both
// in daemon.json; the others read folders of small files.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "src/platform/base/status.h"

namespace kgpu::engine {

struct TextFile {
  std::string path;  // below the host's root
  std::string text;
  bool operator==(const TextFile&) const = default;
};

struct RegistrySettings {
  std::vector<std::string> insecure;  // "registry.example:5000"
  std::vector<std::string> mirrors;   // of docker.io: "https://mirror.example"

  bool IsEmpty() const { return insecure.empty() && mirrors.empty(); }
};

// Errors: InvalidArgument: an insecure registry that is no HOST[:PORT], a mirror that is no http or
// https URL. Docker accepts networks (10.0.0.0/8) as insecure registries; the others do not.
Status CheckRegistries(const RegistrySettings& settings, bool takes_networks);

// containerd: <folder>/<registry>/hosts.toml, which it reads for every pull; `folder` is its
// config_path. Source: containerd's docs/hosts.md.
std::vector<TextFile> ContainerdHosts(const RegistrySettings& settings, std::string_view folder);

// CRI-O and podman: one registries.conf drop-in. Source: containers-registries.conf.d(5).
TextFile ContainersRegistries(const RegistrySettings& settings);

}  // namespace kgpu::engine
