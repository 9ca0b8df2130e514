// Pages out of their input: pure.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "src/metrics/exposition.h"
#include "src/telemetry/name_sets.h"
#include "src/telemetry/page_input.h"

namespace kgpu::telemetry {

// The series of `names` but those whose name one of `exclude` fits, without the agent's own and
// without the end of an OpenMetrics page.
std::string RenderPage(const PageInput& input, NameSets names, metrics::Format format,
                       std::span<const std::string> exclude);

// Whether `name` is `pattern`, where "*" stands for any letters, also none.
bool FitsPattern(std::string_view name, std::string_view pattern);

}  // namespace kgpu::telemetry
