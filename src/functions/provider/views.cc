#include "src/functions/provider/views.h"

#include <boost/json/value.hpp>

#include <algorithm>

#include "src/functions/spec/wire.h"
#include "src/platform/base/duration.h"
#include "src/platform/base/time_text.h"
#include "src/platform/doc/json_texts.h"

namespace kgpu::functions {
namespace {

using boost::json::array;
using boost::json::object;

double Milliseconds(std::chrono::nanoseconds time) {
  constexpr double kMicrosAMilli = 1000;
  return static_cast<double>(std::chrono::duration_cast<std::chrono::microseconds>(time).count()) /
         kMicrosAMilli;
}

object ReplicaObject(const ReplicaView& replica) {
  object phases;
  for (size_t i = 0; i < kStartPhases; ++i) {
    const std::string_view name = NameOf(static_cast<StartPhase>(i));
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

object KgpuObject(const Pool& pool, const Meter& meter) {
  const Function& function = pool.deployment().function;
  array replicas;
  for (const ReplicaView& replica : pool.replicas()) {
    replicas.push_back(ReplicaObject(replica));
  }
  // The settings under their names on the wire, then what is so now.
  object settings = ToWire(function);
  object kgpu;
  if (const boost::json::value* given = settings.if_contains("Kgpu");
      given != nullptr && given->is_object()) {
    kgpu = given->get_object();
  }
  const std::string_view state = pool.state();
  kgpu["state"] = doc::View(state);
  kgpu["problem"] = pool.problem();
  kgpu["deployed"] = FormatTime(pool.deployment().deployed);
  kgpu["imageId"] = pool.deployment().image_id;
  kgpu["inFlight"] = meter.in_flight(function.name);
  kgpu["waiting"] = pool.waiting();
  kgpu["replicaList"] = std::move(replicas);
  return kgpu;
}

}  // namespace

object FunctionView(const Pool& pool, const Meter& meter) {
  const Function& function = pool.deployment().function;
  const object wire = ToWire(function);
  const auto part = [&wire](const char* key) -> boost::json::value {
    const boost::json::value* value = wire.if_contains(key);
    return value == nullptr ? boost::json::value(object()) : *value;
  };
  // uint64 are quoted, as protobuf's JSON has them.
  return {{"Name", function.name},
          {"Image", function.image},
          {"InvocationCount", std::to_string(meter.calls(function.name))},
          {"Replicas", std::to_string(pool.replicas().size())},
          {"AvailableReplicas", std::to_string(pool.running())},
          {"Annotations", part("Annotations")},
          {"Labels", doc::TextMap(function.labels)},
          {"Kgpu", KgpuObject(pool, meter)}};
}

object UsageView(const std::map<std::string, FunctionUse>& usage) {
  array list;
  for (const auto& [name, use] : usage) {
    const double calls = static_cast<double>(std::max<uint64_t>(use.calls, 1));
    list.push_back(object{{"function", name},
                          {"calls", use.calls},
                          {"errors", use.errors},
                          {"coldStarts", use.cold_starts},
                          {"callSeconds", use.call_seconds},
                          {"gpuBusySeconds", use.gpu_busy_seconds},
                          {"gpuHeldSeconds", use.gpu_held_seconds},
                          {"gpuSecondsPerCall", use.gpu_busy_seconds / calls}});
  }
  return {{"usage", std::move(list)}};
}

object ErrorView(const Status& status) {
  const std::string_view text = Message(status);
  return {{"code", static_cast<int>(status.code())},
          {"message", doc::View(text)},
          {"details", array()}};
}

object MessageView(std::string_view text) {
  return {{"Msg", doc::View(text)}};
}

}  // namespace kgpu::functions
