// Reasons why a claim does not get the devices of a node, as findings. Pure functions.
#pragma once

#include "src/diagnose/claim/allocate.h"
#include "src/diagnose/explain/explain.h"

namespace kgpu::claim {

// Whether some device of the node is of a class that the claim names.
bool HasDevicesOfClass(const Outcome& outcome);
explain::NodeVerdict VerdictOn(const explain::Node& node, const Outcome& outcome);

}  // namespace kgpu::claim
