// `kgpu metrics`: the page of series, and what every series is.
#pragma once

#include "src/cli/verb.h"

namespace kgpu::cli {

void AddMetricsVerb(VerbRegistrar& verbs);

}  // namespace kgpu::cli
