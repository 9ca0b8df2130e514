// Output of package managers about a host's packages, as values.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace kgpu::packages {

enum class State : uint8_t {
  kWhole,
  kUnfinished,  // unpacked or half-configured: a run was killed, or its script failed
  kConfigOnly,  // removed, but its configuration is still there
};

struct Package {
  std::string version;  // as the package manager prints it: "535.261.03-1~deb12u1"
  State state = State::kWhole;
  bool operator==(const Package&) const = default;
};

// By the name that a removal takes. A package of a foreign architecture has that after a colon, so
// that its key does not change, whatever is installed later.
using PackageList = std::map<std::string, Package>;

// The line fields for ParseDpkgQuery, as the format for `dpkg-query --show --showformat`.
inline constexpr std::string_view kDpkgFormat =
    "${db:Status-Abbrev}\\t${Package}\\t${Architecture}\\t${Version}\\n";
// Source: dpkg-query(1), "db:Status-Abbrev". Skips invalid lines.
PackageList ParseDpkgQuery(std::string_view text);

// The same for ParseRpmQuery, as the format for `rpm -qa --queryformat`.
inline constexpr std::string_view kRpmFormat =
    "%{NAME}\\t%|EPOCH?{%{EPOCH}:}:{}|%{VERSION}-%{RELEASE}\\t%{ARCH}\\n";
// Packages that are installed beside older versions of themselves, kernels and keys, have the key
// "name-version-release". Source: rpm-queryformat(7).
PackageList ParseRpmQuery(std::string_view text);
// Name prefix of rpm's signing keys, which it lists as packages.
inline constexpr std::string_view kRpmKey = "gpg-pubkey-";

// A key without the version that it may end with: "kernel-devel" of "kernel-devel-5.14.0-1",
// "kernel-devel:i686" of "kernel-devel-5.14.0-1:i686".
std::string NameOf(std::string_view key, std::string_view version);
std::string_view WithoutEpoch(std::string_view version);

// What apt-get --simulate would do, and to which packages. Source: apt-get(8), "--simulate".
struct Simulated {
  std::vector<std::string> installed;
  std::vector<std::string> removed;
  bool operator==(const Simulated&) const = default;
};
Simulated ParseAptSimulation(std::string_view text);

// The packages that `dnf --assumeno`, or yum's, would install, replace or remove, from the table
// that it prints: by name; a foreign architecture follows after a colon.
std::set<std::string> ParseDnfTrial(std::string_view text);
// The same from `zypper --xmlout install --dry-run`. Source: its schema, install-summary.
std::set<std::string> ParseZypperTrial(std::string_view text);

// What needs packages that `rpm -e --test` should remove: y of "x is needed by (installed) y".
std::vector<std::string> ParseRpmNeeds(std::string_view text);

// Changed configuration files, from lines of `rpm --verify`: "S.5....T.  c /etc/a.conf". Source:
// rpm(8), "VERIFY OPTIONS".
std::vector<std::string> ParseRpmVerify(std::string_view text);

}  // namespace kgpu::packages
