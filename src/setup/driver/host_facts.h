// All that a plan of the driver is made of: what is known of a host, and what is asked of its
// distribution. Gathered once; planners are functions of this value and look at nothing else.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "src/host/facts/distribution.h"
#include "src/host/facts/facts.h"
#include "src/host/facts/installed_packages.h"
#include "src/host/inspect/driver_root.h"
#include "src/platform/base/status.h"
#include "src/platform/sys/run.h"
#include "src/setup/driver/apt_sources.h"
#include "src/setup/driver/generation.h"
#include "src/setup/driver/gpu_holders.h"
#include "src/setup/driver/plan.h"
#include "src/setup/driver/repo_files.h"
#include "src/setup/driver/run_file.h"

namespace kgpu::driver {

// The kernel that the module is for.
struct Kernel {
  std::string release;  // "6.1.0-18-amd64"
  std::string flavour;  // "amd64", "generic", "aws", "default"; empty: the release does not say
  bool is_running = false;
  bool has_headers = false;
  std::vector<std::string> installed;  // releases that have modules here, oldest first
};
// "6.8.0-1015-aws" → "aws", "6.4.0-150600.21-default" → "default". Pure.
std::string FlavourOf(std::string_view release);

// Which driver is here already.
enum class Existing : uint8_t { kNone, kPackages, kRunFile, kOther };

struct GpuId {
  uint16_t device_id = 0;
  Generation generation = Generation::kUnknown;
};

// What is left on the file system of a folder.
struct FreeSpace {
  std::string folder;  // "/usr"
  uint64_t bytes = 0;
};

struct HostFacts {
  host::Facts host;
  host::Distribution distribution;
  std::string arch;  // as the kernel names it: "x86_64", "aarch64"
  Kernel kernel;
  std::vector<GpuId> gpus;
  unsigned nvswitches = 0;
  host::Packages packages;
  std::vector<AptSource> apt;
  std::vector<RpmRepository> repositories;   // of dnf or zypper
  ModuleStream stream;                       // of dnf's module nvidia-driver
  std::vector<std::string> locked_versions;  // entries of dnf 4's versionlock.list
  std::string version_locks;                 // /etc/dnf/versionlock.toml, of dnf 5
  Existing existing = Existing::kNone;
  std::string existing_version;  // of its packages, where it came by those; else what is loaded
  std::optional<Plan> ours;      // by which kgpu installed the driver that is here
  bool has_systemd = false;      // it runs this host, so units can be stopped and started
  // Units that hold the GPUs and run now: "display-manager.service".
  std::vector<std::string> users;
  std::vector<GpuHolder> holders;
  std::string initramfs;              // "update-initramfs", "dracut", "mkinitcpio"; empty: none
  std::string bootloader;             // "grub", "grubby", "systemd-boot"; empty: unknown
  std::optional<DriverFile> file;     // --source FILE
  std::vector<FreeSpace> space;       // of the folders that a plan fills
  std::set<std::string> programs;     // of those that planners ask for, their full paths
  std::vector<std::string> problems;  // what could not be found out, a sentence each

  bool HasPackage(const std::string& name) const { return packages.contains(name); }
  // The full path of a program that is here: "/usr/bin/dnf"; empty: it is not.
  std::string Program(std::string_view name) const;
};

// What the installer at `path` of the host says of itself. Errors: those of reading it and of
// ParseDriverFile.
StatusOr<DriverFile> ReadDriverFile(const sys::Root& host, const std::string& path);

struct FactsOptions {
  std::string kernel;        // --kernel; empty: the running one, or the one installed
  std::string file;          // --source FILE, as the host names it; empty: none
  bool needs_kernel = true;  // false: the running one will do, though no file of it is here
};

// Reads the host and asks rpm, where that is its database, and systemd which units run. What can
// not be found out is in `problems`. Errors: FailedPrecondition (no os-release, no kernel),
// NotFound (no such file), InvalidArgument (a file that is no installer).
StatusOr<HostFacts> GatherHostFacts(const host::DriverRoot& root, sys::ProgramRunner& runner,
                                    const FactsOptions& options);

}  // namespace kgpu::driver
