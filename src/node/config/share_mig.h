// Pools with share.by: mig: which layouts GPUs can have.
#pragma once

#include <string>
#include <vector>

#include "src/node/config/node_config.h"
#include "src/platform/base/status.h"

namespace kgpu::config {

// OK if a GPU of some model can have these instances at the same time ("3g.40gb", "1c.3g.40gb",
// each once for each instance). Errors: InvalidArgument naming the models that have all of the
// profiles, and why those cannot have the layout.
Status CheckMigLayout(const std::vector<std::string>& profiles);

// For `kgpu mig --layout`: "3g.40gb,2g.20gb".
std::string MigLayoutText(const Share& share);

// Whether the agent makes the MIG layout of the pool's GPUs.
bool MakesMigLayout(const Pool& pool);

}  // namespace kgpu::config
