// What can be wrong with a GPU, and what to do about it: the vocabulary of rules, verdicts, the
// configuration and people.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "src/gpu/device/ids.h"

namespace kgpu::health {

// What fixes it, least disruptive first.
enum class Action : uint8_t {
  kIgnore,      // nothing is wrong with the GPU
  kRestartApp,  // the program on the GPU failed: check that program
  kDrain,       // no new work; let running work end, then reset
  kResetGpu,
  kReboot,
  kInspect,  // the hardware: seating, power, cooling, cable; replace it if it recurs
};
// "ignore", "restart-app", "drain", "reset-gpu", "reboot", "inspect".
std::string_view ToString(Action action);
std::optional<Action> ParseAction(std::string_view word);

// Where the fault lies.
enum class FaultClass : uint8_t {
  kApplication,
  kDriver,
  kMemory,
  kNvLink,
  kPcie,
  kThermal,
  kPower,
  kFirmware,  // GSP and other micro-controllers
  kBus,       // lost, fallen off
  kOther,
};
// "application", "driver", …
std::string_view ToString(FaultClass fault_class);
std::optional<FaultClass> ParseFaultClass(std::string_view word);

// Who reported the fault.
enum class Source : uint8_t { kDriverEvent, kKernelLog, kSample, kCall };
// "driver", "kernel-log", "sample", "call".
std::string_view ToString(Source source);
std::optional<Source> ParseSource(std::string_view word);

// The part that a fault affects.
struct Scope {
  device::GpuUuid gpu{};
  std::optional<unsigned> gpu_instance{};      // nullopt: the whole GPU, with all its MIG devices
  std::optional<unsigned> compute_instance{};  // nullopt: every MIG device of the GPU instance
  auto operator<=>(const Scope&) const = default;
};

// One observation, before any rule is applied. Its texts are only valid during the call that takes
// the sign: a storm of signs costs no memory.
struct Sign {
  std::string_view rule{};                 // "RowRemapPending"; empty for an XID
  std::optional<uint64_t> xid{};           // its rule is "Xid<xid>"
  std::optional<device::GpuUuid> gpu{};    // nullopt: unknown, so it applies to all
  std::optional<unsigned> gpu_instance{};  // nullopt: the whole GPU
  std::optional<unsigned> compute_instance{};
  Source source = Source::kDriverEvent;
  std::string_view detail{};      // what was measured or reported, for people; may be empty
  std::optional<uint32_t> pid{};  // of the program, from the kernel log
};

}  // namespace kgpu::health
