// Steps that the families with dnf have in common.
#pragma once

#include <string>
#include <string_view>

#include "src/setup/driver/common_steps.h"

namespace kgpu::driver {

std::string Dnf(const HostFacts& facts);
// dnf 5 has another grammar for its repositories.
bool HasDnf5(const HostFacts& facts);

// NVIDIA's packages are grouped by streams of a module.
bool HasStreams(const HostFacts& facts);

// The plugins of dnf, once, whoever asks for them first.
void AddRepositoryTool(Planning& planning, std::string_view page,
                       std::string_view title = "install the tools that add repositories");
void AddDnfRepository(Planning& planning, std::string_view page);
// DKMS is not Red Hat's: it comes from EPEL, which itself wants a repository that is off by
// default. Nothing to do on other families, and where it is.
void AddDkmsSources(Planning& planning);
// The development files of the plan's kernel.
void AddDnfHeaders(Planning& planning, std::string_view page);
// The stream of NVIDIA's module, e.g. "580-open" or "580-dkms".
void AddModuleStream(Planning& planning, const std::string& stream, std::string_view page);
// Where there are no streams: the branch is held by a lock on versions.
void AddVersionLock(Planning& planning);

}  // namespace kgpu::driver
