#include "src/node/faults/saved_faults.h"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <chrono>
#include <string>
#include <utility>

#include "src/platform/base/time_text.h"
#include "src/platform/doc/saved_fields.h"

namespace kgpu::faults {
namespace {

namespace json = boost::json;

constexpr char kFaults[] = "faults";
constexpr char kPosition[] = "kernelLogPosition";

int64_t Milliseconds(WallTime time) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(time.time_since_epoch()).count();
}

WallTime TimeOf(const doc::SavedFields& fields, std::string_view key) {
  return WallTime(std::chrono::milliseconds(
      fields.Number(key, kLastCount<std::chrono::milliseconds>).value_or(0)));
}

json::object FaultJson(const health::OpenFault& fault) {
  json::object entry{{"gpu", fault.scope.gpu.str()},
                     {"rule", fault.rule},
                     {"message", fault.message},
                     {"detail", fault.detail},
                     {"first", Milliseconds(fault.first)},
                     {"last", Milliseconds(fault.last)},
                     {"count", fault.count},
                     {"held", fault.is_held}};
  if (fault.scope.gpu_instance) {
    entry["gpuInstance"] = *fault.scope.gpu_instance;
  }
  if (fault.scope.compute_instance) {
    entry["computeInstance"] = *fault.scope.compute_instance;
  }
  return entry;
}

}  // namespace

void SaveFaults(const health::Overview& health, json::object& state) {
  json::array faults;
  for (const health::OpenFault& fault : health.open) {
    if (fault.is_unhealthy) {
      faults.push_back(FaultJson(fault));
    }
  }
  state[kFaults] = std::move(faults);
  if (health.kernel_log_position) {
    state[kPosition] = *health.kernel_log_position;
  }
}

SavedFaults ReadFaults(const json::object& state) {
  const doc::SavedFields fields(state);
  SavedFaults saved{.kernel_log_position = fields.Number(kPosition)};
  for (const doc::SavedFields& entry : fields.List(kFaults)) {
    const auto gpu = device::GpuUuid::Parse(entry.Text("gpu"));
    if (gpu.ok()) {
      saved.open.push_back(
          {.scope = {*gpu, entry.Small("gpuInstance"), entry.Small("computeInstance")},
           .rule = std::string(entry.Text("rule")),
           .is_held = entry.Flag("held"),
           .message = std::string(entry.Text("message")),
           .detail = std::string(entry.Text("detail")),
           .first = TimeOf(entry, "first"),
           .last = TimeOf(entry, "last"),
           .count = entry.Number("count").value_or(0)});
    }
  }
  return saved;
}

}  // namespace kgpu::faults
