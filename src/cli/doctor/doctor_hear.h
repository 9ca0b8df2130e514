// Queries others for `kgpu doctor`: this node's agent, and the cluster if requested.
#pragma once

#include <string>

#include "src/cli/base/node_api.h"
#include "src/cli/base/options.h"
#include "src/diagnose/doctor/kubelet_facts.h"
#include "src/platform/base/status.h"
#include "src/platform/sys/root.h"

namespace kgpu::cli {

struct HearOptions {
  NodeOptions node;       // the cluster is queried if one of its fields is given
  std::string node_file;  // a Node object, instead of a query
  std::string run_dir = kRunDir;
};

// Queries the agent in the run folder below `host`, unless another was named. Those who do not
// answer are in `unanswered`. Errors: those of named files: NotFound, InvalidArgument.
StatusOr<doctor::Heard> Hear(const sys::Root& host, const HearOptions& options);

}  // namespace kgpu::cli
