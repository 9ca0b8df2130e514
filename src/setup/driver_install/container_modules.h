// The driver's modules in a folder of the host, loaded from there into its kernel.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "src/platform/base/status.h"
#include "src/platform/sys/root.h"
#include "src/setup/driver/module_facts.h"
#include "src/setup/driver/plan.h"
#include "src/setup/driver_install/container_install.h"

namespace kgpu::driver_install {

// "nvidia-current-uvm.ko.xz" → "nvidia_uvm"; empty: not a driver module. Pure.
std::string ModuleOf(std::string_view file);

// The driver's modules for `kernel` below `root`, by their kernel names: paths below the root. If
// several have one name, the one that depmod(8) has chosen.
std::map<std::string, std::string> FindModules(const sys::Root& root, std::string_view kernel);

// The version of the module loaded in the host's kernel; empty: none.
std::string LoadedVersion(const sys::Root& host);

// What the module at `path` of `root` says about itself. Errors: FailedPrecondition (it is
// unreadable).
StatusOr<driver::ModuleInfo> AskModule(const ContainerDependencies& deps, const sys::Root& root,
                                       const std::string& path);

// Unloads the driver if another version than `version`, or another kind of its modules, is
// loaded. If something uses it, unloads nothing and says what waits for what; empty: the way is
// clear. If a use starts at the last moment, loads what was unloaded again, from the driver's
// folder.
StatusOr<std::string> UnloadOthers(const ContainerDependencies& deps, const std::string& version,
                                   driver::ModuleKind kind, const std::string& kernel);

// Loads the modules in `folder` of the host that are not loaded, with the parameters from
// modprobe.d of the host, the folder and the container, and creates or fixes the device nodes;
// first tells the kernel where the firmware is. Anything skipped adds a note. Errors:
// FailedPrecondition (a module cannot be loaded, with the program's output).
Status LoadFrom(const ContainerDependencies& deps, const std::string& folder,
                const std::string& kernel, std::vector<std::string>& notes);

}  // namespace kgpu::driver_install
