#include "src/preload/turns.h"

namespace kgpu::preload {
namespace {

constexpr uint64_t kPart = kGatePeriod / kGateParts;  // nanoseconds
constexpr uint64_t kFirstLaunches = 8;                // as long as their cost is unknown

uint64_t OpenOf(const GateTurn& turn) {
  return turn.open * kPart;
}

uint64_t BeginOf(const GateTurn& turn, uint64_t window) {
  return window * kGatePeriod + turn.start * kPart;
}

uint64_t EndOf(const GateTurn& turn, uint64_t window) {
  return BeginOf(turn, window) + OpenOf(turn);
}

// The first window that ends after `now`.
uint64_t FirstWindow(const GateTurn& turn, uint64_t now) {
  const uint64_t period = now / kGatePeriod;
  const uint64_t latest = period / turn.every * turn.every;
  return latest == period && now < EndOf(turn, latest) ? latest : latest + turn.every;
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

void StartAgain(Turns* turns) {
  const uint64_t cost = turns->cost;
  *turns = Turns{};
  turns->cost = cost;
}

void NoteClock(Turns* turns, uint64_t now, uint64_t steady) {
  const uint64_t ahead = now - steady;
  const uint64_t moved = ahead > turns->ahead ? ahead - turns->ahead : turns->ahead - ahead;
  if (turns->ahead != 0 && moved > kGatePeriod) {
    StartAgain(turns);
  }
  turns->ahead = ahead;
}

void NoteLaunch(Turns* turns, const NextLaunch& next) {
  const bool is_first = turns->launched == 0 || turns->window != next.window + 1;
  turns->begun = is_first ? next.at : turns->begun;
  turns->taken = is_first ? 0 : turns->taken;
  turns->launched = is_first ? 1 : turns->launched + 1;
  turns->seen = is_first ? 0 : turns->seen;
  turns->window = next.window + 1;
  turns->debt = 0;
}

bool MustEnd(const Turns& turns, const GateTurn& turn, uint64_t now) {
  if (turns.launched == 0) {
    return false;
  }
  const uint64_t end = EndOf(turn, turns.window - 1);
  const uint64_t left = turns.begun < end ? end - turns.begun : 0;
  const uint64_t fitting = turns.cost == 0 ? kFirstLaunches : left / turns.cost + 1;
  return now >= end || turns.launched >= fitting;
}

void NoteTaken(Turns* turns, uint64_t now) {
  turns->taken = turns->taken == 0 && turns->launched != 0 ? now : turns->taken;
}

void NoteRunning(Turns* turns, uint64_t now) {
  turns->seen = turns->launched == 0 ? 0 : now;
}

void NoteEnd(Turns* turns, const GateTurn& turn, uint64_t now) {
  if (turns->launched == 0) {
    return;
  }
  const uint64_t end = EndOf(turn, turns->window - 1);
  const uint64_t begun = turns->taken > turns->begun ? turns->taken : turns->begun;
  const uint64_t owing = begun > end ? begun : end;  // what runs from then on
  const bool is_seen = turns->seen != 0;
  const bool is_just_seen = is_seen && now >= turns->seen && now - turns->seen <= kMaxGap;
  if (is_just_seen) {
    // At most this much; less if the device had been waiting for us.
    turns->cost = now > begun ? (now - begun) / turns->launched : 0;
  } else if (!is_seen && now < end && MustEnd(*turns, turn, now)) {
    turns->cost /= 2;  // they were to fill the window
  }
  const uint64_t until = is_just_seen ? now : turns->seen;
  if (until > owing) {
    turns->debt += until - owing;
    turns->debt = turns->debt < kMaxGateWait ? turns->debt : kMaxGateWait;
  }
  turns->launched = 0;
  turns->taken = 0;
  turns->seen = 0;
}

}  // namespace kgpu::preload
