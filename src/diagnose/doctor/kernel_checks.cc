// Whether this kernel has, may have and takes NVIDIA's module.
#include <array>
#include <utility>

#include <fmt/format.h>

#include "src/diagnose/doctor/check.h"
#include "src/diagnose/doctor/commands.h"
#include "src/diagnose/doctor/facts.h"
#include "src/host/facts/kernel_packages.h"

namespace kgpu::doctor {
namespace {

// The module is needed and not there: each of the checks below names another reason.
bool IsModuleMissing(const Facts& facts) {
  return facts.has_gpus() && !facts.driver.is_nvidia_loaded && facts.kernel.nvidia_file.empty() &&
         facts.kernel.has_module_folder;
}

// Another finding already reports why the module cannot be loaded.
bool IsKeptOut(const Facts& facts) {
  const host::KernelFacts& kernel = facts.kernel;
  bool is_blacklisted = false;
  for (const host::Blacklisted& line : kernel.blacklist) {
    is_blacklisted |= line.module == "nvidia";
  }
  const bool is_refused_unsigned =
      (kernel.secure_boot.value_or(false) || kernel.is_signature_enforced) &&
      !kernel.is_nvidia_signed.value_or(true);
  const bool has_no_key =
      kernel.secure_boot.value_or(false) && !kernel.is_key_enrolled.value_or(true);
  return kernel.is_loading_refused || !facts.RivalInTheWay().empty() || is_blacklisted ||
         is_refused_unsigned || has_no_key;
}

std::string HeadersCommand(const Facts& facts, const std::string& release) {
  host::Distribution distribution;
  distribution.family = facts.system.family;
  const auto known = facts.install.headers.find(release);
  const std::string headers = known == facts.install.headers.end()
                                  ? host::HeadersPackage(distribution, release, {})
                                  : known->second;
  return InstallCommand(
      facts,
      {.debian = headers, .ubuntu = headers, .rhel = headers, .suse = "kernel-default-devel"});
}

// Headers and driver; kgpu chooses both where it knows the distribution.
std::vector<std::string> DriverCommands(const Facts& facts) {
  if (std::string command = InstallByKgpu(facts); !command.empty()) {
    return {std::move(command)};
  }
  std::vector<std::string> fix = InstallDriver(
      facts, {.debian = "nvidia-kernel-dkms nvidia-driver",
              .ubuntu = "nvidia-driver-BRANCH-server",
              .rhel = "nvidia-open   # 8 and 9: dnf module enable nvidia-driver:open-dkms first",
              .suse = "nvidia-open-driver-G06-signed-kmp-default nvidia-compute-utils-G06"});
  fix.insert(fix.begin(), HeadersCommand(facts, facts.kernel.release));
  return fix;
}

void ModulesGone(const Facts& facts, Findings& findings) {
  if (facts.has_gpus() && !facts.kernel.release.empty() && !facts.kernel.has_module_folder &&
      !facts.driver.is_nvidia_loaded) {
    findings.Add(fmt::format("/lib/modules/{} does not exist", facts.kernel.release),
                 {"reboot   # into the installed kernel"});
  }
}

void DriverMissing(const Facts& facts, Findings& findings) {
  if (IsModuleMissing(facts) && !facts.kernel.dkms) {
    findings.Add(fmt::format("no nvidia.ko for kernel {}, and DKMS has no sources of it",
                             facts.kernel.release),
                 DriverCommands(facts));
  }
}

void DkmsUnbuilt(const Facts& facts, Findings& findings) {
  if (IsModuleMissing(facts) && facts.kernel.dkms) {
    const host::DkmsModule& dkms = *facts.kernel.dkms;
    findings.Add(fmt::format("DKMS has the sources of {}/{} but no module for kernel {}", dkms.name,
                             dkms.version, facts.kernel.release),
                 {fmt::format("dkms autoinstall -k {}", facts.kernel.release),
                  fmt::format("cat /var/lib/dkms/{}/{}/build/make.log   # if it fails", dkms.name,
                              dkms.version)});
  }
}

void NoHeaders(const Facts& facts, Findings& findings) {
  if (facts.has_gpus() && facts.kernel.dkms && facts.kernel.has_module_folder &&
      !facts.kernel.has_headers) {
    findings.Add(
        fmt::format("/lib/modules/{}/build does not lead to kernel headers", facts.kernel.release),
        {HeadersCommand(facts, facts.kernel.release)});
  }
}

void NoCompiler(const Facts& facts, Findings& findings) {
  if (facts.has_gpus() && facts.kernel.dkms && facts.kernel.gcc.empty() &&
      facts.kernel.gccs.empty()) {
    findings.Add(
        "no /usr/bin/gcc",
        {InstallCommand(
            facts,
            {.debian = "gcc make", .ubuntu = "gcc make", .rhel = "gcc make", .suse = "gcc make"})});
  }
}

void OtherCompiler(const Facts& facts, Findings& findings) {
  const host::KernelFacts& kernel = facts.kernel;
  const bool is_known = !kernel.built_by.empty() && kernel.gcc.starts_with("gcc-");
  if (facts.has_gpus() && kernel.dkms && is_known && kernel.gcc != kernel.built_by &&
      !kernel.gccs.contains(kernel.built_by)) {
    findings.Add(
        fmt::format("kernel {} was built by {}, installed is {}", kernel.release, kernel.built_by,
                    kernel.gcc),
        {InstallCommand(facts, {.debian = kernel.built_by,
                                .ubuntu = kernel.built_by,
                                .rhel = "gcc",
                                .suse = fmt::format("gcc{}", kernel.built_by.substr(4))})});
  }
}

void LoadingRefused(const Facts& facts, Findings& findings) {
  if (facts.has_gpus() && facts.kernel.is_loading_refused && !facts.driver.is_nvidia_loaded) {
    findings.Add("/proc/sys/kernel/modules_disabled is 1",
                 {"grep -r modules_disabled /etc/sysctl.conf /etc/sysctl.d /etc/systemd/system",
                  "# remove it, or load nvidia and nvidia-uvm before it is set", "reboot"});
  }
}

// DKMS signs during the build, with a key that must exist by then; `build` alone would not replace
// the installed module.
std::vector<std::string> SignCommands(const Facts& facts) {
  const host::KernelFacts& kernel = facts.kernel;
  if (!kernel.dkms) {
    return {"# install the distribution's signed module", "reboot"};
  }
  const bool is_ubuntu = facts.system.family == host::Family::kUbuntu;
  std::vector<std::string> commands;
  std::string key = kernel.key_file;
  if (key.empty()) {
    commands.emplace_back(is_ubuntu
                              ? "update-secureboot-policy --new-key"
                              : "dkms generate_mok   # DKMS 3; older versions do not sign modules");
    key = is_ubuntu ? "/var/lib/shim-signed/mok/MOK.der" : "/var/lib/dkms/mok.pub";
  }
  commands.push_back(fmt::format("dkms install --force -k {} {}/{}", kernel.release,
                                 kernel.dkms->name, kernel.dkms->version));
  commands.push_back(fmt::format("mokutil --import {}", key));
  commands.emplace_back("# or install the distribution's signed module");
  commands.emplace_back("reboot   # then choose \"Enroll MOK\" at the console");
  return commands;
}

void Unsigned(const Facts& facts, Findings& findings) {
  const host::KernelFacts& kernel = facts.kernel;
  if (!facts.driver.is_nvidia_loaded && kernel.secure_boot.value_or(false) &&
      !kernel.is_nvidia_signed.value_or(true)) {
    findings.Add(fmt::format("Secure Boot is enabled, but {} has no signature", kernel.nvidia_file),
                 SignCommands(facts));
  }
}

void KeyNotEnrolled(const Facts& facts, Findings& findings) {
  const host::KernelFacts& kernel = facts.kernel;
  if (!facts.driver.is_nvidia_loaded && kernel.secure_boot.value_or(false) &&
      kernel.is_nvidia_signed.value_or(false) && kernel.dkms &&
      !kernel.is_key_enrolled.value_or(true)) {
    findings.Add(fmt::format("Secure Boot is enabled, but {} is not enrolled in the firmware",
                             kernel.key_file),
                 {fmt::format("mokutil --import {}", kernel.key_file),
                  "reboot   # then choose \"Enroll MOK\" at the console"});
  }
}

void SignatureEnforced(const Facts& facts, Findings& findings) {
  const host::KernelFacts& kernel = facts.kernel;
  if (!facts.driver.is_nvidia_loaded && kernel.is_signature_enforced &&
      !kernel.secure_boot.value_or(false) && !kernel.is_nvidia_signed.value_or(true)) {
    findings.Add(
        fmt::format("module.sig_enforce is set, but {} has no signature", kernel.nvidia_file),
        {"# install a signed module, or remove module.sig_enforce=1 from the kernel's command line",
         "reboot"});
  }
}

void NotLoaded(const Facts& facts, Findings& findings) {
  if (facts.has_gpus() && !facts.driver.is_nvidia_loaded && !facts.kernel.nvidia_file.empty() &&
      !IsKeptOut(facts)) {
    findings.Add(fmt::format("{} exists but is not loaded", facts.kernel.nvidia_file),
                 {"modprobe nvidia && modprobe nvidia-uvm", "dmesg | tail   # if that fails"});
  }
}

std::vector<std::string> CommandsForKernel(const Facts& facts, const host::InstalledKernel& next) {
  if (facts.install.is_by_kgpu) {
    return {fmt::format("kgpu driver install --kernel {}", next.release)};
  }
  if (!facts.kernel.dkms) {
    return {fmt::format("kgpu driver plan --kernel {}   # lists the packages to install",
                        next.release)};
  }
  std::vector<std::string> fix;
  if (!next.has_headers) {
    fix.push_back(HeadersCommand(facts, next.release));
  }
  fix.push_back(fmt::format("dkms autoinstall -k {}", next.release));
  return fix;
}

void NextKernel(const Facts& facts, Findings& findings) {
  const host::InstalledKernel* next =
      host::NextWithoutDriver(facts.kernel.kernels, facts.kernel.release);
  if (!facts.has_gpus() || next == nullptr) {
    return;
  }
  findings.Add(
      fmt::format("kernel {} is installed, newer than the running {}, and has no nvidia.ko{}",
                  next->release, facts.kernel.release,
                  next->has_headers || !facts.kernel.dkms ? "" : " and no headers"),
      CommandsForKernel(facts, *next));
}

constexpr std::array kKernelChecks = {
    Check{"kernel-modules-gone", "The running kernel's modules were removed", Severity::kError,
          "An upgrade removed the modules of the running kernel: none can be loaded or built any "
          "more.",
          ModulesGone},
    Check{"driver-module-missing", "No NVIDIA driver for this kernel", Severity::kError,
          "There is neither an NVIDIA module for the running kernel nor sources for DKMS to build "
          "one.",
          DriverMissing},
    Check{"driver-module-unbuilt", "DKMS has not built NVIDIA's module for this kernel",
          Severity::kError,
          "After a kernel upgrade DKMS rebuilds the module. That fails if headers or the compiler "
          "are missing, or the driver is too old for the kernel.",
          DkmsUnbuilt},
    Check{"kernel-next-without-driver", "The next kernel has no NVIDIA driver", Severity::kWarning,
          "The host boots its newest kernel next. That kernel has no driver module, mostly because "
          "its headers are missing: after the next boot no GPU works.",
          NextKernel},
    Check{"kernel-headers-missing", "The running kernel's headers are missing", Severity::kWarning,
          "DKMS builds the driver from source and needs the headers of exactly this kernel: "
          "without them the next driver update leaves the host without a driver.",
          NoHeaders},
    Check{"kernel-compiler-missing", "The compiler for the driver's module is missing",
          Severity::kWarning, "DKMS builds the driver from source and needs gcc and make.",
          NoCompiler},
    Check{"kernel-compiler-differs", "The kernel was built by another compiler", Severity::kWarning,
          "Modules need the compiler of their kernel: NVIDIA's build checks for it and stops, and "
          "an older compiler may not know the flags of a newer one.",
          OtherCompiler},
    Check{"kernel-loading-refused", "The kernel loads no more modules", Severity::kError,
          "modules_disabled can be set once and not unset: modules that are not loaded by then "
          "cannot be loaded.",
          LoadingRefused},
    Check{"secureboot-module-unsigned", "Secure Boot rejects NVIDIA's module", Severity::kError,
          "With Secure Boot the kernel loads only signed modules; modprobe reports \"Key was "
          "rejected by service\" or \"Required key not available\".",
          Unsigned},
    Check{"secureboot-key-unknown",
          "The key that signed NVIDIA's module is not enrolled in the firmware", Severity::kError,
          "DKMS has signed the module with a key of this host, which must be enrolled once at the "
          "console.",
          KeyNotEnrolled},
    Check{"kernel-signature-enforced", "The kernel rejects NVIDIA's unsigned module",
          Severity::kError, "module.sig_enforce requires signatures even without Secure Boot.",
          SignatureEnforced},
    Check{"driver-module-not-loaded", "NVIDIA's module is not loaded", Severity::kError,
          "It exists for this kernel, and nothing visible prevents loading: it was never "
          "requested, or failed to start. In that case the kernel's log shows why.",
          NotLoaded},
};

}  // namespace

std::span<const Check> KernelChecks() {
  return kKernelChecks;
}

}  // namespace kgpu::doctor
