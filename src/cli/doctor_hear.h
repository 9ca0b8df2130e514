// What `kgpu doctor` asks others: the agent of this node, and the cluster where it was asked to.
#pragma once

#include <string>

#include "src/cli/node_api.h"
#include "src/cli/options.h"
#include "src/diagnose/doctor/kubelet_facts.h"
#include "src/platform/base/status.h"
#include "src/platform/sys/root.h"

namespace kgpu::cli {

struct HearOptions {
  NodeOptions node;       // the cluster is asked where one of its fields is given
  std::string node_file;  // a Node object, in place of asking
  std::string run_dir = kRunDir;
};

// The agent is asked in the run folder below `host`, unless another one was named. Who does not
// answer is in `unanswered`. Errors: of the files that were named: NotFound, InvalidArgument.
StatusOr<doctor::Heard> Hear(const sys::Root& host, const HearOptions& options);

}  // namespace kgpu::cli
