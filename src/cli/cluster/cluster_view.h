// What `kgpu cluster install`, `upgrade` and `uninstall` have done, for people and programs.
#pragma once

#include <boost/json/object.hpp>

#include <string>

#include "src/cluster/install/installer.h"
#include "src/cluster/install/uninstaller.h"

namespace kgpu::cli {

// A line for each object that is not unchanged, with the fields that differ below it; `is_dry_run`
// says "would be".
std::string InstallText(const install::InstallReport& report, bool is_dry_run);
boost::json::object InstallJson(const install::InstallReport& report, bool is_dry_run);

std::string UninstallText(const install::UninstallReport& report, bool is_dry_run);
boost::json::object UninstallJson(const install::UninstallReport& report, bool is_dry_run);

}  // namespace kgpu::cli
