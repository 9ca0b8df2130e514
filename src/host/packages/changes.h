// What an installation changed: compares two package lists.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "src/host/packages/calls.h"
#include "src/host/packages/package_list.h"
#include "src/host/packages/package_manager.h"
#include "src/platform/base/status.h"

namespace kgpu::packages {

// Installed, completely or half: more than its configuration is there.
bool IsPresent(const PackageList& list, const std::string& name);

// Packages that are neither fully installed nor removed.
std::set<std::string> UnfinishedOf(const PackageList& list);
// Whether there are such packages other than `except`.
bool HasUnfinished(const PackageList& list, const std::vector<std::string>& except = {});

// What a manager provides for reverting an installation.
struct Hand {
  std::function<StatusOr<PackageList>()> list;
  // Removes `names`, given what is installed `now`; removes nothing if others would go with them.
  std::function<Status(const std::vector<std::string>& names, const PackageList& now)> take_off;
};

// Reverts a failed installation of `names` by `program`. Removes what came with it: packages that
// were not there `before` and were foreseen. Other new packages are somebody else's, as are all if
// another manager was at work. Returns the cause of `result`, and what could not be removed.
Status EndFailed(const Calls& calls, std::string_view program,
                 const std::vector<std::string>& names, const StatusOr<sys::RunResult>& result,
                 const PackageList& before, const Foreseen& foreseen, const Hand& hand);

}  // namespace kgpu::packages
