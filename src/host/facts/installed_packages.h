// Packages that a host has, as its package managers list them.
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
  bool is_held = false;        // an admin forbade its change
  bool is_unfinished = false;  // its files are here, and it is not configured: its script failed
  bool operator==(const InstalledPackage&) const = default;
};

inline constexpr size_t kPackagesLimit = size_t{64} << 20;  // of a list of them, in bytes

// By name, without architecture: of several the last one listed.
using Packages = std::map<std::string, InstalledPackage>;

// Those of dpkg's status file whose files are here, configured or not. Source: deb-control(5),
// dpkg(1) "PACKAGE STATES".
Packages ParseDpkgStatus(std::string_view text);

// Lines of "name\tversion", as `rpm -qa --queryformat` is asked for. Others are left out.
Packages ParseRpmList(std::string_view text);

// What rpm lists of packages whose names match: "*nvidia*", "*". Its database is no text: its own
// program reads it. Errors: NotFound (it is not here), FailedPrecondition, those of the runner.
StatusOr<Packages> AskRpm(const sys::Root& host, sys::ProgramRunner& runner,
                          const std::string& pattern);

// A package of NVIDIA's driver by its name, whoever made it, and none of the containers'.
bool IsDriverPackage(std::string_view name);
// One that holds the kernel modules, or their sources.
bool IsModulePackage(std::string_view name);

// The part of a package's version that its makers gave: "3:580.95.05-1.el9" → "580.95.05".
std::string UpstreamVersion(std::string_view version);

}  // namespace kgpu::host
