// What an installation changed, of two lists of packages.
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

// Installed, wholly or half: more than its configuration is there.
bool IsPresent(const PackageList& list, const std::string& name);

// What is neither whole nor gone.
std::set<std::string> UnfinishedOf(const PackageList& list);
// Whether there is such besides these.
bool HasUnfinished(const PackageList& list, const std::vector<std::string>& except = {});

// What a manager does for TakeBack.
struct Hand {
  std::function<StatusOr<PackageList>()> list;
  // Takes off, of what is `now` there; nothing where others would go with it.
  std::function<Status(const std::vector<std::string>& names, const PackageList& now)> take_off;
};

// Ends an installation of `names` by `program` that went wrong with `result`. Takes off what came
// with it: what was not there `before` and was foreseen. What came besides is others', as is all
// that came while another manager was at work. Returns the cause, with what stayed nevertheless.
Status EndFailed(const Calls& calls, std::string_view program,
                 const std::vector<std::string>& names, const StatusOr<sys::RunResult>& result,
                 const PackageList& before, const Foreseen& foreseen, const Hand& hand);

}  // namespace kgpu::packages
