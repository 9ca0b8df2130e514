// NVIDIA's package repositories: where they are, and what their packages are called.
#pragma once

#include <string>
#include <vector>

#include "src/setup/driver/common_steps.h"

namespace kgpu::driver {

// "ubuntu2404", "rhel9", "sles15".
std::string RepositoryTag(const host::Distribution& distribution);
// Without a slash at the end. 64-bit Arm servers are "sbsa" there.
std::string RepositoryUrl(const HostFacts& facts);

// Packages of the plan's branch and kind for computing, without a display; fabric manager and what
// goes with it where this host needs them. The module's package first. apt keeps to a whole version
// by what AddAptBranch does, dnf by the names.
std::vector<std::string> AptPackages(const Planning& planning);
std::vector<std::string> DnfPackages(const Planning& planning);
// Those of dnf without the module's.
void AddDnfUserSpace(const Planning& planning, std::vector<std::string>& names);
// What joins GPUs, alone, as it is called from branch 580 on; `after` follows the names of what has
// to be of the driver's version. Empty: nothing joins them.
std::vector<std::string> FabricPackages(const Planning& planning, std::string_view after);

}  // namespace kgpu::driver
