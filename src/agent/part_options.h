// What the command line, the configuration and the memory of an earlier run make of each part's
// options.
#pragma once

#include <string>
#include <vector>

#include "src/agent/cluster_node.h"
#include "src/agent/config_source.h"
#include "src/agent/disk_worker.h"
#include "src/agent/health_handler.h"
#include "src/agent/measurements.h"
#include "src/agent/memory.h"
#include "src/agent/options.h"
#include "src/container/inject/capability.h"
#include "src/node/inventory/inventory.h"
#include "src/platform/sys/root.h"

namespace kgpu::agent {

inline constexpr char kMemoryFile[] = "agent-memory.json";  // in the run folder

// The configuration's, as the command line and the environment change it.
health::Settings HealthOf(const AgentOptions& options, health::Settings settings);
inventory::InventoryOptions InventoryOptionsOf(const AgentOptions& options, const ConfigPtr& config,
                                               const Remembered& remembered);
MemoryKey KeyOf(const AgentOptions& options, const ConfigPtr& config);
// What was shown before in this boot, or nothing; without a good configuration, or with another
// one, the faults alone. Where the memory is not there, or older than the journal of health, what
// that tells of faults is added: `disk` reads it, and is waited for two seconds at most.
Remembered Recall(const AgentOptions& options, const ConfigPtr& config, DiskWorker& disk);
// Where a container runtime may listen, most likely first.
std::vector<std::string> RuntimeSockets(const AgentOptions& options, const sys::Root& host);
inject::CapabilitySet CapabilitiesOf(const config::NodeConfig& config);
ClusterNodeOptions ClusterNodeOptionsOf(const AgentOptions& options, const sys::Root& host);
MeasurementsOptions MeasurementsOptionsOf(const AgentOptions& options, const sys::Root& host);
HealthHandlerOptions HealthHandlerOptionsOf(const AgentOptions& options);

}  // namespace kgpu::agent
