// The installed driver: its module, its libraries and its packages are of one version.
#include <algorithm>
#include <array>
#include <iterator>
#include <set>

#include <fmt/format.h>

#include "src/platform/base/strings.h"
#include "src/setup/doctor/check.h"
#include "src/setup/doctor/commands.h"
#include "src/setup/doctor/facts.h"

namespace kgpu::doctor {
namespace {

bool HasLibraries(const Facts& facts, std::string_view version) {
  return std::ranges::find(facts.driver.library_versions, version) !=
         facts.driver.library_versions.end();
}

std::set<std::string> PackageVersions(const Facts& facts) {
  std::set<std::string> versions;
  for (const auto& [name, version] : facts.install.packages) {
    versions.insert(version);
  }
  return versions;
}

void Mismatch(const Facts& facts, Findings& findings) {
  const host::DriverFacts& driver = facts.driver;
  if (!driver.module_version.empty() && !driver.library_versions.empty() &&
      !HasLibraries(facts, driver.module_version)) {
    std::vector<std::string> mend = ReloadCommands(facts);
    mend.emplace_back("reboot   # where it does not go");
    findings.Add(fmt::format("the loaded module is {}, the libraries are {}", driver.module_version,
                             Join(driver.library_versions, ", ")),
                 std::move(mend));
  }
}

void NoLibraries(const Facts& facts, Findings& findings) {
  if (facts.driver.is_nvidia_loaded && facts.driver.library_versions.empty()) {
    std::vector<std::string> mend =
        InstallDriver(facts, {.debian = "libcuda1 libnvidia-ml1 nvidia-smi",
                              .ubuntu = fmt::format("libnvidia-compute-{0}{1} nvidia-utils-{0}{1}",
                                                    BranchOf(facts), UbuntuLine(facts)),
                              .rhel = "nvidia-driver-cuda",
                              .suse = "nvidia-compute-utils-G06"});
    mend.insert(mend.begin(),
                "# a driver that lies in a container: name its place with --driver-root");
    findings.Add(fmt::format("module {} is loaded, no libcuda or libnvidia-ml below {}",
                             facts.driver.module_version, facts.driver.driver_root),
                 std::move(mend));
  }
}

void SeveralLibraries(const Facts& facts, Findings& findings) {
  const host::DriverFacts& driver = facts.driver;
  if (driver.library_versions.size() > 1 &&
      (driver.module_version.empty() || HasLibraries(facts, driver.module_version))) {
    findings.Add(fmt::format("libraries of {}", Join(driver.library_versions, ", ")),
                 {"ls -l /usr/lib*/libcuda.so.* /usr/lib/*/libcuda.so.*",
                  "# remove those of the versions that no package owns", "ldconfig"});
  }
}

void PackagesDiffer(const Facts& facts, Findings& findings) {
  if (PackageVersions(facts).size() < 2) {
    return;
  }
  std::vector<std::string> names;
  for (const auto& [name, version] : facts.install.packages) {
    names.push_back(fmt::format("{} {}", name, version));
  }
  findings.Add(Join(names, ", "), UpdateCommands(facts, facts.install.packages.begin()->first));
}

void InstalledTwice(const Facts& facts, Findings& findings) {
  if (facts.install.has_runfile && !facts.install.packages.empty()) {
    findings.Add(
        fmt::format("/usr/bin/nvidia-uninstall is there, and so is the package {}",
                    facts.install.packages.begin()->first),
        {"nvidia-uninstall", ReinstallCommand(facts, facts.install.packages.begin()->first)});
  }
}

void ReloadPending(const Facts& facts, Findings& findings) {
  const std::optional<DkmsModule>& dkms = facts.kernel.dkms;
  const std::string& loaded = facts.driver.module_version;
  if (dkms && dkms->is_built && !loaded.empty() && dkms->version != loaded &&
      HasLibraries(facts, loaded)) {
    findings.Add(
        fmt::format("module {} is loaded, {} is built for this kernel", loaded, dkms->version),
        ReloadCommands(facts));
  }
}

void NoUvm(const Facts& facts, Findings& findings) {
  const bool is_blacklisted = std::ranges::any_of(
      facts.kernel.blacklist, [](const Blacklisted& line) { return line.module == "nvidia_uvm"; });
  if (facts.driver.is_nvidia_live && !facts.driver.is_uvm_loaded && !is_blacklisted) {
    findings.Add("nvidia is loaded, nvidia_uvm is not",
                 {"modprobe nvidia-uvm", "nvidia-modprobe -u -c=0"});
  }
}

void HalfLoaded(const Facts& facts, Findings& findings) {
  if (facts.driver.is_nvidia_loaded && !facts.driver.is_nvidia_live) {
    findings.Add("/proc/modules has nvidia as loading or unloading",
                 {"dmesg | tail", "reboot   # where it stays so"});
  }
}

void NoFirmware(const Facts& facts, Findings& findings) {
  if (facts.driver.is_open_module && !facts.install.has_firmware) {
    std::vector<std::string> mend =
        InstallDriver(facts, {.debian = "firmware-nvidia-gsp",
                              .ubuntu = fmt::format("nvidia-firmware-{}{}-{}", BranchOf(facts),
                                                    UbuntuLine(facts), facts.driver.module_version),
                              .rhel = "nvidia-kmod-common",
                              .suse = "kernel-firmware-nvidia-gspx-G06"});
    std::ranges::move(ReloadCommands(facts), std::back_inserter(mend));
    findings.Add(fmt::format("no /lib/firmware/nvidia/{}", facts.driver.module_version),
                 std::move(mend));
  }
}

void StaleCache(const Facts& facts, Findings& findings) {
  if (!facts.driver.library_versions.empty() && !facts.install.is_cuda_in_cache.value_or(true)) {
    findings.Add("/etc/ld.so.cache has no libcuda.so.1, though it is installed", {"ldconfig"});
  }
}

constexpr std::array kDriverChecks = {
    Check{"driver-version-mismatch", "Module and libraries are of different versions",
          Severity::kError,
          "An update replaced the libraries while the old module was loaded: every program gets "
          "\"Driver/library version mismatch\" until the module is reloaded.",
          Mismatch},
    Check{"driver-libraries-missing", "The driver's libraries are not there", Severity::kError,
          "The module alone is of no use to programs: CUDA and NVML come with the user-space "
          "packages, or lie in a driver container.",
          NoLibraries},
    Check{"driver-libraries-several", "Libraries of several driver versions", Severity::kWarning,
          "Which of them a program gets depends on the order of folders; a container may get a "
          "mixture. Usually one set was left behind by another way of installing.",
          SeveralLibraries},
    Check{"driver-packages-differ", "Packages of the driver are of different versions",
          Severity::kWarning,
          "Module and user space are made of one version. An update that was held back or cut off "
          "breaks the driver at the next boot.",
          PackagesDiffer},
    Check{"driver-installed-twice",
          "The driver was installed by packages and by NVIDIA's "
          "installer",
          Severity::kWarning,
          "Both write the same files: an update of one breaks the other. nvidia-uninstall takes "
          "away what the installer wrote, the packages put theirs back.",
          InstalledTwice},
    Check{"driver-reload-pending", "A newer module waits to be loaded", Severity::kInfo,
          "It comes into force with the next boot, or when the module is reloaded.", ReloadPending},
    Check{"driver-uvm-not-loaded", "nvidia_uvm is not loaded", Severity::kError,
          "nvidia-smi works without it, CUDA does not: cuInit says \"unknown error\" (999).",
          NoUvm},
    Check{"driver-module-half-loaded", "NVIDIA's module is neither loaded nor gone",
          Severity::kError,
          "A module that stays so waits for a card that does not answer; only a restart helps.",
          HalfLoaded},
    Check{"driver-firmware-missing", "The firmware of the open module is missing", Severity::kError,
          "The open module runs most of itself on the GPU's own processor and loads that part from "
          "/lib/firmware. Without it no GPU starts.",
          NoFirmware},
    Check{"driver-ldcache-stale", "The loader does not know the driver's libraries",
          Severity::kWarning,
          "Programs and engines look libraries up in ld.so.cache; ldconfig makes it anew.",
          StaleCache},
};

}  // namespace

std::span<const Check> DriverChecks() {
  return kDriverChecks;
}

}  // namespace kgpu::doctor
