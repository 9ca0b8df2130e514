// The driver in a container: installed in the container's own root, copied into a folder of the
// host, loaded from there. What a container mounts from its own root disappears with it, for an
// init container before the first pod starts: a copy stays, even over restarts of the host.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/platform/base/status.h"
#include "src/platform/sys/root.h"
#include "src/setup/driver/plan.h"
#include "src/setup/driver/verify.h"
#include "src/setup/driver_install/carry_out.h"
#include "src/setup/driver_install/container_trees.h"

namespace kgpu::driver_install {

// Where the copy is, on a disk: /run, where others look for a driver, is empty after a restart.
inline constexpr std::string_view kDriverFolder = "/var/lib/kgpu/driver-root";
// Beside it: the copy in progress, then the replaced one until it is removed.
inline constexpr std::string_view kStagingFolder = "/var/lib/kgpu/driver-root.new";
// In both of them: written last, so that a folder with this file is complete.
inline constexpr std::string_view kStampFile = "kgpu-driver.json";

struct Stamp {
  // Releases that have modules, the last one built first.
  std::vector<std::string> kernels;
  std::string version;  // of the driver, full
  driver::ModuleKind kind = driver::ModuleKind::kOpen;
  std::string config;  // the whole request, as a text to compare
  bool operator==(const Stamp&) const = default;
};
std::string PrintStamp(const Stamp& stamp);
// Errors: InvalidArgument naming `file` and the field.
StatusOr<Stamp> ParseStamp(std::string_view text, std::string_view file);

// All of it must outlive the call.
struct ContainerDependencies {
  Dependencies host;                // `packages` is unused
  const sys::Root& container;       // our own root; its programs unload modules
  Trees& trees;                     // of the host
  std::function<Status()> install;  // installs the driver in the container's root
  // False: a folder that no kernel runs; skips modules and device nodes.
  bool is_running_system = true;
};

struct ContainerRequest {
  std::string kernel;  // the one that the host runs
  std::string config;
  std::string driver_dir;  // of the host: becomes a link to kDriverFolder; if equal to it, no link
};

enum class ContainerResult : uint8_t {
  kHostHasOwn,  // the host has a driver of its own: nothing was done
  kWasThere,    // nothing was built
  kInstalled,
  kWaits,  // for the GPUs of another driver to be free, or a restart: nothing was put in place
};
struct ContainerOutcome {
  ContainerResult result = ContainerResult::kWasThere;
  std::string version;
  std::string text;                 // of kWaits: what it waits for
  std::vector<std::string> passed;  // results of the verification
  std::vector<std::string> notes;
};

// Puts the driver into the folder, unless the one there has this kernel and request, and loads it.
// After a kill at any moment, the next call completes it; until then the folder is either the old
// or the new one. Keeps modules of the previous kernel if the driver is the same. The caller holds
// LockHost of `host`. Errors: FailedPrecondition (modules of a driver that kgpu did not install, or
// the installation lacks something), and those of `install`.
StatusOr<ContainerOutcome> InstallFromContainer(const ContainerRequest& request,
                                                const ContainerDependencies& deps);

// Whether InstallFromContainer would build nothing: kHostHasOwn or kWasThere; nothing if it would
// build. Changes nothing. Errors: as there.
StatusOr<std::optional<ContainerOutcome>> LookFromContainer(const ContainerRequest& request,
                                                            const ContainerDependencies& deps);

}  // namespace kgpu::driver_install
