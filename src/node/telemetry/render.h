// Renders pages from their input: pure functions.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "src/node/telemetry/name_sets.h"
#include "src/node/telemetry/page_input.h"
#include "src/platform/metrics/exposition.h"

namespace kgpu::telemetry {

struct PageRequest {
  NameSets names{};
  metrics::Format format = metrics::Format::kText;
  std::span<const std::string> exclude{};  // see FitsPattern
};

// The series of `page.names`, except those that match `page.exclude`; without the agent's own
// series and without the end of an OpenMetrics page.
std::string RenderPage(const PageInput& input, const PageRequest& page);
// The same in pieces of whole lines: a page may have a megabyte.
void RenderPage(const PageInput& input, const PageRequest& page,
                const std::function<void(std::string_view)>& take);

// Whether `name` matches `pattern`, in which "*" stands for any letters, or none.
bool FitsPattern(std::string_view name, std::string_view pattern);

}  // namespace kgpu::telemetry
