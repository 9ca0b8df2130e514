// When a process may launch kernels while its container's gate is not fully open: pure functions of
// the gate's turn and of the clock of the day.
//
// A process launches in the windows of its container, and no more than it can use up there: it
// learns what a launch costs by waiting for the end of some. What runs beyond the end of a window
// all the same is a debt, which later windows pay before anything is launched again. So long
// kernels and full queues use no more of the device than short ones do.
#pragma once

#include <cstdint>

#include "src/preload/gate.h"

namespace kgpu::preload {

// Longest time that a launch waits, whatever the gate says. Nanoseconds.
inline constexpr uint64_t kMaxGateWait = 5'000'000'000;

// What a process has done on a device. All zero: nothing.
struct Turns {
  uint64_t window;    // number of the last one in which it launched, plus 1
  uint64_t debt;      // nanoseconds
  uint64_t begun;     // of the launches whose end has not been seen: when the first one went
  uint64_t launched;  // how many those are
  uint64_t cost;      // nanoseconds that a launch takes of the device; 0: unknown
};

struct NextLaunch {
  uint64_t at = 0;      // the moment
  uint64_t window = 0;  // its number
};

// Whether the process must see its launches end before it goes on: their window is over, or they
// will fill it.
bool MustEnd(const Turns& turns, const GateTurn& turn, uint64_t now);
// Its launches have ended. `was_busy`: the device had not done with them when it was looked at;
// they end at `now`.
void NoteEnd(Turns* turns, const GateTurn& turn, uint64_t now, bool was_busy);
// When a launch may go that is called at `now`: then, or later, but at most kMaxGateWait later.
NextLaunch NextTurn(const Turns& turns, const GateTurn& turn, uint64_t now);
// It goes: the debt is paid.
void NoteLaunch(Turns* turns, const NextLaunch& next);

}  // namespace kgpu::preload
