// When a process may launch kernels while its container's gate is not fully open: pure functions of
// the gate's turn and of the clock of the day.
//
// A process launches in the windows of its container. What it has launched may run beyond the end
// of a window; that time is a debt, which later windows pay before anything is launched again. So
// long kernels and full queues use no more of the device than short ones do.
#pragma once

#include <cstdint>

#include "src/preload/gate.h"

namespace kgpu::preload {

// Longest time that a launch waits, whatever the gate says. Nanoseconds.
inline constexpr uint64_t kMaxGateWait = 5'000'000'000;

// What a process has done on a device. All zero: nothing.
struct Turns {
  uint64_t window;  // number of the last one in which it launched, plus 1
  uint64_t debt;    // nanoseconds
  bool has_work;    // it has launched since it was last seen idle
};

struct NextLaunch {
  uint64_t at = 0;      // the moment
  uint64_t window = 0;  // its number
};

// When a launch may go that is called at `now`: then, or later, but at most kMaxGateWait later.
NextLaunch NextTurn(const Turns& turns, const GateTurn& turn, uint64_t now);
// It goes: the debt is paid.
void NoteLaunch(Turns* turns, uint64_t window);
// Whether the process has launched in a window that is over, so that its work may run on.
bool IsOverdue(const Turns& turns, const GateTurn& turn, uint64_t now);
// The process's work ends at `now`: what lies beyond its window is owed.
void NoteEnd(Turns* turns, const GateTurn& turn, uint64_t now);

}  // namespace kgpu::preload
