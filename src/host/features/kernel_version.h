// A Linux kernel's release as features: "6.1.0-18-amd64".
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace kgpu::features {

// full: the release as a label's value can have it. major, minor, revision: its numbers, when it
// begins with such and nothing but "-…" follows them.
std::map<std::string, std::string> ParseKernelVersion(std::string_view release);

}  // namespace kgpu::features
