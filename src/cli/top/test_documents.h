// Answers of an agent for tests.
#pragma once

#include <cstddef>
#include <string>

#include "src/platform/terminal/line.h"

namespace kgpu::top {

inline constexpr terminal::Look kUtf8 = {.is_utf8 = true, .has_color = false};
inline constexpr terminal::Look kAscii = {.is_utf8 = false, .has_color = false};

// Sixteen GPUs: of eight each is split into MIG devices, one is lent, one has a fault, one is
// throttled; 110 pods use them.
std::string BusyNode();

// One GPU about which the driver says nothing but its name.
inline constexpr char kQuietNode[] = R"({
  "node": "n1", "time": "2026-11-29T21:00:00Z", "agent": "0.1.0", "everySeconds": 2,
  "measured": null, "ready": true, "problem": "",
  "driver": {"state": "ready", "version": "570.86.15", "cudaVersion": "12.8", "reason": ""},
  "gpus": [{"index": 0, "uuid": "GPU-0", "model": "T4", "healthy": true, "warnings": [],
            "utilization": {"gpu": null}, "users": [], "processes": [], "mig": []}],
  "pools": []})";

}  // namespace kgpu::top
