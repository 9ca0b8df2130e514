// Commands for fixes, adapted to this host: its packages, its boot loader, what it has loaded. Pure
// functions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "src/diagnose/doctor/facts.h"

namespace kgpu::doctor {

// Package names in each family.
struct Packages {
  std::string debian;
  std::string ubuntu;
  std::string rhel;
  std::string suse;
};
// The command that installs them; "# …" if the family is unknown.
std::string InstallCommand(const Facts& facts, const Packages& packages);
// The command with which kgpu installs a driver that suits the host; empty: it knows no packages.
std::string InstallByKgpu(const Facts& facts);
// The same for packages of NVIDIA's driver, with a note on where this family gets them.
std::vector<std::string> InstallDriver(const Facts& facts, const Packages& packages);
std::string ReinstallCommand(const Facts& facts, const std::string& package);
// Commands that update a package to its newest version, and show what holds it back.
std::vector<std::string> UpdateCommands(const Facts& facts, const std::string& package);

// The loaded driver's branch, "535", as used in Ubuntu's package names; "BRANCH" if unknown.
std::string BranchOf(const Facts& facts);
// "-server" or nothing: which of Ubuntu's two package lines this host uses. apt removes one to
// install the other, so a fix must not switch.
std::string_view UbuntuLine(const Facts& facts);

// The command that rebuilds the initial RAM disk.
std::string InitramfsCommand(const Facts& facts);
// Commands that permanently add a parameter to the kernel's command line.
std::vector<std::string> AddKernelParameter(const Facts& facts, std::string_view parameter);

// Commands that unload the module and load the one on the disk.
std::vector<std::string> ReloadCommands(const Facts& facts);

// The command that restarts this host's kubelet, whatever its unit is called; words for a person if
// it has none.
std::string RestartKubelet(const KubeletFacts& kubelet);
// The same after the unit's files were changed.
std::string ReloadKubelet(const KubeletFacts& kubelet);
// The command that shows the end of the kubelet's log.
std::string KubeletLog(const KubeletFacts& kubelet);

// For a host without systemd: turns commands that need it into words for people.
void DropSystemd(std::vector<std::string>& fix);

}  // namespace kgpu::doctor
