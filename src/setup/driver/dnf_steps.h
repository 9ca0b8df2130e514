// Steps that the families with dnf share.
#pragma once

#include <string>
#include <string_view>

#include "src/setup/driver/common_steps.h"

namespace kgpu::driver {

std::string Dnf(const HostFacts& facts);
// dnf 5 has another syntax for its repositories.
bool HasDnf5(const HostFacts& facts);

// NVIDIA's packages are grouped by streams of a module.
bool HasStreams(const HostFacts& facts);

// The plugins of dnf, added once, by the first step that needs them.
void AddRepositoryTool(Planning& planning, std::string_view page);
void AddDnfRepository(Planning& planning, std::string_view page);
// DKMS is not part of Red Hat: it comes from EPEL, which itself needs a repository that is off by
// default. Adds nothing on other families, or if DKMS is available.
void AddDkmsSources(Planning& planning);
// The development files of the plan's kernel.
void AddDnfHeaders(Planning& planning, std::string_view page);
// Selects the stream of NVIDIA's module, e.g. "580-open" or "580-dkms".
void AddModuleStream(Planning& planning, const std::string& stream, std::string_view page);
// Without streams: a version lock holds the branch.
void AddVersionLock(Planning& planning);

}  // namespace kgpu::driver
