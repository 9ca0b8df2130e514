// The driver's modules in a folder of the host, loaded into its kernel from there.
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

// "nvidia-current-uvm.ko.xz" → "nvidia_uvm"; empty: it is none of the driver's. Pure.
std::string ModuleOf(std::string_view file);

// The driver's modules for `kernel` below `root`, by the name that the kernel knows them by: their
// paths below the root. Of several of one name the one that depmod(8) has chosen.
std::map<std::string, std::string> FindModules(const sys::Root& root, std::string_view kernel);

// The version of the module that the host's kernel has loaded; empty: none.
std::string LoadedVersion(const sys::Root& host);

// What the module at `path` of `root` says of itself. Errors: FailedPrecondition (it cannot be
// asked).
StatusOr<driver::ModuleInfo> AskModule(const ContainerDependencies& deps, const sys::Root& root,
                                       const std::string& path);

// Unloads the driver where another version than `version`, or another kind of its modules, is
// loaded. Where something uses it nothing is unloaded, and the text says what waits for what;
// empty: the way is clear. Used at the last instant, what was unloaded is loaded again, from the
// driver's folder.
StatusOr<std::string> UnloadOthers(const ContainerDependencies& deps, const std::string& version,
                                   driver::ModuleKind kind, const std::string& kernel);

// Loads what is not loaded of the modules in `folder` of the host, with the parameters that
// modprobe.d of the host, the folder and the container give, and makes or fixes the device nodes;
// tells the kernel first where the firmware is. What of it is not done adds a note. Errors:
// FailedPrecondition (a module cannot be loaded, with what the program printed).
Status LoadFrom(const ContainerDependencies& deps, const std::string& folder,
                const std::string& kernel, std::vector<std::string>& notes);

}  // namespace kgpu::driver_install
