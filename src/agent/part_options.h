// Derives each part's options from the command line, the configuration and the saved state of an
// earlier run.
#pragma once

#include <string>
#include <vector>

#include "src/agent/memory.h"
#include "src/agent/options.h"
#include "src/container/inject/capability.h"
#include "src/host/inspect/driver_root.h"
#include "src/node/choice/config_source.h"
#include "src/node/claims/part.h"
#include "src/node/cluster/cluster_node.h"
#include "src/node/faults/health_handler.h"
#include "src/node/faults/saved_faults.h"
#include "src/node/inventory/inventory.h"
#include "src/node/layouts/mig_layouts.h"
#include "src/node/mps/mps_sharing.h"
#include "src/node/part/part.h"
#include "src/node/slices/slice_files.h"
#include "src/node/telemetry/measurements.h"
#include "src/node/telemetry/name_sets.h"
#include "src/platform/sys/disk_worker.h"
#include "src/platform/sys/root.h"

namespace kgpu::agent {

inline constexpr char kChoiceFile[] = "chosen-config.json";  // in the run folder
inline constexpr char kMemoryFile[] = "agent-memory.json";   // in the run folder
inline constexpr char kShareFolder[] = "share";              // in the state folder
inline constexpr char kMpsFolder[] = "mps";                  // in the run folder
inline constexpr char kLentFolder[] = "lent-slices";         // in the state folder

// The state of an earlier run in this boot.
struct Remembered {
  node::SavedState state{};
  faults::SavedFaults faults{};
};

choice::ConfigSourceOptions ConfigSourceOptionsOf(const AgentOptions& options);
// The configuration's settings, overridden by the command line and the environment.
health::Settings HealthOf(const AgentOptions& options, health::Settings settings);
inventory::InventoryOptions InventoryOptionsOf(const AgentOptions& options,
                                               const choice::ConfigPtr& config,
                                               const Remembered& remembered);
MemoryKey KeyOf(const AgentOptions& options, const choice::ConfigPtr& config);
// The state saved earlier in this boot, or nothing; with no valid configuration, or a different
// one, only the faults. If the saved state is missing, or older than the health journal, the
// journal's faults are added, if `disk` reads it in time.
Remembered Recall(const AgentOptions& options, const choice::ConfigPtr& config,
                  sys::DiskWorker& disk);
// Possible sockets of a container runtime, most likely first.
std::vector<std::string> RuntimeSockets(const AgentOptions& options, const sys::Root& host);
// The sets of series of a configuration; null: the default ones.
telemetry::NameSets NameSetsOf(const choice::ConfigPtr& config);
// The kubelet's resources whose names are known without the devices.
std::vector<std::string> ResourcesToPrepare(const config::NodeConfig& config);
inject::CapabilitySet CapabilitiesOf(const config::NodeConfig& config);
cluster::ClusterNodeOptions ClusterNodeOptionsOf(const AgentOptions& options,
                                                 const sys::Root& host);
// In the following, `own` is "/" of this process, which is not the host's in a container.
// The files of memory slices are in the state folder.
slices::SliceFilesOptions SliceFilesOptionsOf(const AgentOptions& options,
                                              const host::DriverRoot& root, const sys::Root& own);
// The same for lent ones, which have a folder of their own.
slices::SliceFilesOptions LentFilesOptionsOf(const AgentOptions& options,
                                             const host::DriverRoot& root, const sys::Root& own);
// Whether our /dev/shm is the folder in the host's that is for MPS alone: by the last mount there.
// Source: proc(5), /proc/[pid]/mountinfo.
bool OwnsSharedMemory(std::string_view mountinfo);
// The daemons of MPS are in the run folder, which is in memory: neither they nor their sockets
// outlive a reboot.
mps::MpsSharingOptions MpsSharingOptionsOf(const AgentOptions& options,
                                           const host::DriverRoot& root, const sys::Root& own);
claims::ClaimPartOptions ClaimPartOptionsOf(const AgentOptions& options);
layouts::MigLayoutsOptions MigLayoutsOptionsOf(const AgentOptions& options,
                                               const Remembered& remembered);
telemetry::MeasurementsOptions MeasurementsOptionsOf(const AgentOptions& options,
                                                     const sys::Root& host);
faults::HealthHandlerOptions HealthHandlerOptionsOf(const AgentOptions& options);

}  // namespace kgpu::agent
