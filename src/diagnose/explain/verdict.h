// The one-line summary above a report. Pure functions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "src/diagnose/explain/explain.h"

namespace kgpu::explain {

// "pending: no node has 2 free nvidia.com/gpu; node-a has 1 free of 8 …", from the rest of the
// report.
std::string VerdictOf(const Report& report);

// Sets the verdict and the subjects of all findings, and makes each command one line.
void FinishReport(Report& report);

// Fewer reasons first, then more that is free.
void SortBestFirst(std::vector<NodeVerdict>& nodes);

// "A100-SXM4-80GB, 0000:07:00.0" for a device in the node's annotation kgpu.dev/gpus; empty: not
// found.
std::string CardIn(std::string_view annotation, std::string_view uuid);

}  // namespace kgpu::explain
