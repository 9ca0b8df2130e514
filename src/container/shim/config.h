// What an admin decides about kgpu-runtime: /etc/kgpu/runtime.json.
// docs/how-it-works/runtime-shim.md has the reasons for the defaults.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "src/container/inject/capability.h"
#include "src/platform/base/status.h"
#include "src/platform/sys/root.h"

namespace kgpu::shim {

inline constexpr std::string_view kConfigPath = "/etc/kgpu/runtime.json";
inline constexpr size_t kConfigLimit = size_t{64} << 10;

struct Config {
  // The real runtime, the first that is there: names, looked for in fixed folders, or whole paths.
  std::vector<std::string> runtimes = {"runc", "crun"};
  // Whose word is taken when a container asks for GPUs. An image can set its environment, and some
  // engines copy an image's annotations; a mount of /dev/null it cannot bring along. Docker's
  // --gpus counts always.
  bool accept_env = false;
  bool accept_annotations = false;
  bool accept_mounts = true;
  // For containers that do not set NVIDIA_DRIVER_CAPABILITIES.
  inject::CapabilitySet default_capabilities = inject::kDefaultCapabilities;
  // A folder of this host with CUDA's forward-compatibility libraries; empty: never used.
  std::string cuda_compat;
  // Of the grants; refusals are in the file AuditFile() says. Empty: no audit.
  std::string audit_log = "/var/log/kgpu/runtime.log";
  bool operator==(const Config&) const = default;
};

// JSON; a field that is not there has its default. Errors: InvalidArgument naming `file`, the field
// and for an unknown one the nearest.
StatusOr<Config> ParseConfig(std::string_view text, std::string_view file);

// Every field, with a newline at the end.
std::string PrintConfig(const Config& config);

// The config below `root`; the defaults where there is none. Errors: as ParseConfig,
// PermissionDenied.
StatusOr<Config> ReadConfig(const sys::Root& root);

}  // namespace kgpu::shim
