// What an installation changed, of two lists of packages.
#pragma once

#include <string>
#include <vector>

#include "src/base/status.h"
#include "src/packages/package_list.h"

namespace kgpu::packages {

// Installed, wholly or half: more than its configuration is there.
bool IsPresent(const PackageList& list, const std::string& name);

// What is there now, in any state but for its configuration, and was not before.
std::vector<std::string> CameSince(const PackageList& before, const PackageList& now);

// `cause` with what stayed of a failed installation after it was taken back; `now` as it was found
// then, or why it could not be.
Status WithRemains(const Status& cause, const PackageList& before,
                   const StatusOr<PackageList>& now);

}  // namespace kgpu::packages
