#include "src/functions/provider/views.h"

#include <boost/json/value.hpp>

#include <utility>

#include "src/functions/service/views.h"
#include "src/platform/base/time_text.h"
#include "src/platform/doc/json_texts.h"

namespace kgpu::functions {
namespace {

using boost::json::array;
using boost::json::object;

object ReplicaObject(const ReplicaView& replica) {
  object phases;
  for (size_t i = 0; i < kStartPhases; ++i) {
    const std::string_view name = kMachinePhases.at(i);
    phases[{name.data(), name.size()}] = Milliseconds(replica.phases.at(i));
  }
  const std::string_view state = NameOf(replica.state);
  return {{"id", replica.id},
          {"state", doc::View(state)},
          {"gpus", doc::Texts(replica.gpus)},
          {"since", FormatTime(replica.since)},
          {"inFlight", replica.in_flight},
          {"phases", std::move(phases)},
          {"outdated", replica.is_outdated},
          {"problem", replica.problem}};
}

}  // namespace

object PoolView(const Pool& pool, const Meter& meter) {
  const Function& function = pool.deployment().function;
  array replicas;
  for (const ReplicaView& replica : pool.replicas()) {
    replicas.push_back(ReplicaObject(replica));
  }
  const FunctionNumbers numbers{.calls = meter.calls(function.name),
                                .replicas = static_cast<int64_t>(replicas.size()),
                                .available = pool.running()};
  const std::string_view state = pool.state();
  object now = {{"state", doc::View(state)},
                {"problem", pool.problem()},
                {"deployed", FormatTime(pool.deployment().deployed)},
                {"imageId", pool.deployment().image_id},
                {"inFlight", meter.in_flight(function.name)},
                {"waiting", pool.waiting()},
                {"replicaList", std::move(replicas)}};
  return FunctionView(function, numbers, std::move(now));
}

}  // namespace kgpu::functions
