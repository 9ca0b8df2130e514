// MIG layouts and plans, for people and programs. Pure.
#pragma once

#include <boost/json/fwd.hpp>

#include <string>
#include <vector>

#include "src/node/mig/apply.h"
#include "src/node/mig/host.h"
#include "src/node/mig/planner.h"

namespace kgpu::cli {

// Each GPU with its instances, who uses them, and what still fits.
std::string MigListText(const std::vector<mig::HostGpu>& gpus);
boost::json::object MigListJson(const std::vector<mig::HostGpu>& gpus);

// The steps of a plan, or why there is none. `gpus` are those of the plan, as people call them;
// `uuids` are empty for GPUs that do not exist.
std::string MigPlanText(const mig::Plan& plan, const std::vector<std::string>& gpus);
boost::json::object MigPlanJson(const mig::Plan& plan, const std::vector<std::string>& gpus,
                                const std::vector<std::string>& uuids);

// Layouts that are to be restored.
std::string MigTargetsText(const std::vector<mig::Target>& targets);
boost::json::object MigTargetsJson(const std::vector<mig::Target>& targets);

}  // namespace kgpu::cli
