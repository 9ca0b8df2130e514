#include "src/node/inventory/part_options.h"

#include <chrono>

namespace kgpu::inventory {

probe::ClientOptions ClientOptionsOf(const InventoryOptions& options) {
  probe::ClientOptions client;
  client.program = options.probe_path;
  client.environment = options.probe_environment;
  client.call_deadline = options.call_deadline;
  client.start_deadline = options.start_deadline;
  client.kill_grace = options.kill_grace;
  client.first_backoff = options.first_backoff;
  client.last_backoff = options.last_backoff;
  return client;
}

health::Settings HealthOf(const InventoryOptions& options) {
  health::Settings settings = options.health;
  if (!options.is_live) {
    settings.kernel_log = false;
    settings.every = std::chrono::milliseconds(0);
  }
  return settings;
}

}  // namespace kgpu::inventory
