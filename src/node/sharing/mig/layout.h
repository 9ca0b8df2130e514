// Which MIG layouts GPUs can have.
#pragma once

#include <string>
#include <vector>

#include "src/platform/base/status.h"

namespace kgpu::sharing {

// OK if a GPU of some model can have these instances at the same time ("3g.40gb", "1c.3g.40gb",
// each once for each instance). Errors: InvalidArgument naming the models that have all of the
// profiles, and why those cannot have the layout.
Status CheckMigLayout(const std::vector<std::string>& profiles);

}  // namespace kgpu::sharing
