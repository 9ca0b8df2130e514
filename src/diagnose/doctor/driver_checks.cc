// The installed driver: its module, its libraries and its packages are of one version.
#include <algorithm>
#include <array>
#include <iterator>
#include <set>

#include <fmt/format.h>

#include "src/diagnose/doctor/check.h"
#include "src/diagnose/doctor/commands.h"
#include "src/diagnose/doctor/facts.h"
#include "src/platform/base/strings.h"

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
    std::vector<std::string> fix = ReloadCommands(facts);
    fix.emplace_back("reboot   # if that fails");
    findings.Add(fmt::format("the loaded module has version {}, the libraries {}",
                             driver.module_version, Join(driver.library_versions, ", ")),
                 std::move(fix));
  }
}

std::vector<std::string> InstallLibraries(const Facts& facts) {
  return InstallDriver(facts, {.debian = "libcuda1 libnvidia-ml1 nvidia-smi",
                               .ubuntu = fmt::format("libnvidia-compute-{0}{1} nvidia-utils-{0}{1}",
                                                     BranchOf(facts), UbuntuLine(facts)),
                               .rhel = "nvidia-driver-cuda",
                               .suse = "nvidia-compute-utils-G06"});
}

// The commands that restore the files of incomplete packages; for a driver without a package, its
// installer.
std::vector<std::string> RestoreLibraries(const Facts& facts) {
  if (!facts.install.files.fixes.empty()) {
    return facts.install.files.fixes;
  }
  if (facts.has_runfile) {
    return {fmt::format("# run NVIDIA's installer of {} again: it restores its files",
                        facts.driver.module_version)};
  }
  std::vector<std::string> fix;
  for (const auto& [package, version] : facts.install.packages) {
    const bool is_library = package.starts_with("libcuda") || package.starts_with("libnvidia-") ||
                            package.starts_with("nvidia-driver-cuda") ||
                            package.starts_with("nvidia-compute-");
    if (is_library) {
      fix.push_back(ReinstallCommand(facts, package));
    }
  }
  return fix.empty() ? InstallLibraries(facts) : fix;
}

void NoLibraries(const Facts& facts, Findings& findings) {
  if (!facts.driver.missing_libraries.empty()) {
    std::vector<std::string> fix = RestoreLibraries(facts);
    fix.emplace_back("ldconfig");
    findings.Add(
        fmt::format("{} not found below {}, but other libraries of the driver are there",
                    Join(facts.driver.missing_libraries, " and "), facts.driver.driver_root),
        std::move(fix));
  }
  if (facts.driver.is_nvidia_loaded && facts.driver.library_versions.empty()) {
    std::vector<std::string> fix = InstallLibraries(facts);
    fix.insert(fix.begin(), "# driver in a container: set its path with --driver-root");
    findings.Add(
        fmt::format("module {} is loaded, but there is no libcuda or libnvidia-ml below {}",
                    facts.driver.module_version, facts.driver.driver_root),
        std::move(fix));
  }
}

// Of other files than the libraries above, which are the cause then.
void FilesMissing(const Facts& facts, Findings& findings) {
  const host::PackageFiles& files = facts.install.files;
  if (!facts.driver.missing_libraries.empty()) {
    return;
  }
  for (size_t i = 0; i < files.failed.size(); ++i) {
    const std::string& sentence = files.failed[i];
    findings.Add(sentence.substr(0, sentence.size() - files.fixes[i].size() - 2), {files.fixes[i]});
  }
}

void SeveralLibraries(const Facts& facts, Findings& findings) {
  const host::DriverFacts& driver = facts.driver;
  if (driver.library_versions.size() > 1 &&
      (driver.module_version.empty() || HasLibraries(facts, driver.module_version))) {
    findings.Add(fmt::format("libraries of {}", Join(driver.library_versions, ", ")),
                 {"ls -l /usr/lib*/libcuda.so.* /usr/lib/*/libcuda.so.*",
                  "# remove the versions that belong to no package", "ldconfig"});
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
  if (facts.has_runfile && !facts.install.packages.empty()) {
    findings.Add(
        fmt::format("/usr/bin/nvidia-uninstall exists, and so does the package {}",
                    facts.install.packages.begin()->first),
        {"nvidia-uninstall", ReinstallCommand(facts, facts.install.packages.begin()->first)});
  }
}

void ReloadPending(const Facts& facts, Findings& findings) {
  const std::optional<host::DkmsModule>& dkms = facts.kernel.dkms;
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
      facts.kernel.blacklist,
      [](const host::Blacklisted& line) { return line.module == "nvidia_uvm"; });
  if (facts.driver.is_nvidia_live && !facts.driver.is_uvm_loaded && !is_blacklisted) {
    findings.Add("nvidia is loaded, but nvidia_uvm is not",
                 {"modprobe nvidia-uvm", "nvidia-modprobe -u -c=0"});
  }
}

void HalfLoaded(const Facts& facts, Findings& findings) {
  if (facts.driver.is_nvidia_loaded && !facts.driver.is_nvidia_live) {
    findings.Add("/proc/modules shows nvidia as loading or unloading",
                 {"dmesg | tail", "reboot   # if it stays so"});
  }
}

void NoFirmware(const Facts& facts, Findings& findings) {
  if (facts.driver.is_open_module && !facts.install.has_firmware) {
    std::vector<std::string> fix =
        InstallDriver(facts, {.debian = "firmware-nvidia-gsp",
                              .ubuntu = fmt::format("nvidia-firmware-{}{}-{}", BranchOf(facts),
                                                    UbuntuLine(facts), facts.driver.module_version),
                              .rhel = "nvidia-kmod-common",
                              .suse = "kernel-firmware-nvidia-gspx-G06"});
    std::ranges::move(ReloadCommands(facts), std::back_inserter(fix));
    findings.Add(fmt::format("no /lib/firmware/nvidia/{}", facts.driver.module_version),
                 std::move(fix));
  }
}

void StaleCache(const Facts& facts, Findings& findings) {
  if (!facts.driver.library_versions.empty() && facts.driver.missing_libraries.empty() &&
      !facts.install.is_cuda_in_cache.value_or(true)) {
    findings.Add("/etc/ld.so.cache has no libcuda.so.1, but it is installed", {"ldconfig"});
  }
}

constexpr std::array kDriverChecks = {
    Check{"driver-version-mismatch", "Kernel module and libraries have different versions",
          Severity::kError,
          "An update replaced the libraries while the old module was loaded: all programs get "
          "\"Driver/library version mismatch\" until the module is reloaded.",
          Mismatch},
    Check{"driver-libraries-missing", "The driver's libraries are missing", Severity::kError,
          "Programs cannot use the module alone: CUDA and NVML are in the user-space packages, or "
          "in a driver container. Without libcuda, or the compiler that it loads, no program with "
          "CUDA runs; without libnvidia-ml nothing can list the GPUs.",
          NoLibraries},
    Check{"driver-files-missing", "Files of the driver's packages are missing", Severity::kError,
          "No package manager reports files that were deleted or emptied after the installation. "
          "kgpu driver verify makes the same check.",
          FilesMissing},
    Check{"driver-libraries-several", "Libraries of several driver versions", Severity::kWarning,
          "The order of folders decides which one a program gets, and a container may get a "
          "mixture. Usually one set is left over from another installation method.",
          SeveralLibraries},
    Check{"driver-packages-differ", "The driver's packages have different versions",
          Severity::kWarning,
          "The module and the user space need the same version. An update that was held back or "
          "interrupted breaks the driver at the next boot.",
          PackagesDiffer},
    Check{"driver-installed-twice",
          "The driver was installed both by packages and by NVIDIA's installer", Severity::kWarning,
          "Both write the same files, so an update of one breaks the other. nvidia-uninstall "
          "removes what the installer wrote, and the packages restore theirs.",
          InstalledTwice},
    Check{"driver-reload-pending", "A newer module is not loaded yet", Severity::kInfo,
          "It takes effect at the next boot, or when the module is reloaded.", ReloadPending},
    Check{"driver-uvm-not-loaded", "nvidia_uvm is not loaded", Severity::kError,
          "nvidia-smi works without it, but CUDA does not: cuInit returns \"unknown error\" (999).",
          NoUvm},
    Check{"driver-module-half-loaded", "NVIDIA's module is stuck while loading or unloading",
          Severity::kError,
          "A module in this state waits for a GPU that does not answer; only a reboot helps.",
          HalfLoaded},
    Check{"driver-firmware-missing", "The firmware of the open module is missing", Severity::kError,
          "The open module runs mostly on the GPU's own processor and loads that part from "
          "/lib/firmware. Without it no GPU starts.",
          NoFirmware},
    Check{"driver-ldcache-stale", "The dynamic linker does not find the driver's libraries",
          Severity::kWarning,
          "Programs and engines look up libraries in ld.so.cache; ldconfig rebuilds it.",
          StaleCache},
};

}  // namespace

std::span<const Check> DriverChecks() {
  return kDriverChecks;
}

}  // namespace kgpu::doctor
