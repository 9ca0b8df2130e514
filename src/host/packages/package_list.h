// What package managers print of the packages of a host, as values.
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
  kUnfinished,  // unpacked or half-configured: a run was cut off, or a script of it failed
  kConfigOnly,  // removed, its configuration is still there
};

struct Package {
  std::string version;  // as the package manager prints it: "535.261.03-1~deb12u1"
  State state = State::kWhole;
  bool operator==(const Package&) const = default;
};

// By the name that a removal takes. One that is of another architecture than the host's has it
// behind a colon: whatever is installed later, the key of a package stays what it is.
using PackageList = std::map<std::string, Package>;

// The fields of a line for ParseDpkgQuery, as `dpkg-query --show --showformat` is asked for them.
inline constexpr std::string_view kDpkgFormat =
    "${db:Status-Abbrev}\\t${Package}\\t${Architecture}\\t${Version}\\n";
// Source: dpkg-query(1), "db:Status-Abbrev". Lines that are none are left out.
PackageList ParseDpkgQuery(std::string_view text);

// The same for ParseRpmQuery, as `rpm -qa --queryformat` is asked for them.
inline constexpr std::string_view kRpmFormat =
    "%{NAME}\\t%|EPOCH?{%{EPOCH}:}:{}|%{VERSION}-%{RELEASE}\\t%{ARCH}\\n";
// Of packages that stand beside older ones of their name, kernels and keys, the key is
// "name-version-release". Source: rpm-queryformat(7).
PackageList ParseRpmQuery(std::string_view text);
// How the names of rpm's keys begin, which it lists as packages.
inline constexpr std::string_view kRpmKey = "gpg-pubkey-";

// A key of a list without the version that it may end with: "kernel-devel" of
// "kernel-devel-5.14.0-1", "kernel-devel:i686" of "kernel-devel-5.14.0-1:i686".
std::string NameOf(std::string_view key, std::string_view version);
std::string_view WithoutEpoch(std::string_view version);

// What apt-get --simulate would do to which packages. Source: apt-get(8), "--simulate".
struct Simulated {
  std::vector<std::string> installed;
  std::vector<std::string> removed;
  bool operator==(const Simulated&) const = default;
};
Simulated ParseAptSimulation(std::string_view text);

// The packages that `dnf --assumeno` or yum's says it would install, replace or remove, of the
// table it prints: by name, of another architecture than the host's with that behind a colon.
std::set<std::string> ParseDnfTrial(std::string_view text);
// The same of `zypper --xmlout install --dry-run`. Source: its schema, install-summary.
std::set<std::string> ParseZypperTrial(std::string_view text);

// Who needs what `rpm -e --test` was asked to remove: of "x is needed by (installed) y" each y.
std::vector<std::string> ParseRpmNeeds(std::string_view text);

// Files of the configuration whose text was changed, of lines of `rpm --verify`:
// "S.5....T.  c /etc/a.conf". Source: rpm(8), "VERIFY OPTIONS".
std::vector<std::string> ParseRpmVerify(std::string_view text);

}  // namespace kgpu::packages
