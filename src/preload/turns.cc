#include "src/preload/turns.h"

namespace kgpu::preload {
namespace {

constexpr uint64_t kPart = kGatePeriod / kGateParts;  // nanoseconds

uint64_t OpenOf(const GateTurn& turn) {
  return turn.open * kPart;
}

uint64_t BeginOf(const GateTurn& turn, uint64_t window) {
  return window * kGatePeriod + turn.start * kPart;
}

// The first window that ends after `now`.
uint64_t FirstWindow(const GateTurn& turn, uint64_t now) {
  const uint64_t period = now / kGatePeriod;
  const uint64_t latest = period / turn.every * turn.every;
  return latest == period && now < BeginOf(turn, latest) + OpenOf(turn) ? latest
                                                                        : latest + turn.every;
}

// What is left of the debt when `window` begins: each one before it that was not used pays.
uint64_t DebtAt(const Turns& turns, const GateTurn& turn, uint64_t window) {
  if (turns.window == 0 || window < turns.window) {
    return turns.debt;  // has launched nothing, or the clock was set back
  }
  const uint64_t last = turns.window - 1;
  const uint64_t since = window / turn.every - last / turn.every;
  const uint64_t unused = since > 0 ? since - 1 : 0;
  const uint64_t open = OpenOf(turn);
  return unused > turns.debt / open ? 0 : turns.debt - unused * open;
}

}  // namespace

NextLaunch NextTurn(const Turns& turns, const GateTurn& turn, uint64_t now) {
  uint64_t window = FirstWindow(turn, now);
  const uint64_t open = OpenOf(turn);
  const uint64_t debt = DebtAt(turns, turn, window);
  // More would be waited for no longer.
  const uint64_t most = kMaxGateWait / kGatePeriod;
  const uint64_t paying = debt / open < most ? debt / open : most;
  window += paying * turn.every;
  const uint64_t at = BeginOf(turn, window) + debt % open;
  const uint64_t bounded = at > now + kMaxGateWait ? now + kMaxGateWait : at;
  return {.at = bounded > now ? bounded : now, .window = window};
}

void NoteLaunch(Turns* turns, uint64_t window) {
  *turns = {.window = window + 1, .debt = 0, .has_work = true};
}

bool IsOverdue(const Turns& turns, const GateTurn& turn, uint64_t now) {
  return turns.has_work && turns.window > 0 &&
         now >= BeginOf(turn, turns.window - 1) + OpenOf(turn);
}

void NoteEnd(Turns* turns, const GateTurn& turn, uint64_t now) {
  if (IsOverdue(*turns, turn, now)) {
    turns->debt += now - (BeginOf(turn, turns->window - 1) + OpenOf(turn));
    // The clock may have been set forward.
    turns->debt = turns->debt < kMaxGateWait ? turns->debt : kMaxGateWait;
    turns->has_work = false;
  }
}

}  // namespace kgpu::preload
