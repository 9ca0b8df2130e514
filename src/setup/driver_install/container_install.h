// The driver in a container: installed in the container's own root, copied into a folder of the
// host, loaded from there. What a container mounts of its own root is gone with it, as an init
// container's is before the first pod comes: a copy stays, also over restarts of the host.
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
// Beside it while it is made, and what it replaces before that is removed.
inline constexpr std::string_view kStagingFolder = "/var/lib/kgpu/driver-root.new";
// Below both: written last, so that a folder that has it is whole.
inline constexpr std::string_view kStampFile = "kgpu-driver.json";

struct Stamp {
  // Releases that modules are there for, the one built last first.
  std::vector<std::string> kernels;
  std::string version;  // of the driver, whole
  driver::ModuleKind kind = driver::ModuleKind::kOpen;
  std::string config;  // all that was asked for, as a text to compare
  bool operator==(const Stamp&) const = default;
};
std::string PrintStamp(const Stamp& stamp);
// Errors: InvalidArgument, naming `file` and the field.
StatusOr<Stamp> ParseStamp(std::string_view text, std::string_view file);

// All of it outlives the call.
struct ContainerDependencies {
  Dependencies host;                // `packages` is not used
  const sys::Root& container;       // our own root, whose programs unload modules
  Trees& trees;                     // of the host
  std::function<Status()> install;  // brings the driver into the container's root
  // False: a folder that no kernel runs; modules and device nodes are passed over.
  bool is_running_system = true;
};

struct ContainerRequest {
  std::string kernel;  // that the host runs
  std::string config;
  std::string driver_dir;  // of the host: becomes a link to kDriverFolder; that itself: none
};

enum class ContainerResult : uint8_t {
  kHostHasOwn,  // a driver of the host's own is there: nothing was done
  kWasThere,    // nothing was built
  kInstalled,
  kWaits,  // for the GPUs of another driver to be free, or a restart: nothing was put in place
};
struct ContainerOutcome {
  ContainerResult result = ContainerResult::kWasThere;
  std::string version;
  std::string text;                 // of kWaits: for what
  std::vector<std::string> passed;  // of the verification
  std::vector<std::string> notes;
};

// Brings the driver into the folder, unless the one there is of this kernel and request, and loads
// it. Killed at any instant, the next call completes it; the folder is the old one or the new one
// until then. Modules of the kernel before this one are kept, where the driver is the same. The
// caller holds LockHost of `host`. Errors: FailedPrecondition (modules of a driver that kgpu did
// not bring, something that the installation lacks), and those of `install`.
StatusOr<ContainerOutcome> InstallFromContainer(const ContainerRequest& request,
                                                const ContainerDependencies& deps);

// Whether InstallFromContainer would build nothing: kHostHasOwn or kWasThere, or nothing where it
// would build. Changes nothing. Errors: as there.
StatusOr<std::optional<ContainerOutcome>> LookFromContainer(const ContainerRequest& request,
                                                            const ContainerDependencies& deps);

}  // namespace kgpu::driver_install
