// Where dnf and zypper get their packages from.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "src/platform/sys/root.h"

namespace kgpu::driver {

struct RpmRepository {
  std::string id;    // "baseos"
  std::string url;   // baseurl, mirrorlist or metalink, as written; empty: none of them
  std::string file;  // "/etc/yum.repos.d/rocky.repo"
  bool is_enabled = true;
  bool operator==(const RpmRepository&) const = default;
};

// The sections of a .repo file. Source: dnf.conf(5), "REPO OPTIONS"; zypper(8).
std::vector<RpmRepository> ParseRepoFile(std::string_view text, std::string_view file);

// Of /etc/yum.repos.d and /etc/zypp/repos.d, on or off as dnf 5's /etc/dnf/repos.override.d has it.
// What cannot be read is left out. Source: dnf5.conf(5), "Files".
std::vector<RpmRepository> ReadRpmRepositories(const sys::Root& host);

// A stream of a module that dnf was configured to take or to hide. Source: dnf(8), "Module
// Command".
struct ModuleStream {
  std::string name;          // "580-open"; empty: none was chosen
  bool is_disabled = false;  // the whole module is hidden
  bool operator==(const ModuleStream&) const = default;
};
// Of /etc/dnf/modules.d/MODULE.module.
ModuleStream ReadModuleStream(const sys::Root& host, std::string_view module);

// Entries of the list by which dnf 4 holds versions: "nvidia-driver-3:580.95.05-1.el10.*". Source:
// dnf-versionlock(8).
std::vector<std::string> ReadLockedVersions(const sys::Root& host);

}  // namespace kgpu::driver
