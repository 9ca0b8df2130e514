// Asks the helper process that changes MIG layouts, beside the loop.
#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "src/node/layouts/child_run.h"
#include "src/node/mig/helper.h"
#include "src/platform/base/status.h"

namespace kgpu::layouts {

// An error if the helper ended without a reply: it may have been killed in the middle of a change.
using HelperDone = std::function<void(const StatusOr<mig::HelperReply>& reply)>;

// Runs `program` as the helper. Must not be called while `child` runs.
void AskHelper(ChildRun& child, const std::string& program, const mig::HelperRequest& request,
               std::chrono::seconds deadline, HelperDone done);

}  // namespace kgpu::layouts
