// A line for each device, for spreadsheets. Source: RFC 4180, with "\n" as the line end.
#pragma once

#include <string>
#include <vector>

#include "src/cli/top/live_document.h"

namespace kgpu::top {

// "a,b" and a line end; a field with a comma, quote or line break is quoted.
std::string CsvLine(const std::vector<std::string>& fields);

// A header, and a line for each GPU and each MIG device. Values that are not known are empty.
std::string NodeCsv(const LiveDocument& document);

}  // namespace kgpu::top
