// All that the doctor knows of a host, gathered once. Checks are functions of this value and look
// at nothing else.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "src/container/cdi/folder.h"
#include "src/container/engine/check.h"
#include "src/container/engine/daemons.h"
#include "src/container/engine/engine.h"
#include "src/host/inspect/device_nodes.h"
#include "src/host/inspect/driver_facts.h"
#include "src/host/inspect/driver_root.h"
#include "src/host/inspect/installed_kernels.h"
#include "src/host/inspect/pci.h"
#include "src/platform/base/clock.h"
#include "src/platform/sys/run.h"
#include "src/setup/doctor/kubelet_facts.h"
#include "src/setup/doctor/sight.h"

namespace kgpu::doctor {

// A bridge between the root of the PCI tree and a GPU.
struct Bridge {
  std::string address;  // "0000:16:00.0"
  // Access Control Services; nothing: it has none, or could not be seen.
  std::optional<uint16_t> acs_control;
  unsigned acs_offset = 0;  // of the control register in configuration space
  std::optional<uint64_t> link_width_max;
  bool operator==(const Bridge&) const = default;
};

struct GpuFacts {
  host::PciDevice pci;
  bool has_unplaced_bar = false;  // a region that the firmware gave no address
  std::optional<uint64_t> link_width;
  std::optional<uint64_t> link_width_max;
  // Sizes that its memory window can be given: bit n is 2^n MiB; nothing: it has one size.
  std::optional<uint64_t> window_sizes;
  std::optional<uint64_t> fatal_errors;  // by PCIe's advanced error reporting, since boot
  bool has_numa_answer = false;          // the kernel has a numa_node file for it
  std::string iommu_type;                // "DMA", "DMA-FQ", "identity"; empty: no IOMMU
  std::vector<Bridge> bridges;           // from the root downwards
  bool is_for_guests = false;            // held for virtual machines: see MarkGuestGpus
};

struct PciFacts {
  std::vector<GpuFacts> gpus;
  std::vector<host::PciDevice> nvswitches;
  size_t numa_nodes = 1;
  bool is_unseen = false;  // the bus can not be read: no GPU there means nothing
};
PciFacts ReadPciFacts(Sight& sight);

// The settings of an ACS capability in a function's configuration space. Source: PCI Express Base
// 4.0 §7.7.8: extended capability 0x000d, control register 6 bytes into it.
struct AcsControl {
  unsigned offset = 0;
  uint16_t value = 0;
};
std::optional<AcsControl> FindAcsControl(std::string_view config);

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
  std::string built_by;  // "gcc-12"; empty: not told
  std::string cmdline;
  std::set<std::string> loaded;                // modules
  bool has_module_folder = false;              // /lib/modules/<release>
  bool has_headers = false;                    // its build/
  bool is_loading_refused = false;             // modules_disabled
  std::set<std::string> installed;             // names of modules of this kernel, without ".ko"
  std::string nvidia_file;                     // path of nvidia.ko for this kernel; empty: none
  std::vector<host::InstalledKernel> kernels;  // all that are installed, by age
  std::optional<bool> is_nvidia_signed;        // nothing: could not be read
  std::optional<DkmsModule> dkms;       // the newest that is built, else the newest; nothing: none
  std::string gcc;                      // what /usr/bin/gcc leads to: "gcc-12"; empty: none
  std::set<std::string> gccs;           // every "gcc-12" in /usr/bin
  std::optional<bool> secure_boot;      // nothing: no EFI, or not readable
  bool is_signature_enforced = false;   // module.sig_enforce
  std::optional<bool> is_key_enrolled;  // DKMS's own key in the firmware's list; nothing: no key
  std::string key_file;
  std::vector<Blacklisted> blacklist;
  std::set<std::string> guest_ids;  // "10de:20b5": cards that vfio-pci is told to take
};
KernelFacts ReadKernelFacts(Sight& sight, sys::ProgramRunner& runner);

enum class Family : uint8_t { kOther, kDebian, kUbuntu, kRhel, kSuse };

// What installs packages here.
enum class Packager : uint8_t {
  kOther,
  kApt,
  kDnf,
  kYum,
  kTdnf,
  kZypper,
  kOstree,         // /usr is an image: rpm-ostree, bootc
  kTransactional,  // SUSE's read-only systems
};

// Of /etc/os-release, or of the distribution's own in /usr/lib; empty: there is none.
std::map<std::string, std::string> ReadOsRelease(Sight& sight);

struct SystemFacts {
  Family family = Family::kOther;
  Packager packager = Packager::kOther;
  bool is_arm64 = false;
  std::string default_target;            // "graphical.target"; empty: not systemd, or not told
  bool has_display_manager = false;      // a unit of one is installed as such
  std::vector<engine::Daemon> displays;  // processes that draw
  // By the pid of each whether it has a GPU of `pci` open; absent: may not be seen.
  std::map<pid_t, bool> has_gpu_open;
};
// Servers and compositors of displays, and what starts them.
std::vector<engine::Daemon> FindDisplays(const sys::Root& host);
SystemFacts ReadSystemFacts(Sight& sight, const PciFacts& pci);

// What is installed of NVIDIA's driver.
struct InstallFacts {
  // Installed packages of the driver and their upstream versions: read from dpkg's file, told by
  // the host's own rpm.
  std::map<std::string, std::string> packages;
  std::string fabric_version;            // of the fabric manager's package; empty: none
  bool has_runfile = false;              // NVIDIA's own installer was here
  bool has_firmware = false;             // of the loaded module's version
  std::optional<bool> is_cuda_in_cache;  // libcuda.so.1 in ld.so.cache; nothing: no cache
  bool has_fabric_manager = false;
};
InstallFacts ReadInstallFacts(Sight& sight, sys::ProgramRunner& runner, Family family,
                              const host::DriverRoot& root, const host::DriverFacts& driver);

struct DeviceFacts {
  host::DeviceNodes nodes;
  std::set<std::string> names;          // of all that begins with "nvidia" in /dev
  size_t gpu_count = 0;                 // that the driver has
  std::vector<std::string> closed;      // nodes that not everybody may open: "/dev/nvidia0 (0660)"
  std::optional<unsigned> mig_monitor;  // the capability that MIG monitoring needs
};
DeviceFacts ReadDeviceFacts(Sight& sight);

// What runs of NVIDIA's services.
struct ServiceFacts {
  std::vector<engine::Daemon> persistence;
  std::vector<engine::Daemon> fabric;
  bool has_rdma = false;
};
ServiceFacts ReadServiceFacts(Sight& sight);

struct EngineFacts {
  engine::Engine engine;
  std::vector<engine::Finding> findings;  // what `kgpu runtime check` says
  std::optional<uint64_t> memlock;        // bytes its containers may lock; nothing: no limit
  std::string config;                     // text of its configuration
  std::string settings;                   // of all its files, drop-ins too
  bool is_socket_activated = false;       // its first client starts it
};

struct SpecFinding {
  std::string path;  // of the CDI file
  std::string text;
  bool is_newer = false;  // of a version of CDI that this kgpu does not know
};

// How containers get GPUs.
struct ContainerFacts {
  std::vector<EngineFacts> engines;
  std::vector<SpecFinding> broken_specs;  // files that engines do not take
  std::vector<SpecFinding> stale_specs;   // that name what is not there
  std::vector<cdi::Conflict> conflicts;
  bool has_gpu_spec = false;
  bool has_systemd = false;
  bool is_cgroup_v2 = false;
  std::vector<std::string> lost_links;  // "/dev/char/195:0" that are not there
  std::optional<unsigned> systemd_version;
  std::optional<engine::Version> runc_version;  // asked for where links are lost only
  bool is_legacy_hook = false;                  // of NVIDIA's runtime, set so by its configuration

  bool is_cdi_well() const {
    return has_gpu_spec && broken_specs.empty() && stale_specs.empty() && conflicts.empty();
  }
};
ContainerFacts ReadContainerFacts(Sight& sight, sys::ProgramRunner& runner,
                                  const host::DeviceNodes& nodes);

// Sets GpuFacts::is_for_guests of cards that vfio-pci or its like holds, and of those without a
// driver that it is told to take.
void MarkGuestGpus(PciFacts& pci, const KernelFacts& kernel);
// "10de:20b5" of the kernel's command line and of an "options vfio-pci ids=…" line.
std::set<std::string> GuestIds(std::string_view text);

enum class Place : uint8_t {
  kHost,
  kWsl,
  kJetson,
  kContainer,  // one that sees no root but its own
};
Place ReadPlace(Sight& sight);

// Systems whose packages take an entitlement.
enum class RedHat : uint8_t {
  kNo,
  kEnterprise,  // RHEL
  kCoreOs,      // RHCOS: the nodes of OpenShift
};

struct EntitlementFacts {
  RedHat red_hat = RedHat::kNo;
  bool is_valid = false;             // a certificate has not ended
  std::optional<WallTime> last_end;  // of all certificates; nothing: there is none
  bool has_other_source = false;     // the system's packages come from elsewhere
  bool is_unseen = false;            // certificates that may not be read
};
EntitlementFacts ReadEntitlementFacts(Sight& sight, const Clock& clock);

struct Facts {
  Place place = Place::kHost;
  PciFacts pci;
  KernelFacts kernel;
  SystemFacts system;
  EntitlementFacts entitlement;
  host::DriverFacts driver;
  InstallFacts install;
  DeviceFacts devices;
  ServiceFacts services;
  ContainerFacts containers;
  KubeletFacts kubelet;
  // Whose programs or files are on this host, and which: "process nfd-worker (pid 900)".
  std::map<node::Owner, std::vector<std::string>> owner_marks;
  Heard heard;
  std::vector<std::string> unseen;  // what could not be looked at, a sentence each

  // There are GPUs that this host's own driver shall have.
  bool has_gpus() const {
    return std::ranges::any_of(pci.gpus, [](const GpuFacts& gpu) { return !gpu.is_for_guests; });
  }
  // NVIDIA's driver is installed here, in whichever state.
  bool has_driver() const {
    return driver.is_nvidia_loaded || !driver.library_versions.empty() ||
           !kernel.nvidia_file.empty() || kernel.dkms.has_value();
  }
};

// Never fails: what can not be seen is in `unseen`.
// Engines and the kubelet are asked for their versions by `runner`; `clock` tells what has ended.
Facts GatherFacts(const host::DriverRoot& root, sys::ProgramRunner& runner, const Clock& clock,
                  Heard heard = {});

// What two device plugins serve at once: ends of the names of their sockets, "gpu.sock".
std::vector<std::string> TwiceServed(const Facts& facts);

}  // namespace kgpu::doctor
