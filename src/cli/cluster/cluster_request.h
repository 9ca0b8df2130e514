// The requested values of the chart, in the record of an installation: an upgrade starts from them.
#pragma once

#include <boost/json/object.hpp>

#include "src/cli/cluster/chart_values.h"
#include "src/cluster/chart/values.h"
#include "src/platform/base/status.h"

namespace kgpu::cli {

boost::json::object RequestJson(const chart::ValuesRequest& request);
// Errors: InvalidArgument naming the field.
StatusOr<chart::ValuesRequest> ParseRequest(const boost::json::object& object,
                                            std::string_view space);

// The request of an upgrade: files and a distribution that are given replace the earlier ones,
// settings are added to them.
chart::ValuesRequest MergeRequests(chart::ValuesRequest before, const chart::ValuesRequest& given);

}  // namespace kgpu::cli
