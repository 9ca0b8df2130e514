// Everything that can happen to a simulated driver, as functions on its state. Pure: no clock, no
// files. A function that returns an error has changed nothing. GPUs are identified by slot: see
// gpus.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "src/platform/base/status.h"
#include "testing/driver/gpus.h"
#include "testing/driver/state.h"

namespace kgpu::sim {

// Appends an event for clients that registered for its type.
void PushEvent(SimState& state, const SimEvent& event);

// An XID message from the driver, 1…999. Only the event: `Lose` has the effects of XID 79 on a GPU.
struct XidTarget {
  uint32_t gpu_instance = kUnsupported;
  uint32_t compute_instance = kUnsupported;
};
Status InjectXid(SimState& state, uint32_t slot, uint32_t xid, XidTarget target = {});

enum class EccKind { kCorrected, kUncorrected };
// Adds `count` errors at `location` (NVML_MEMORY_LOCATION_*) to the volatile and aggregate counters
// and tells the clients. Uncorrected errors of device memory leave a row remap (or a page
// retirement) pending. Errors: FailedPrecondition (ECC is off), InvalidArgument.
Status SetEcc(SimState& state, uint32_t slot, EccKind kind, uint32_t location, uint64_t count);

// The GPU falls off the bus: XID 79, and every call on it reports that until Heal.
Status Lose(SimState& state, uint32_t slot);

// Calls wait until Heal. `slot` nullopt: calls on any GPU, and calls without one. `function` empty:
// all functions; else an NVML name such as "nvmlDeviceGetTemperature".
Status Hang(SimState& state, std::optional<uint32_t> slot, std::string_view function);
// As Hang, but each call takes `nanoseconds` longer; at most an hour.
Status Slow(SimState& state, std::optional<uint32_t> slot, uint64_t nanoseconds,
            std::string_view function);

// Calls return `code`, an nvmlReturn_t of 1 to 999, until Heal. A handle that is requested by index
// or address counts as a call on its GPU: "nvmlDeviceGetHandleByIndex". Errors: InvalidArgument.
Status Refuse(SimState& state, std::optional<uint32_t> slot, uint32_t code,
              std::string_view function);

// Unloads the kernel module, and resets what that resets. Errors: FailedPrecondition.
Status Unload(SimState& state);
// Loads the module with `version` ("": as before) and `cuda` (0: as before).
Status Load(SimState& state, std::string_view version, uint32_t cuda);

// Adds the process, or replaces the one with its pid and kind. Errors: InvalidArgument, NotFound
// (no such GPU or compute instance), ResourceExhausted (slots or memory).
Status AddProcess(SimState& state, uint32_t slot, const SimProcess& process);
// Sets the process's four utilisations, in percent, from `load`, by its pid. Errors: NotFound,
// InvalidArgument.
Status SetProcessUtil(SimState& state, uint32_t slot, const SimProcess& load);
// Errors: NotFound.
Status RemoveProcess(SimState& state, uint32_t slot, uint32_t pid);

// Percent. Errors: InvalidArgument.
Status SetUtil(SimState& state, uint32_t slot, uint32_t gpu, uint32_t memory);
// Degrees Celsius, 0…150; at or above the slowdown threshold the GPU throttles, at the shutdown
// threshold it is lost.
Status SetTemp(SimState& state, uint32_t slot, uint32_t celsius);
// nvmlClocksEventReason* bits; 0 ends it. An event reports changes of clocks.
Status Throttle(SimState& state, uint32_t slot, uint64_t reasons);
// Takes the link down at both ends and counts a recovery error. Errors: NotFound.
Status NvLinkDown(SimState& state, uint32_t slot, uint32_t link);

// Sets one plain value by name: see FieldNames. Errors: InvalidArgument (names the nearest field).
Status SetField(SimState& state, uint32_t slot, std::string_view field, uint64_t value);
std::vector<std::string_view> FieldNames();

// A GPU reset with everything fixed: lost, knobs, XID, volatile counters, pending modes, remaps,
// throttling, links. Without a slot: all GPUs and the global knobs.
Status Heal(SimState& state, std::optional<uint32_t> slot);

}  // namespace kgpu::sim
