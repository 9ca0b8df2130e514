// What can be wrong with a GPU, and what to do about it: the words that rules, verdicts, the
// configuration and people share.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "src/gpu/device/ids.h"

namespace kgpu::health {

// What fixes it, mildest first.
enum class Action : uint8_t {
  kIgnore,      // nothing is wrong with the GPU
  kRestartApp,  // the program that ran on it failed: look at that
  kDrain,       // no new work; what runs may end, then reset
  kResetGpu,
  kReboot,
  kInspect,  // the hardware: seat, power, cooling, cable; replace it if it recurs
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

// Who reported it.
enum class Source : uint8_t { kDriverEvent, kKernelLog, kSample, kCall };
// "driver", "kernel-log", "sample", "call".
std::string_view ToString(Source source);
std::optional<Source> ParseSource(std::string_view word);

// What a fault is about.
struct Scope {
  device::GpuUuid gpu{};
  std::optional<unsigned> gpu_instance{};      // nullopt: the whole GPU, with all its MIG devices
  std::optional<unsigned> compute_instance{};  // nullopt: every MIG device of the GPU instance
  auto operator<=>(const Scope&) const = default;
};

// Something that was seen once, before any rule is asked. The texts live as long as the call that
// takes the sign: a storm of signs costs no memory.
struct Sign {
  std::string_view rule{};                 // "RowRemapPending"; empty for an XID
  std::optional<uint64_t> xid{};           // its rule is "Xid<xid>"
  std::optional<device::GpuUuid> gpu{};    // nullopt: it is not known which; all are meant
  std::optional<unsigned> gpu_instance{};  // nullopt: the whole GPU
  std::optional<unsigned> compute_instance{};
  Source source = Source::kDriverEvent;
  std::string_view detail{};      // what was measured or said, for people; may be empty
  std::optional<uint32_t> pid{};  // of the program, as the kernel log names it
};

}  // namespace kgpu::health
