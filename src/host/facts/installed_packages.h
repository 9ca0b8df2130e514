// Packages installed on a host, as its package managers list them.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "src/platform/base/status.h"
#include "src/platform/sys/root.h"
#include "src/platform/sys/run.h"

namespace kgpu::host {

struct InstalledPackage {
  std::string version;  // as the package manager prints it: "535.261.03-1~deb12u1", "3:580.95.05-1"
  bool is_held = false;        // an admin forbade changing it
  bool is_unfinished = false;  // unpacked but not configured: its script failed
  bool operator==(const InstalledPackage&) const = default;
};

inline constexpr size_t kPackagesLimit = size_t{64} << 20;  // size limit of a list, in bytes

// By name, without architecture; the last one listed counts if there are several.
using Packages = std::map<std::string, InstalledPackage>;

// Packages in dpkg's status file whose files are installed, configured or not. Source:
// deb-control(5), dpkg(1) "PACKAGE STATES".
Packages ParseDpkgStatus(std::string_view text);

// Lines of "name\tversion", as we ask `rpm -qa --queryformat` to print them. Skips others.
Packages ParseRpmList(std::string_view text);

// rpm's list of packages whose names match: "*nvidia*", "*". Runs rpm, since its database is not a
// text. Errors: NotFound (rpm is not installed), FailedPrecondition, those of the runner.
StatusOr<Packages> AskRpm(const sys::Root& host, sys::ProgramRunner& runner,
                          const std::string& pattern);

// Whether it is a driver package by its name, from any vendor; false for container packages.
bool IsDriverPackage(std::string_view name);
// Whether it contains the kernel modules, or their sources.
bool IsModulePackage(std::string_view name);

// The upstream part of a package version: "3:580.95.05-1.el9" → "580.95.05".
std::string UpstreamVersion(std::string_view version);

}  // namespace kgpu::host
