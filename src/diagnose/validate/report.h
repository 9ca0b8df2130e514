// The result of a GPU's compute test.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace kgpu::validate {

struct Phase {
  std::string name;  // "load", "init", "context", "compile", "copy-in", "kernel", …
  std::chrono::nanoseconds took{0};
};

enum class Outcome : uint8_t {
  kPassed,
  kFailed,   // a wrong result, or an error of the driver
  kHung,     // a call exceeded its deadline
  kAbsent,   // the host has the GPU, but the driver does not show it: nothing was run
  kCrashed,  // the helper ended without a final line
};

// "passed", "failed", "hung", "absent", "crashed".
std::string_view ToString(Outcome outcome);

struct Report {
  Outcome outcome = Outcome::kCrashed;
  std::string reason;  // for people; empty if passed
  int error = 0;       // CUDA's number; 0: a wrong result, or none; else see protocol.h
  std::string name;    // from CUDA, or the address of an absent GPU; may be empty
  std::string uuid;    // "GPU-…" or "MIG-…"
  std::string compute_capability;
  std::string cuda;  // the highest version of the driver
  std::vector<Phase> phases;
  // Bytes per second; nothing if not measured.
  std::optional<double> host_to_device;
  std::optional<double> device_to_host;
  std::optional<double> within_device;
  std::string host_memory;           // "pinned" or "pageable"
  std::optional<double> burn_flops;  // single precision, per second
  bool is_vector_sum_right = false;
};

}  // namespace kgpu::validate
