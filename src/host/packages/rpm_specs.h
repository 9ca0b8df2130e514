// How to name packages to rpm and its front ends.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "src/host/packages/package_list.h"
#include "src/host/packages/rpm_front.h"

namespace kgpu::packages {

// Those of `names` that are not installed: each a name, a name with a version, or "name=version".
std::vector<std::string> Missing(const std::vector<std::string>& names, const PackageList& list);

// A key as the programs take it: "glibc:i686" becomes "glibc.i686".
std::string SpecOf(std::string key);
// A key as a removal takes it: zypper needs the version after "=", even if the key has it after a
// minus.
std::string RemovalSpecOf(Front front, const std::string& key, const std::string& version);
// A package in one exact version: "glibc-2:2.34-1.el9.i686" for dnf, "glibc.i686=2:2.34-1" for
// zypper. A key that includes its version already has it without the epoch. Source: dnf(8),
// "SPECIFYING PACKAGES"; zypper(8), "install".
std::string WholeSpecOf(Front front, const std::string& key, const std::string& version);
// The request in the form that an installation takes.
std::string InstallSpecOf(Front front, const std::string& asked);

// The key for rpm's "name-version-release.arch"; empty: the list has no such package.
std::string KeyOf(const PackageList& list, std::string_view named);

}  // namespace kgpu::packages
