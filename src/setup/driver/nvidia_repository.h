// NVIDIA's package repositories: their addresses and package names.
#pragma once

#include <string>
#include <vector>

#include "src/setup/driver/common_steps.h"

namespace kgpu::driver {

// "ubuntu2404", "rhel9", "sles15".
std::string RepositoryTag(const host::Distribution& distribution);
// Without a trailing slash. 64-bit Arm servers are "sbsa" there.
std::string RepositoryUrl(const HostFacts& facts);

// Packages of the plan's branch and kind for computing, without a display, and the fabric manager
// with its companions if this host needs them. The module's package comes first. AddAptBranch pins
// a full version for apt; for dnf, the names do.
std::vector<std::string> AptPackages(const Planning& planning);
std::vector<std::string> DnfPackages(const Planning& planning);
// Those for dnf, without the module's.
void AddDnfUserSpace(const Planning& planning, std::vector<std::string>& names);
// Only what connects GPUs, by its names from branch 580 on; `after` is appended to names that must
// have the driver's version. Empty: nothing connects them.
std::vector<std::string> FabricPackages(const Planning& planning, std::string_view after);

}  // namespace kgpu::driver
