// The commands of fixes, as this host takes them: by its packages, its way of booting, what it has
// loaded. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "src/diagnose/doctor/facts.h"

namespace kgpu::doctor {

// Names of packages in each family.
struct Packages {
  std::string debian;
  std::string ubuntu;
  std::string rhel;
  std::string suse;
};
// The command that installs them; "# …" where the family is not known.
std::string InstallCommand(const Facts& facts, const Packages& packages);
// The command by which kgpu brings a driver that suits the host; empty: it knows no packages here.
std::string InstallByKgpu(const Facts& facts);
// The same for packages of NVIDIA's driver: with a word on where this family has them from.
std::vector<std::string> InstallDriver(const Facts& facts, const Packages& packages);
std::string ReinstallCommand(const Facts& facts, const std::string& package);
// Commands that bring one package to its newest version, and show what holds it back.
std::vector<std::string> UpdateCommands(const Facts& facts, const std::string& package);

// "535" of the loaded driver: Ubuntu's packages are named so; "BRANCH" where it is not known.
std::string BranchOf(const Facts& facts);
// "-server" or nothing: which of Ubuntu's two lines of packages this host has. apt takes one away
// for the other, so a fix must not change it.
std::string_view UbuntuLine(const Facts& facts);

// The command that builds the initial RAM disk again.
std::string InitramfsCommand(const Facts& facts);
// Commands that add a parameter to the kernel's command line for good.
std::vector<std::string> AddKernelParameter(const Facts& facts, std::string_view parameter);

// Commands that take the loaded module out and load the one on the disk.
std::vector<std::string> ReloadCommands(const Facts& facts);

// The command that starts the kubelet of this host again, whatever its unit is called; words for a
// person where it has none.
std::string RestartKubelet(const KubeletFacts& kubelet);
// The same after its unit's files were changed.
std::string ReloadKubelet(const KubeletFacts& kubelet);
// The command that shows the kubelet's last words.
std::string KubeletLog(const KubeletFacts& kubelet);

// For a host without systemd: commands that ask for it become words for people.
void DropSystemd(std::vector<std::string>& fix);

}  // namespace kgpu::doctor
