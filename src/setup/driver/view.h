// A plan and a host, for people and for programs.
#pragma once

#include <boost/json/fwd.hpp>

#include <string>

#include "src/setup/driver/host_facts.h"
#include "src/setup/driver/plan.h"

namespace kgpu::driver {

// A command as a shell would take it.
std::string CommandText(const Command& command);
// What a step does, a line each: commands as they are run, files with their text.
std::vector<std::string> ActionLines(const Action& action);

// Everything a line of which is no command begins with "#"; each step names its page.
std::string PlanText(const Plan& plan);
boost::json::object PlanJson(const Plan& plan);

// `kgpu driver status`.
std::string StatusText(const HostFacts& facts);
boost::json::object StatusJson(const HostFacts& facts);

}  // namespace kgpu::driver
