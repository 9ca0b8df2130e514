// Whether the nodes of a cluster can run a pod that does not exist yet, by the rules of `kgpu
// explain pod`.
#pragma once

#include <boost/json/fwd.hpp>

#include <string>

#include "src/cluster/run/start.h"
#include "src/diagnose/explain/gather.h"

namespace kgpu::cli {

// Reads the cluster through `ask`. A node that will do once its pods have left, or when it is ready
// again, is busy.
run::Judgement JudgePod(const explain::Ask& ask, const boost::json::value& pod);

// Why a pod of the cluster does not run; of the name of a Job or Deployment without pods: why it
// cannot make one. Empty: unknown.
std::string ExplainPod(const explain::Ask& ask, const std::string& space, const std::string& name);

}  // namespace kgpu::cli
