// Steps that Debian and Ubuntu share.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "src/setup/driver/common_steps.h"

namespace kgpu::driver {

// The part of Debian's package names that stands for an older branch, kept for GPUs whose support
// ends there: "-tesla-470"; empty: the release's own branch.
std::string DebianInfix(const Planning& planning);

// Writes a sources file with those of `wanted` that the distribution's own archive does not provide
// yet; adds no step if none is missing.
void AddArchiveComponents(Planning& planning, const std::vector<std::string>& wanted,
                          std::string_view page);
void AddPackageLists(Planning& planning, std::string_view page);
// Headers of the plan's kernel, and the package that brings those of its updates: without headers
// DKMS skips a new kernel, and the next restart comes up without the driver.
void AddAptHeaders(Planning& planning, std::string_view page);
// Makes apt take the driver from Debian's archive, whatever NVIDIA's repository has.
void AddOwnPreference(Planning& planning);
// Installs the driver from a repository that earlier steps added: reads its list first.
void AddAptPackages(Planning& planning, std::string_view page, std::string_view lists_title);
// Installs the driver from NVIDIA's repository for this distribution.
void AddNvidiaAptPackages(Planning& planning, std::string_view page);

}  // namespace kgpu::driver
