// Parameters of the driver's modules from modprobe.d: insmod, which loads a module from any folder,
// does not read these files.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "src/platform/sys/root.h"

namespace kgpu::driver_install {

// The "options" lines for NVIDIA's modules in one file's text, by the modules' kernel names. Pure.
// Source: modprobe.d(5).
std::map<std::string, std::string> ParseModuleOptions(std::string_view text);

// From all roots' files; options from later roots come later in the text, where they win.
std::map<std::string, std::string> ReadModuleOptions(const std::vector<const sys::Root*>& roots);

}  // namespace kgpu::driver_install
