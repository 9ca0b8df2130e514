// Parameters of the driver's modules as modprobe.d has them: insmod, which takes a module from any
// folder, reads no such files.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "src/platform/sys/root.h"

namespace kgpu::driver_install {

// Of one file's text: what its "options" lines say of NVIDIA's modules, by the name that the kernel
// knows them by. Pure. Source: modprobe.d(5).
std::map<std::string, std::string> ParseModuleOptions(std::string_view text);

// Of all roots' files; those of a later root come later in the text, where they win.
std::map<std::string, std::string> ReadModuleOptions(const std::vector<const sys::Root*>& roots);

}  // namespace kgpu::driver_install
