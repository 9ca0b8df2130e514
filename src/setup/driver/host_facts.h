// All input of a driver plan: facts about a host and its distribution's answers. Gathered once;
// planners are functions of this value and read nothing else.
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
#include "src/host/inspect/generation.h"
#include "src/platform/base/status.h"
#include "src/platform/sys/run.h"
#include "src/setup/driver/apt_sources.h"
#include "src/setup/driver/gpu_holders.h"
#include "src/setup/driver/plan.h"
#include "src/setup/driver/repo_files.h"
#include "src/setup/driver/run_file.h"

namespace kgpu::driver {

using host::Generation;
using host::GenerationNames;
using host::GenerationOf;
using host::IsGb10;
using host::IsGrace;
using host::IsHgxBlackwell;
using host::ParseGeneration;
using host::Support;
using host::SupportOf;

// The kernel to build or install the module for.
struct Kernel {
  std::string release;  // "6.1.0-18-amd64"
  std::string flavour;  // "amd64", "generic", "aws", "default"; empty: the release does not say
  bool is_running = false;
  bool has_headers = false;
  std::vector<std::string> installed;  // releases with modules on this host, oldest first
};
// "6.8.0-1015-aws" → "aws", "6.4.0-150600.21-default" → "default". Pure.
std::string FlavourOf(std::string_view release);

// Which driver is installed already.
enum class Existing : uint8_t { kNone, kPackages, kRunFile, kOther };

struct GpuId {
  uint16_t device_id = 0;
  Generation generation = Generation::kUnknown;
};

// The free space on the file system of a folder.
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
  // Names of packages with modules that Ubuntu has built, which apt finds in this host's lists;
  // empty: unknown.
  std::vector<std::string> prebuilt_modules;
  std::vector<AptSource> apt;
  std::vector<RpmRepository> repositories;   // of dnf or zypper
  ModuleStream stream;                       // of dnf's module nvidia-driver
  std::vector<std::string> locked_versions;  // entries of dnf 4's versionlock.list
  std::string version_locks;                 // /etc/dnf/versionlock.toml, of dnf 5
  Existing existing = Existing::kNone;
  std::string existing_version;  // from its packages, if it has any; else the loaded version
  // With which kgpu installed the driver that is removed before the plan is carried out, and the
  // driver's packages, which are no longer in `packages`.
  std::optional<Plan> ours;
  host::Packages former;
  bool has_systemd = false;  // systemd runs this host, so units can be stopped and started
  // Running units that use the GPUs: "display-manager.service".
  std::vector<std::string> users;
  std::vector<GpuHolder> holders;
  std::string initramfs;              // "update-initramfs", "dracut", "mkinitcpio"; empty: none
  std::string bootloader;             // "grub", "grubby", "systemd-boot"; empty: unknown
  std::optional<DriverFile> file;     // --source FILE
  std::vector<FreeSpace> space;       // for the folders that a plan fills
  std::set<std::string> programs;     // full paths, of those that planners need
  std::vector<std::string> problems;  // what could not be found out, one sentence each

  bool HasPackage(const std::string& name) const { return packages.contains(name); }
  // The full path of an installed program: "/usr/bin/dnf"; empty: not installed.
  std::string Program(std::string_view name) const;
};

// What the installer at `path` on the host says about itself. Errors: those of reading it and of
// ParseDriverFile.
StatusOr<DriverFile> ReadDriverFile(const sys::Root& host, const std::string& path);

struct FactsOptions {
  std::string kernel;        // --kernel; empty: the running one, or the installed one
  std::string file;          // --source FILE, by the host's path; empty: none
  bool needs_kernel = true;  // false: the running one is enough, even without any of its files here
};

// Reads the host, and asks rpm or apt's lists (whichever it uses) and systemd (for running units).
// Unreadable facts are in `problems`. Errors: FailedPrecondition (no os-release, no kernel),
// NotFound (no such file), InvalidArgument (a file that is no installer).
StatusOr<HostFacts> GatherHostFacts(const host::DriverRoot& root, sys::ProgramRunner& runner,
                                    const FactsOptions& options);

}  // namespace kgpu::driver
