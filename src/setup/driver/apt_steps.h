// Steps that Debian and Ubuntu have in common.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "src/setup/driver/common_steps.h"

namespace kgpu::driver {

// What the names of Debian's packages have in them that are of a branch beside the release's own,
// for GPUs that end there: "-tesla-470"; empty: it is the release's own.
std::string DebianInfix(const Planning& planning);

// A file of sources with those of `wanted` that the distribution's own archive is not asked for
// yet; no step where nothing is missing.
void AddArchiveComponents(Planning& planning, const std::vector<std::string>& wanted,
                          std::string_view page);
void AddPackageLists(Planning& planning, std::string_view page);
// Headers of the plan's kernel, and what brings those of its updates: without headers DKMS passes a
// new kernel over, and the driver is lost with the next restart.
void AddAptHeaders(Planning& planning, std::string_view page);
// apt takes the driver from Debian's archive, whatever NVIDIA's repository has.
void AddOwnPreference(Planning& planning);
// The driver of a repository that steps before brought: its list is read first.
void AddAptPackages(Planning& planning, std::string_view page, std::string_view lists_title);
// The driver of NVIDIA's repository for this distribution.
void AddNvidiaAptPackages(Planning& planning, std::string_view page);

}  // namespace kgpu::driver
