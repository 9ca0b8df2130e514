// Explains pods by `kgpu explain`, in a process of its own: it reads nodes and their pods, which
// takes a while and memory.
#pragma once

#include <string>
#include <vector>

#include "src/functions/kubernetes/kube_provider.h"
#include "src/functions/provider/programs.h"
#include "src/platform/base/status.h"

namespace kgpu::cli {

// `flags`: "--kubeconfig=…" and the like. `programs` must outlive the result.
functions::ExplainPod ExplainByChild(functions::Programs& programs, std::vector<std::string> flags);

// What `kgpu explain pod --output json` says. Errors: InvalidArgument.
StatusOr<functions::PodExplanation> ParseExplanation(std::string_view json);

}  // namespace kgpu::cli
