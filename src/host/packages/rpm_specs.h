// How packages are named to rpm and the programs before it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "src/host/packages/package_list.h"
#include "src/host/packages/rpm_front.h"

namespace kgpu::packages {

// Those of `names` that are not there: each a name, a name with a version, or "name=version".
std::vector<std::string> Missing(const std::vector<std::string>& names, const PackageList& list);

// A key as the programs take it: "glibc:i686" is "glibc.i686".
std::string SpecOf(std::string key);
// A key as a removal takes it: zypper wants a version behind "=", also where the key has it behind
// a minus.
std::string RemovalSpecOf(Front front, const std::string& key, const std::string& version);
// A package in its very version: "glibc-2:2.34-1.el9.i686" for dnf, "glibc.i686=2:2.34-1" for
// zypper. A key that has its version in it already has it without the epoch. Source: dnf(8),
// "SPECIFYING PACKAGES"; zypper(8), "install".
std::string WholeSpecOf(Front front, const std::string& key, const std::string& version);
// What is asked for, as an installation takes it.
std::string InstallSpecOf(Front front, const std::string& asked);

// The key of what rpm names "name-version-release.arch"; empty: the list has no such package.
std::string KeyOf(const PackageList& list, std::string_view named);

}  // namespace kgpu::packages
