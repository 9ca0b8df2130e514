// An admin's settings for kgpu-runtime: /etc/kgpu/runtime.json. docs/how-it-works/runtime-shim.md
// explains the defaults.
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
  // The real runtime, the first that exists: names, searched in fixed folders, or full paths.
  std::vector<std::string> runtimes = {"runc", "crun"};
  // Which parts of a spec may request GPUs. An image can set its environment, and some engines
  // copy an image's annotations; it cannot bring a mount of /dev/null. Docker's --gpus always
  // counts.
  bool accept_env = false;
  bool accept_annotations = false;
  bool accept_mounts = true;
  // For containers that do not set NVIDIA_DRIVER_CAPABILITIES.
  inject::CapabilitySet default_capabilities = inject::kDefaultCapabilities;
  // A folder on this host with CUDA's forward-compatibility libraries; empty: never used.
  std::string cuda_compat;
  // For grants; AuditFile() names the file for refusals. Empty: no audit.
  std::string audit_log = "/var/log/kgpu/runtime.log";
  bool operator==(const Config&) const = default;
};

// JSON; missing fields have their defaults. Errors: InvalidArgument naming `file` and the field;
// for an unknown field, also the nearest known one.
StatusOr<Config> ParseConfig(std::string_view text, std::string_view file);

// Every field, with a newline at the end.
std::string PrintConfig(const Config& config);

// The config below `root`; the defaults if there is none. Errors: as ParseConfig,
// PermissionDenied.
StatusOr<Config> ReadConfig(const sys::Root& root);

}  // namespace kgpu::shim
