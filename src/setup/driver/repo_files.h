// The repositories that dnf and zypper use.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "src/platform/sys/root.h"

namespace kgpu::driver {

struct RpmRepository {
  std::string id;    // "baseos"
  std::string url;   // baseurl, mirrorlist or metalink, as written; empty: none
  std::string file;  // "/etc/yum.repos.d/rocky.repo"
  bool is_enabled = true;
  bool operator==(const RpmRepository&) const = default;
};

// Parses the sections of a .repo file. Source: dnf.conf(5), "REPO OPTIONS"; zypper(8).
std::vector<RpmRepository> ParseRepoFile(std::string_view text, std::string_view file);

// From /etc/yum.repos.d and /etc/zypp/repos.d, enabled or disabled by dnf 5's
// /etc/dnf/repos.override.d. Skips what is unreadable. Source: dnf5.conf(5), "Files".
std::vector<RpmRepository> ReadRpmRepositories(const sys::Root& host);

// A module stream that dnf was configured to use or to hide. Source: dnf(8), "Module
// Command".
struct ModuleStream {
  std::string name;          // "580-open"; empty: none was chosen
  bool is_disabled = false;  // the whole module is hidden
  bool operator==(const ModuleStream&) const = default;
};
// From /etc/dnf/modules.d/MODULE.module.
ModuleStream ReadModuleStream(const sys::Root& host, std::string_view module);

// Entries of dnf 4's version lock list: "nvidia-driver-3:580.95.05-1.el10.*". Source:
// dnf-versionlock(8).
std::vector<std::string> ReadLockedVersions(const sys::Root& host);

}  // namespace kgpu::driver
