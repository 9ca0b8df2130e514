// Prints engines and what was done to them.
#pragma once

#include <boost/json/fwd.hpp>

#include <optional>
#include <string>
#include <vector>

#include "src/container/engine/apply.h"
#include "src/container/engine/engine.h"
#include "src/container/engine/engine_api.h"
#include "src/container/engine/plan.h"
#include "src/container/engine/state.h"
#include "src/platform/base/status.h"

namespace kgpu::cli {

struct EngineStatus {
  engine::Engine engine;
  std::optional<engine::Record> record;  // empty: not configured by kgpu
  std::optional<StatusOr<engine::LiveFacts>> live;
};

std::string EnginesTable(const std::vector<EngineStatus>& engines);
boost::json::value EnginesJson(const std::vector<EngineStatus>& engines);

struct Done {
  std::string name;  // of the engine
  std::string way;
  engine::Outcome outcome;
};
std::string DoneText(const std::vector<Done>& done);
boost::json::value DoneJson(const std::vector<Done>& done);
boost::json::value PlansJson(const std::vector<engine::Plan>& plans);

}  // namespace kgpu::cli
