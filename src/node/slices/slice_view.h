// Containers with slices of GPUs, for people and programs. Pure functions.
#pragma once

#include <boost/json/fwd.hpp>

#include <string>
#include <vector>

#include "src/node/telemetry/page_input.h"

namespace kgpu::slices {

// Field names are part of the interface: docs/reference/agent.md. Bytes, percent, seconds; what is
// not known is left out.
boost::json::array SliceFiguresJson(const std::vector<telemetry::SliceFigures>& slices);
// A table for `kgpu status`; empty without slices.
std::string SliceTable(const std::vector<telemetry::SliceFigures>& slices);

}  // namespace kgpu::slices
