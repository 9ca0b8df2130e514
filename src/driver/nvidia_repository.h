// NVIDIA's package repositories: where they are, and what their packages are called.
#pragma once

#include <string>
#include <vector>

#include "src/driver/common_steps.h"

namespace kgpu::driver {

// "ubuntu2404", "rhel9", "sles15".
std::string RepositoryTag(const Distribution& distribution);
// Without a slash at the end. 64-bit Arm servers are "sbsa" there.
std::string RepositoryUrl(const HostFacts& facts);

// Packages of the plan's branch and kind for computing, without a display; fabric manager and what
// goes with it where this host needs them. The module's package first.
std::vector<std::string> AptPackages(const Planning& planning);
std::vector<std::string> DnfPackages(const Planning& planning);

}  // namespace kgpu::driver
