// Tables of `kgpu fn` for people, from what the service answers.
#pragma once

#include <boost/json/fwd.hpp>

#include <string>

namespace kgpu::cli {

// Of {"Functions": […]}.
std::string FunctionsTable(const boost::json::value& list);
// Of {"usage": […]}.
std::string FunctionUsageTable(const boost::json::value& usage);

// Of {"calls": […]}, the asynchronous ones.
std::string FunctionQueueTable(const boost::json::value& list);

}  // namespace kgpu::cli
