// Whether this kernel has, may have and takes NVIDIA's module.
#include <array>

#include <fmt/format.h>

#include "src/setup/doctor/check.h"
#include "src/setup/doctor/commands.h"
#include "src/setup/doctor/facts.h"

namespace kgpu::doctor {
namespace {

// The module is needed and not there: each of the checks below names another reason.
bool IsModuleMissing(const Facts& facts) {
  return facts.has_gpus() && !facts.driver.is_nvidia_loaded && facts.kernel.nvidia_file.empty() &&
         facts.kernel.has_module_folder;
}

// Something else keeps the module out, and says so itself.
bool IsKeptOut(const Facts& facts) {
  const KernelFacts& kernel = facts.kernel;
  bool is_blacklisted = false;
  for (const Blacklisted& line : kernel.blacklist) {
    is_blacklisted |= line.module == "nvidia";
  }
  const bool is_refused_unsigned =
      (kernel.secure_boot.value_or(false) || kernel.is_signature_enforced) &&
      !kernel.is_nvidia_signed.value_or(true);
  const bool has_no_key =
      kernel.secure_boot.value_or(false) && !kernel.is_key_enrolled.value_or(true);
  return kernel.is_loading_refused || facts.driver.is_nouveau_loaded || is_blacklisted ||
         is_refused_unsigned || has_no_key;
}

std::string HeadersCommand(const Facts& facts, const std::string& release) {
  const std::string headers = fmt::format("linux-headers-{}", release);
  return InstallCommand(facts, {.debian = headers,
                                .ubuntu = headers,
                                .rhel = fmt::format("kernel-devel-{}", release),
                                .suse = "kernel-default-devel"});
}

// Ubuntu's own tool knows which branch fits the card.
std::vector<std::string> DriverCommands(const Facts& facts) {
  if (facts.system.family == Family::kUbuntu) {
    return {"ubuntu-drivers install --gpgpu"};
  }
  return InstallDriver(
      facts, {.debian = "nvidia-kernel-dkms nvidia-driver",
              .ubuntu = "",
              .rhel = "nvidia-open   # 8 and 9: dnf module enable nvidia-driver:open-dkms first",
              .suse = "nvidia-open-driver-G06-signed-kmp-default nvidia-compute-utils-G06"});
}

void ModulesGone(const Facts& facts, Findings& findings) {
  if (facts.has_gpus() && !facts.kernel.release.empty() && !facts.kernel.has_module_folder &&
      !facts.driver.is_nvidia_loaded) {
    findings.Add(fmt::format("/lib/modules/{} is not there", facts.kernel.release),
                 {"reboot   # into the kernel that is installed"});
  }
}

void DriverMissing(const Facts& facts, Findings& findings) {
  if (IsModuleMissing(facts) && !facts.kernel.dkms) {
    std::vector<std::string> mend = DriverCommands(facts);
    mend.insert(mend.begin(), HeadersCommand(facts, facts.kernel.release));
    findings.Add(fmt::format("no nvidia.ko for kernel {} and no sources of it with DKMS",
                             facts.kernel.release),
                 std::move(mend));
  }
}

void DkmsUnbuilt(const Facts& facts, Findings& findings) {
  if (IsModuleMissing(facts) && facts.kernel.dkms) {
    const DkmsModule& dkms = *facts.kernel.dkms;
    findings.Add(fmt::format("DKMS has the sources of {}/{} and no module for kernel {}", dkms.name,
                             dkms.version, facts.kernel.release),
                 {fmt::format("dkms autoinstall -k {}", facts.kernel.release),
                  fmt::format("cat /var/lib/dkms/{}/{}/build/make.log   # when it fails", dkms.name,
                              dkms.version)});
  }
}

void NoHeaders(const Facts& facts, Findings& findings) {
  if (facts.has_gpus() && facts.kernel.dkms && facts.kernel.has_module_folder &&
      !facts.kernel.has_headers) {
    findings.Add(
        fmt::format("/lib/modules/{}/build leads to no kernel headers", facts.kernel.release),
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
  const KernelFacts& kernel = facts.kernel;
  const bool is_known = !kernel.built_by.empty() && kernel.gcc.starts_with("gcc-");
  if (facts.has_gpus() && kernel.dkms && is_known && kernel.gcc != kernel.built_by &&
      !kernel.gccs.contains(kernel.built_by)) {
    findings.Add(
        fmt::format("kernel {} was built by {}, here is {}", kernel.release, kernel.built_by,
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
                  "# take it out, or load nvidia and nvidia-uvm before it is set", "reboot"});
  }
}

// DKMS signs while it builds, with a key that must be there by then; `build` alone would leave the
// installed module as it is.
std::vector<std::string> SignCommands(const Facts& facts) {
  const KernelFacts& kernel = facts.kernel;
  if (!kernel.dkms) {
    return {"# install the distribution's signed module", "reboot"};
  }
  const bool is_ubuntu = facts.system.family == Family::kUbuntu;
  std::vector<std::string> commands;
  std::string key = kernel.key_file;
  if (key.empty()) {
    commands.emplace_back(is_ubuntu ? "update-secureboot-policy --new-key"
                                    : "dkms generate_mok   # DKMS 3; older ones sign nothing");
    key = is_ubuntu ? "/var/lib/shim-signed/mok/MOK.der" : "/var/lib/dkms/mok.pub";
  }
  commands.push_back(fmt::format("dkms install --force -k {} {}/{}", kernel.release,
                                 kernel.dkms->name, kernel.dkms->version));
  commands.push_back(fmt::format("mokutil --import {}", key));
  commands.emplace_back("# or install the distribution's signed module");
  commands.emplace_back("reboot   # and answer \"Enroll MOK\" at the console");
  return commands;
}

void Unsigned(const Facts& facts, Findings& findings) {
  const KernelFacts& kernel = facts.kernel;
  if (!facts.driver.is_nvidia_loaded && kernel.secure_boot.value_or(false) &&
      !kernel.is_nvidia_signed.value_or(true)) {
    findings.Add(fmt::format("Secure Boot is on and {} has no signature", kernel.nvidia_file),
                 SignCommands(facts));
  }
}

void KeyNotEnrolled(const Facts& facts, Findings& findings) {
  const KernelFacts& kernel = facts.kernel;
  if (!facts.driver.is_nvidia_loaded && kernel.secure_boot.value_or(false) &&
      kernel.is_nvidia_signed.value_or(false) && kernel.dkms &&
      !kernel.is_key_enrolled.value_or(true)) {
    findings.Add(
        fmt::format("Secure Boot is on and the firmware does not know {}", kernel.key_file),
        {fmt::format("mokutil --import {}", kernel.key_file),
         "reboot   # and answer \"Enroll MOK\" at the console"});
  }
}

void SignatureEnforced(const Facts& facts, Findings& findings) {
  const KernelFacts& kernel = facts.kernel;
  if (!facts.driver.is_nvidia_loaded && kernel.is_signature_enforced &&
      !kernel.secure_boot.value_or(false) && !kernel.is_nvidia_signed.value_or(true)) {
    findings.Add(
        fmt::format("module.sig_enforce is on and {} has no signature", kernel.nvidia_file),
        {"# install a signed module, or take module.sig_enforce=1 from the kernel's "
         "command line",
         "reboot"});
  }
}

void NotLoaded(const Facts& facts, Findings& findings) {
  if (facts.has_gpus() && !facts.driver.is_nvidia_loaded && !facts.kernel.nvidia_file.empty() &&
      !IsKeptOut(facts)) {
    findings.Add(fmt::format("{} is there and not loaded", facts.kernel.nvidia_file),
                 {"modprobe nvidia && modprobe nvidia-uvm", "dmesg | tail   # when it refuses"});
  }
}

void NextKernel(const Facts& facts, Findings& findings) {
  const host::InstalledKernel* next =
      host::NextWithoutDriver(facts.kernel.kernels, facts.kernel.release);
  if (!facts.has_gpus() || next == nullptr) {
    return;
  }
  std::vector<std::string> mend;
  if (facts.kernel.dkms && !next->has_headers) {
    mend.push_back(HeadersCommand(facts, next->release));
  }
  mend.push_back(facts.kernel.dkms
                     ? fmt::format("dkms autoinstall -k {}", next->release)
                     : fmt::format("kgpu driver plan --kernel {}   # names the packages to install",
                                   next->release));
  findings.Add(
      fmt::format("kernel {} is installed, newer than the running {}, and has no nvidia.ko{}",
                  next->release, facts.kernel.release,
                  next->has_headers || !facts.kernel.dkms ? "" : " and no headers"),
      std::move(mend));
}

constexpr std::array kKernelChecks = {
    Check{"kernel-modules-gone", "The running kernel's modules are no longer installed",
          Severity::kError,
          "An upgrade took the folder of the kernel that still runs: nothing can be loaded into it "
          "or built for it any more.",
          ModulesGone},
    Check{"driver-module-missing", "No NVIDIA driver for this kernel", Severity::kError,
          "There is no module of NVIDIA's for the kernel that runs, nor sources from which DKMS "
          "would build it.",
          DriverMissing},
    Check{"driver-module-unbuilt", "DKMS has not built NVIDIA's module for this kernel",
          Severity::kError,
          "After a kernel upgrade DKMS builds the module anew. When headers or compiler were "
          "missing then, or the driver is too old for the kernel, there is none.",
          DkmsUnbuilt},
    Check{"kernel-next-without-driver", "The next kernel has no NVIDIA driver", Severity::kWarning,
          "The host starts into its newest kernel. That one was installed without the driver's "
          "module, for want of headers as a rule: after the next restart no GPU can be used.",
          NextKernel},
    Check{"kernel-headers-missing", "No headers of the running kernel", Severity::kWarning,
          "DKMS builds the driver from source and needs the headers of exactly this kernel: "
          "without them the next driver update leaves the host without a driver.",
          NoHeaders},
    Check{"kernel-compiler-missing", "No compiler to build the driver's module", Severity::kWarning,
          "DKMS builds the driver from source and needs gcc and make.", NoCompiler},
    Check{"kernel-compiler-differs", "The kernel was built by another compiler", Severity::kWarning,
          "Modules are to be built by the compiler of their kernel: NVIDIA's build checks for it "
          "and stops, and flags of a newer compiler may be unknown to an older one.",
          OtherCompiler},
    Check{"kernel-loading-refused", "The kernel takes no more modules", Severity::kError,
          "modules_disabled can be switched on once and not off: what is not loaded by then, never "
          "is.",
          LoadingRefused},
    Check{"secureboot-module-unsigned", "Secure Boot refuses NVIDIA's module", Severity::kError,
          "With Secure Boot the kernel loads signed modules only; modprobe says \"Key was rejected "
          "by service\" or \"Required key not available\".",
          Unsigned},
    Check{"secureboot-key-unknown", "The firmware does not know the key of NVIDIA's module",
          Severity::kError,
          "DKMS has signed the module with a key of this host, which somebody has to enroll once "
          "at the console.",
          KeyNotEnrolled},
    Check{"kernel-signature-enforced", "The kernel refuses NVIDIA's unsigned module",
          Severity::kError, "module.sig_enforce asks for signatures without Secure Boot, too.",
          SignatureEnforced},
    Check{"driver-module-not-loaded", "NVIDIA's module is not loaded", Severity::kError,
          "It is there for this kernel, and nothing that keeps it out could be seen: it was never "
          "asked for, or refused to start. Then the kernel's log says why.",
          NotLoaded},
};

}  // namespace

std::span<const Check> KernelChecks() {
  return kKernelChecks;
}

}  // namespace kgpu::doctor
