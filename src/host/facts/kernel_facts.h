// The running kernel of a host: its modules, what builds them and what it accepts.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "src/host/facts/sight.h"
#include "src/host/inspect/installed_kernels.h"
#include "src/platform/sys/run.h"

namespace kgpu::host {

// A line in modprobe.d that prevents a module from being loaded.
struct Blacklisted {
  std::string path;
  std::string keyword;  // "blacklist", or "install" with a command that does nothing
  std::string module;
  bool operator==(const Blacklisted&) const = default;
};

// NVIDIA's module sources in DKMS. Distributions name them differently: "nvidia", "nvidia-open",
// Debian's "nvidia-current" and "nvidia-tesla-470".
struct DkmsModule {
  std::string name;
  std::string version;
  bool is_built = false;  // for the running kernel
};

struct KernelFacts {
  std::string release;   // "6.1.0-18-amd64"
  std::string built_by;  // "gcc-12"; empty: unknown
  std::string cmdline;
  std::set<std::string> loaded;          // modules
  bool has_module_folder = false;        // /lib/modules/<release>
  bool has_headers = false;              // its build/
  bool is_loading_refused = false;       // modules_disabled
  std::set<std::string> installed;       // names of modules of this kernel, without ".ko"
  std::string nvidia_file;               // path of nvidia.ko for this kernel; empty: none
  std::vector<InstalledKernel> kernels;  // all installed ones, by age
  std::optional<bool> is_nvidia_signed;  // nothing: unreadable
  std::optional<DkmsModule> dkms;        // the newest one built, else the newest; nothing: none
  std::string gcc;                       // what /usr/bin/gcc leads to: "gcc-12"; empty: none
  std::set<std::string> gccs;            // every "gcc-12" in /usr/bin
  std::optional<bool> secure_boot;       // nothing: no EFI, or unreadable
  bool is_signature_enforced = false;    // module.sig_enforce
  std::optional<bool> is_key_enrolled;   // the firmware has DKMS's own key; nothing: no key
  std::string key_file;
  std::vector<Blacklisted> blacklist;
  std::set<std::string> guest_ids;  // "10de:20b5": cards that vfio-pci is configured to take
};
KernelFacts ReadKernelFacts(Sight& sight, sys::ProgramRunner& runner);

}  // namespace kgpu::host
