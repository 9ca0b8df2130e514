// A Linux kernel's release as features: "6.1.0-18-amd64".
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace kgpu::features {

// full: the release as a valid label value. major, minor, revision: its numbers, if it starts with
// them and only "-…" follows.
std::map<std::string, std::string> ParseKernelVersion(std::string_view release);

}  // namespace kgpu::features
