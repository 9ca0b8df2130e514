// The kernel that runs on a host: its modules, what builds them and what it takes.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "src/host/facts/sight.h"
#include "src/host/inspect/installed_kernels.h"
#include "src/platform/sys/run.h"

namespace kgpu::host {

// One line of modprobe.d that keeps a module from being loaded.
struct Blacklisted {
  std::string path;
  std::string keyword;  // "blacklist", or "install" with a command that does nothing
  std::string module;
  bool operator==(const Blacklisted&) const = default;
};

// Sources of NVIDIA's module that DKMS has. Distributions give them names of their own:
// "nvidia", "nvidia-open", Debian's "nvidia-current" and "nvidia-tesla-470".
struct DkmsModule {
  std::string name;
  std::string version;
  bool is_built = false;  // for the kernel that runs
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
  std::vector<InstalledKernel> kernels;  // all that are installed, by age
  std::optional<bool> is_nvidia_signed;  // nothing: could not be read
  std::optional<DkmsModule> dkms;        // the newest that is built, else the newest; nothing: none
  std::string gcc;                       // what /usr/bin/gcc leads to: "gcc-12"; empty: none
  std::set<std::string> gccs;            // every "gcc-12" in /usr/bin
  std::optional<bool> secure_boot;       // nothing: no EFI, or not readable
  bool is_signature_enforced = false;    // module.sig_enforce
  std::optional<bool> is_key_enrolled;   // DKMS's own key in the firmware's list; nothing: no key
  std::string key_file;
  std::vector<Blacklisted> blacklist;
  std::set<std::string> guest_ids;  // "10de:20b5": cards that vfio-pci is configured to take
};
KernelFacts ReadKernelFacts(Sight& sight, sys::ProgramRunner& runner);

}  // namespace kgpu::host
