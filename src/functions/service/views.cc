#include "src/functions/service/views.h"

#include <boost/json/value.hpp>

#include <algorithm>
#include <utility>

#include "src/functions/spec/wire.h"
#include "src/platform/doc/json_texts.h"

namespace kgpu::functions {

using boost::json::array;
using boost::json::object;

object PhasesView(const PhaseNames& names, const PhaseTimes& times) {
  constexpr double kMicrosAMilli = 1000;
  object phases;
  for (size_t i = 0; i < kStartPhases; ++i) {
    const auto time = std::chrono::duration_cast<std::chrono::microseconds>(times.at(i));
    phases[doc::View(names.at(i))] = static_cast<double>(time.count()) / kMicrosAMilli;
  }
  return phases;
}

object FunctionView(const Function& function, const FunctionNumbers& numbers, object state) {
  const object wire = ToWire(function);
  const auto part = [&wire](const char* key) {
    const boost::json::value* value = wire.if_contains(key);
    return value != nullptr && value->is_object() ? value->get_object() : object();
  };
  object kgpu = part("Kgpu");
  for (auto& [key, value] : state) {
    kgpu[key] = std::move(value);
  }
  // uint64 are quoted, as protobuf's JSON has them.
  return {{"Name", function.name},
          {"Image", function.image},
          {"InvocationCount", std::to_string(numbers.calls)},
          {"Replicas", std::to_string(numbers.replicas)},
          {"AvailableReplicas", std::to_string(numbers.available)},
          {"Annotations", part("Annotations")},
          {"Labels", doc::TextMap(function.labels)},
          {"Kgpu", std::move(kgpu)}};
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
