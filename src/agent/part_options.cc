#include "src/agent/part_options.h"

#include "src/container/cri/runtime_facts.h"
#include "src/node/config/health_switches.h"
#include "src/node/object/host_facts.h"
#include "src/platform/base/log.h"
#include "src/platform/sys/root.h"

namespace kgpu::agent {

health::Settings HealthOf(const AgentOptions& options, health::Settings settings) {
  settings.hold_down = options.hold_down.value_or(settings.hold_down);
  for (const std::string& note : config::ApplyHealthSwitches(options.environment, settings)) {
    KGPU_LOG(kInfo, "health is changed by the environment", {"note", note});
  }
  return settings;
}

inventory::InventoryOptions InventoryOptionsOf(const AgentOptions& options, const ConfigPtr& config,
                                               const Remembered& remembered) {
  inventory::InventoryOptions inventory;
  inventory.probe_path = options.probe_path;
  inventory.nvml_library = options.nvml_library;
  inventory.health = HealthOf(options, config ? config->health : config::HealthConfig());
  inventory.known_faults = remembered.faults;
  inventory.kernel_log_position = remembered.kernel_log_position;
  return inventory;
}

MemoryKey KeyOf(const AgentOptions& options, const ConfigPtr& config) {
  return {.boot_id = ReadBootId(options.boot_id_file),
          .config = config ? config::PrintNodeConfig(*config) : std::string()};
}

// What was shown before in this boot, or nothing.
Remembered Recall(const AgentOptions& options, const ConfigPtr& config) {
  const auto folder = sys::Root::Open(options.run_dir);
  const auto text = folder.ok() ? folder->ReadFile(kMemoryFile) : folder.status();
  if (!text.ok()) {
    return {};
  }
  return ParseMemory(*text, KeyOf(options, config)).value_or(Remembered());
}

std::vector<std::string> RuntimeSockets(const AgentOptions& options, const sys::Root& host) {
  if (!options.runtime_sockets.empty()) {
    return options.runtime_sockets;
  }
  std::vector<std::string> sockets;
  sockets.reserve(cri::kUsualSockets.size());
  for (const std::string_view socket : cri::kUsualSockets) {
    sockets.push_back(host.At(socket));
  }
  return sockets;
}

inject::CapabilitySet CapabilitiesOf(const config::NodeConfig& config) {
  return inject::ParseCapabilities(config.plugin.capabilities)
      .value_or(inject::kDefaultCapabilities);
}

ClusterNodeOptions ClusterNodeOptionsOf(const AgentOptions& options, const sys::Root& host) {
  return {.sources = {.kubeconfig = options.kubeconfig,
                      .context = options.context,
                      .environment = options.environment,
                      .ignores_home_kubeconfig = true},
          .node_name = options.node_name,
          .version = options.version,
          .device_plugins = options.kubelet_dir + "/device-plugins",
          .run_dir = options.run_dir,
          .booted = node::BootTime(host).value_or(WallTime())};
}

MeasurementsOptions MeasurementsOptionsOf(const AgentOptions& options, const sys::Root& host) {
  return {.kubelet_dir = options.kubelet_dir,
          .runtime_sockets = RuntimeSockets(options, host),
          .hostname = options.node_name};
}

HealthDeskOptions HealthDeskOptionsOf(const AgentOptions& options) {
  return {.journal = {.folder = options.state_dir, .boot_id = ReadBootId(options.boot_id_file)},
          .node = options.node_name};
}

}  // namespace kgpu::agent
