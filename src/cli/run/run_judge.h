// Whether the nodes of a cluster can run a pod that does not exist yet, by the rules of `kgpu
// explain pod`.
#pragma once

#include <boost/json/fwd.hpp>

#include "src/cluster/run/start.h"
#include "src/diagnose/explain/gather.h"

namespace kgpu::cli {

// Reads the cluster through `ask`. A node that will do once its pods have left, or when it is ready
// again, is busy.
run::Judgement JudgePod(const explain::Ask& ask, const boost::json::value& pod);

}  // namespace kgpu::cli
