// When a process may launch kernels while its container's gate is not fully open: pure functions of
// the gate's turn and of the clock of the day.
//
// A process launches in the windows of its container, and no more than it can use up there: it
// learns what a launch costs by waiting for the end of some. What is seen to run beyond the end of
// a window all the same is a debt, which later windows pay before anything is launched again. So
// long kernels and full queues use no more of the device than short ones do.
#pragma once

#include <cstdint>

#include "src/preload/gate.h"

namespace kgpu::preload {

// Longest time that a launch waits, whatever the gate says. Nanoseconds.
inline constexpr uint64_t kMaxGateWait = 5'000'000'000;
// Work that was seen to run so long ago, and is done now, has run until now. Nanoseconds.
inline constexpr uint64_t kMaxGap = 10'000'000;

// What a process has done on a device. All zero: nothing.
struct Turns {
  uint64_t window;    // number of the last one in which it launched, plus 1
  uint64_t debt;      // nanoseconds
  uint64_t begun;     // of the launches whose end is not known: when the first one was to go
  uint64_t taken;     // when the driver had taken one of them; 0: not yet
  uint64_t launched;  // how many those are
  uint64_t seen;      // when one of them was last seen to run; 0: never
  uint64_t cost;      // nanoseconds that a launch takes of the device; 0: unknown
  uint64_t ahead;     // of the clock of the day before one that is never set; 0: unknown
};

struct NextLaunch {
  uint64_t at = 0;      // the moment
  uint64_t window = 0;  // its number
};

// As at first, but for the cost.
void StartAgain(Turns* turns);
// Does so when the clock of the day has been set since the last call.
// `steady` is the same moment by a clock that only goes forward.
void NoteClock(Turns* turns, uint64_t now, uint64_t steady);
// Whether the process must know that its launches have ended before it goes on: their window is
// over, or they will fill it.
bool MustEnd(const Turns& turns, const GateTurn& turn, uint64_t now);
// The driver has taken a launch: before, none has run for long. One may have been woken up late for
// its window, or have waited for the driver to load a module.
void NoteTaken(Turns* turns, uint64_t now);
// Its launches have not ended.
void NoteRunning(Turns* turns, uint64_t now);
// Its launches have ended. Only what was seen to run is a debt, from when the driver had taken it:
// until now if it was just seen, else until it was last seen.
void NoteEnd(Turns* turns, const GateTurn& turn, uint64_t now);
// When a launch may go that is called at `now`: then, or later, but at most kMaxGateWait later.
NextLaunch NextTurn(const Turns& turns, const GateTurn& turn, uint64_t now);
// It goes: the debt is paid.
void NoteLaunch(Turns* turns, const NextLaunch& next);

}  // namespace kgpu::preload
