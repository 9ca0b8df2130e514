// Derives the options of the inventory's parts from its own.
#pragma once

#include "src/gpu/health/settings.h"
#include "src/gpu/probe/client.h"
#include "src/node/inventory/inventory.h"

namespace kgpu::inventory {

probe::ClientOptions ClientOptionsOf(const InventoryOptions& options);

// One look needs neither the kernel's events nor measurements.
health::Settings HealthOf(const InventoryOptions& options);

}  // namespace kgpu::inventory
