// Everything the doctor knows about a host, gathered once. Checks are functions of this value and
// read nothing else.
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
#include "src/container/engine/engine.h"
#include "src/diagnose/doctor/kubelet_facts.h"
#include "src/gpu/health/health_event.h"
#include "src/host/facts/daemons.h"
#include "src/host/facts/distribution.h"
#include "src/host/facts/facts.h"
#include "src/host/facts/package_files.h"
#include "src/host/facts/sight.h"
#include "src/host/inspect/device_nodes.h"
#include "src/host/inspect/driver_root.h"
#include "src/host/inspect/module_fit.h"
#include "src/platform/base/clock.h"
#include "src/platform/sys/run.h"

namespace kgpu::doctor {

// The host's way to install packages.
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

// Packages have the names that Red Hat uses, and rpm manages them.
bool IsLikeRedHat(host::Family family);

struct SystemFacts {
  host::Family family = host::Family::kOther;
  Packager packager = Packager::kOther;
  bool is_arm64 = false;
  bool can_plan_driver = false;      // `kgpu driver install` knows this distribution
  std::string default_target;        // "graphical.target"; empty: not systemd, or unknown
  bool has_display_manager = false;  // one is installed as a unit
  // Whether each process, by pid, has a GPU of `pci` open; absent: unreadable.
  std::map<pid_t, bool> has_gpu_open;
};
SystemFacts ReadSystemFacts(host::Sight& sight, host::Family family, const host::Facts& seen);

// What is installed of NVIDIA's driver.
struct InstallFacts {
  // Installed driver packages and their upstream versions: from dpkg's status file, or from the
  // host's own rpm.
  std::map<std::string, std::string> packages;
  std::string fabric_version;            // of the fabric manager's package; empty: none
  bool is_by_kgpu = false;               // `kgpu driver install` installed it
  bool has_firmware = false;             // of the loaded module's version
  std::optional<bool> is_cuda_in_cache;  // libcuda.so.1 in ld.so.cache; nothing: no cache
  bool has_fabric_manager = false;
  host::PackageFiles files;  // of those packages
  // The package with the headers of each installed kernel, by its release; see
  // host::HeadersPackage.
  std::map<std::string, std::string> headers;
};
InstallFacts ReadInstallFacts(host::Sight& sight, sys::ProgramRunner& runner,
                              const host::Distribution& distribution, const host::DriverRoot& root,
                              const host::DriverFacts& driver);

struct DeviceFacts {
  host::DeviceNodes nodes;
  std::set<std::string> names;          // of all that begins with "nvidia" in /dev
  size_t gpu_count = 0;                 // that the driver has
  std::vector<std::string> closed;      // nodes that not everybody may open: "/dev/nvidia0 (0660)"
  std::optional<unsigned> mig_monitor;  // the capability that is needed to monitor MIG
};
DeviceFacts ReadDeviceFacts(host::Sight& sight);

// Which of NVIDIA's services run.
struct ServiceFacts {
  std::vector<host::Daemon> persistence;
  bool has_persistence_socket = false;  // visible even if the daemon's process is not
  std::vector<host::Daemon> fabric;
  bool has_rdma = false;
};
ServiceFacts ReadServiceFacts(host::Sight& sight);

struct EngineFacts {
  engine::Engine engine;
  std::vector<report::Finding> findings;  // from `kgpu runtime check`
  std::optional<uint64_t> memlock;        // bytes that its containers may lock; nothing: no limit
  std::string config;                     // its configuration's text
  std::string settings;                   // of all its files, including drop-ins
  std::string start;                      // the command that starts it here
};

struct SpecFinding {
  std::string path;  // of the CDI file
  std::string text;
  bool is_newer = false;  // of a CDI version that this kgpu does not know
};

// How containers get GPUs.
struct ContainerFacts {
  std::vector<EngineFacts> engines;
  std::string install;                    // the command that installs one, or words for a person
  std::vector<SpecFinding> broken_specs;  // files that engines refuse
  std::vector<SpecFinding> stale_specs;   // files that name things that do not exist
  std::vector<cdi::Conflict> conflicts;
  bool has_gpu_spec = false;
  bool has_systemd = false;
  bool is_cgroup_v2 = false;
  std::vector<std::string> lost_links;  // "/dev/char/195:0" that are not there
  std::optional<unsigned> systemd_version;
  std::optional<engine::Version> runc_version;  // only read if links are lost
  bool is_legacy_hook = false;                  // of NVIDIA's runtime, by its configuration

  bool is_cdi_ok() const {
    return has_gpu_spec && broken_specs.empty() && stale_specs.empty() && conflicts.empty();
  }
};
// `engine_root` is what the container engine calls "/".
ContainerFacts ReadContainerFacts(host::Sight& sight, sys::ProgramRunner& runner,
                                  const host::DeviceNodes& nodes, const std::string& engine_root);

enum class Place : uint8_t {
  kHost,
  kWsl,
  kJetson,
  kContainer,  // one that only sees its own root
};
Place ReadPlace(host::Sight& sight);

// Systems whose packages require an entitlement.
enum class RedHat : uint8_t {
  kNo,
  kEnterprise,  // RHEL
  kCoreOs,      // RHCOS: the nodes of OpenShift
};

struct EntitlementFacts {
  RedHat red_hat = RedHat::kNo;
  bool is_valid = false;             // one certificate has not expired
  std::optional<WallTime> last_end;  // of all certificates; nothing: there are none
  bool has_other_source = false;     // the system's packages come from elsewhere
  bool is_unreadable = false;        // certificates are unreadable
};
EntitlementFacts ReadEntitlementFacts(host::Sight& sight, const host::Distribution& distribution,
                                      const Clock& clock);

// Facts that not every check uses.
enum class Topic : uint8_t {
  kEntitlement,
  kInstall,
  kDevices,
  kServices,
  kProcesses,  // which daemons run
  kContainers,
  kKubelet,
  kOwners,
  kAnswers,  // of the driver, the agent and the cluster
};

struct Facts : host::Facts {
  // By topic, as `unreadable`, which concerns every check.
  std::map<Topic, std::vector<std::string>> unreadable_of;
  Place place = Place::kHost;
  bool shows_processes = true;  // false: what runs on the host is unknown
  SystemFacts system;
  EntitlementFacts entitlement;
  InstallFacts install;
  DeviceFacts devices;
  ServiceFacts services;
  ContainerFacts containers;
  KubeletFacts kubelet;
  // Programs and files of other owners on this host: "process nfd-worker (pid 900)".
  std::map<node::Owner, std::vector<std::string>> owner_marks;
  Heard heard;
  // Faults in the driver's measurements, by the agent's rules; empty: none, or not measured.
  std::vector<health::OpenFault> gpu_faults;
};

// Why the loaded modules do not drive a GPU with this PCI device id: see host::MisfitOf.
inline host::Misfit MisfitOf(const Facts& facts, uint16_t device_id) {
  return host::MisfitOf(device_id, {.version = facts.driver.module_version,
                                    .is_open_module = facts.driver.is_open_module});
}

// Never fails: what cannot be read is in `unreadable` and `unreadable_of`. Uses `runner` to get the
// versions of engines and the kubelet, and `clock` to tell what has expired.
Facts GatherFacts(const host::DriverRoot& root, sys::ProgramRunner& runner, const Clock& clock,
                  Heard heard = {});

// What two device plugins serve at the same time: suffixes of their socket names, "gpu.sock".
std::vector<std::string> TwiceServed(const Facts& facts);

}  // namespace kgpu::doctor
