// Resources and the shapes of their devices in the agent's saved state. Pure functions.
#pragma once

#include <boost/json/fwd.hpp>

#include <string_view>
#include <vector>

#include "src/node/pools/assignment.h"
#include "src/node/pools/change_guard.h"
#include "src/platform/doc/saved_fields.h"

namespace kgpu::pools {

boost::json::array ResourcesJson(const std::vector<Resource>& resources);
// Leaves out slots whose GPU is unknown. A slot is healthy only if the state has it as healthy.
std::vector<Resource> ReadResources(const doc::SavedFields& state, std::string_view key);

boost::json::array ShapesJson(const ChangeGuard::Shapes& shapes);
ChangeGuard::Shapes ReadShapes(const doc::SavedFields& state, std::string_view key);

}  // namespace kgpu::pools
