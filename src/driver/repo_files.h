// Where dnf and zypper get their packages from.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "src/sys/root.h"

namespace kgpu::driver {

struct RpmRepository {
  std::string id;   // "baseos"
  std::string url;  // baseurl, mirrorlist or metalink, as written; empty: none of them
  bool operator==(const RpmRepository&) const = default;
};

// The enabled sections of a .repo file. Source: dnf.conf(5), "REPO OPTIONS"; zypper(8).
std::vector<RpmRepository> ParseRepoFile(std::string_view text);

// Of /etc/yum.repos.d and /etc/zypp/repos.d. What can not be read is left out.
std::vector<RpmRepository> ReadRpmRepositories(const sys::Root& host);

}  // namespace kgpu::driver
