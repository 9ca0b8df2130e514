// The three output formats.
#pragma once

#include <boost/json/fwd.hpp>

#include <string>
#include <string_view>

#include "src/platform/base/clock.h"
#include "src/platform/base/status.h"

namespace kgpu::report {

enum class OutputFormat { kTable, kJson, kYaml };

// Errors: InvalidArgument naming the three.
StatusOr<OutputFormat> ParseOutputFormat(std::string_view text);

// JSON or YAML of `value`; never called with kTable.
std::string Render(const boost::json::value& value, OutputFormat format);

// "2026-01-02T03:04:05Z".

}  // namespace kgpu::report
