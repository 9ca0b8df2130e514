// What was asked of the chart, kept in the record of an installation: an upgrade starts from it.
#pragma once

#include <boost/json/object.hpp>

#include "src/cli/cluster/chart_values.h"
#include "src/cluster/chart/values.h"
#include "src/platform/base/status.h"

namespace kgpu::cli {

// Reads the files that the flags name. Errors: as ReadTextFile.
StatusOr<chart::ValuesRequest> ValuesRequestOf(const ChartValuesOptions& options);

boost::json::object RequestJson(const chart::ValuesRequest& request);
// Errors: InvalidArgument naming the field.
StatusOr<chart::ValuesRequest> ParseRequest(const boost::json::object& json,
                                            std::string_view space);

// The request of an upgrade: files and a distribution that are given replace the earlier ones,
// settings are added to them.
chart::ValuesRequest MergeRequests(chart::ValuesRequest before, const chart::ValuesRequest& given);

}  // namespace kgpu::cli
