#include "src/preload/gates.h"

#include <fcntl.h>

#include "src/gpu/cuda_abi/functions.h"
#include "src/preload/driver.h"
#include "src/preload/share.h"
#include "src/preload/system.h"
#include "src/preload/text.h"

namespace kgpu::preload {
namespace {

namespace cu = cuda_api;

constexpr uint64_t kStep = 10'000'000;  // nanoseconds between two looks at the gate
constexpr uint64_t kPoll = 100'000;     // between two looks at what runs
constexpr uint64_t kRest = 1'000'000;   // while another thread does

// One of the container's, and what this process has done behind it.
struct GateAt {
  const Gate* gate;
  GateState* state;  // null: nothing waits
  int account;
};

cu::Stream StreamOf(const LaunchStream& launch) {
  const bool is_own = launch.stream == nullptr && launch.is_per_thread;
  // NOLINTNEXTLINE(performance-no-int-to-ptr): CU_STREAM_PER_THREAD
  return is_own ? reinterpret_cast<cu::Stream>(cu::kStreamPerThread) : launch.stream;
}

// As a launch into it finds it.
StreamKey KeyOf(const LaunchStream& launch) {
  const cu::Stream stream = StreamOf(launch);
  const bool is_of_thread = reinterpret_cast<uintptr_t>(stream) == cu::kStreamPerThread;
  // NOLINTNEXTLINE(performance-no-int-to-ptr): a handle
  return {.context = reinterpret_cast<cu::Context>(CurrentContext()),
          .stream = stream,
          .thread = is_of_thread ? ThreadNumber() : 0};
}

const Gate* GateOf(int account) {
  const Gates& all = TheGates();
  for (uint32_t at = 0; at < all.count; ++at) {
    if (all.accounts[at] == account) {
      return all.gates[at];
    }
  }
  return nullptr;
}

// Of a gate that nobody has written for too long: the share of all slots, where it is larger than
// that of the gate's own.
GateTurn FixedTurn(const Gate& gate, int account) {
  GateTurn turn = UnpackTurn(__atomic_load_n(&gate.fixed, __ATOMIC_RELAXED));
  const Gates& all = TheGates();
  for (uint32_t at = 0; at < all.count; ++at) {
    const GateTurn share = UnpackTurn(all.fixed[at].word);
    turn.open = all.accounts[at] == account && share.open > turn.open ? share.open : turn.open;
  }
  return UnpackTurn(PackTurn(turn));
}

// What holds now: the gate's turn, or the fixed one. With the state's lock held.
GateTurn TurnNow(const GateAt& of, uint64_t day) {
  GateState* state = of.state;
  GateTurn turn = UnpackTurn(__atomic_load_n(&of.gate->word, __ATOMIC_RELAXED));
  const uint64_t now = Nanoseconds();
  if (state->since == 0 || turn.beat != state->beat) {
    state->beat = turn.beat;
    state->since = now;
  }
  const bool is_stale = turn.open < kGateParts && now - state->since > kGateStale;
  turn = is_stale ? FixedTurn(*of.gate, of.account) : turn;
  if (turn.epoch != state->epoch) {
    // Nobody owes what it has launched while it was free to.
    state->epoch = turn.epoch;
    StartAgain(&state->turns);
    state->looked = 0;
    ForgetLaunched(&state->work);
  }
  NoteClock(&state->turns, day, now);
  return turn;
}

// Whether something runs, or may soon; otherwise all has ended. With the lock held.
bool LookAtWork(const GateAt& of, const GateTurn& turn, uint64_t day) {
  GateState* state = of.state;
  if (state->turns.launched != 0 && IsRunning(&state->work)) {
    NoteRunning(&state->turns, day);
    return true;
  }
  // The driver has not returned: it loads a module, say. That takes nothing of the device.
  if (state->turns.launched != 0 && state->work.launching > 0) {
    return true;
  }
  NoteEnd(&state->turns, turn, day);
  return false;
}

enum class Act : uint8_t { kGo, kGoUncounted, kWaitForEnd, kWaitForTurn };
struct Decision {
  Act act;
  uint64_t nanoseconds;  // to sleep
  NextLaunch next;
};

Decision WaitForEnd(const GateAt& of, const GateTurn& turn, uint64_t day) {
  GateState* state = of.state;
  const uint64_t now = Nanoseconds();
  if (state->looked != 0 && now - state->looked < kPoll) {
    return {Act::kWaitForEnd, kRest, {}};  // another thread looks
  }
  state->looked = LookAtWork(of, turn, day) ? now : 0;
  return {Act::kWaitForEnd, state->looked != 0 ? kPoll : 0, {}};
}

// For a launch that has slept until `as_of` if that is not 0: who wakes up late has had no less of
// a turn.
Decision Decide(const GateAt& of, uint64_t as_of) {
  GateState* state = of.state;
  const Guard guard(state->lock);
  const uint64_t day = DayNanoseconds();
  const GateTurn turn = TurnNow(of, day);
  if (turn.open >= kGateParts) {
    return {Act::kGoUncounted, 0, {}};
  }
  const uint64_t now = as_of != 0 && as_of < day ? as_of : day;
  if (MustEnd(state->turns, turn, now)) {
    const Decision decision = WaitForEnd(of, turn, day);
    if (decision.nanoseconds != 0) {
      return decision;
    }
  }
  const NextLaunch next = NextTurn(state->turns, turn, now);
  if (state->turns.window > next.window + 1) {
    return {Act::kWaitForTurn, kPoll, {}};  // others have launched in a later one
  }
  if (next.at <= now) {
    NoteLaunch(&state->turns, next);
    ++state->work.launching;
    return {Act::kGo, 0, next};
  }
  const uint64_t left = next.at > day ? next.at - day : kPoll;
  return {Act::kWaitForTurn, left < kStep ? left : kStep, next};
}

// What was queued while the gate was open ends first, in each stream; it is nobody's debt.
void SettleStream(const GateAt& of, const StreamKey& key, uint64_t until) {
  GateState* state = of.state;
  cu::Event event = nullptr;
  {
    const Guard guard(state->lock);
    (void)TurnNow(of, DayNanoseconds());
    StreamWork* stream = FindStream(&state->work, key);
    if (stream == nullptr || stream->is_settled) {
      return;
    }
    event = MakeEvent(stream) ? stream->event : nullptr;
  }
  const bool is_recorded = event != nullptr && RecordEvent(event, key.stream);
  while (is_recorded && IsUnfinished(event) && Nanoseconds() < until &&
         !IsFullyOpen(__atomic_load_n(&of.gate->word, __ATOMIC_RELAXED))) {
    SleepNanoseconds(kPoll);
  }
  const Guard guard(state->lock);
  StreamWork* stream = FindStream(&state->work, key);
  if (stream != nullptr) {
    stream->is_settled = true;
    stream->is_ignored = Nanoseconds() >= until;
  }
}

// The limit is reached: the launch goes, and counts.
void GoAnyway(GateState* state, bool has_no_end) {
  const Guard guard(state->lock);
  if (has_no_end) {
    // It may wait for what the caller does next.
    IgnoreRunning(&state->work);
    state->turns.launched = 0;
    state->looked = 0;
  }
  const uint64_t day = DayNanoseconds();
  NoteLaunch(&state->turns, {.at = day, .window = day / kGatePeriod});
  ++state->work.launching;
}

// Returns whether the launch counts. Adds the nanoseconds for which it has waited for its window.
bool WaitAt(const GateAt& of, uint64_t until, uint64_t* waited) {
  uint64_t as_of = 0;
  uint64_t ending = 0;
  for (uint64_t now = Nanoseconds(); now < until;) {
    const Decision decision = Decide(of, as_of);
    if (decision.act == Act::kGo || decision.act == Act::kGoUncounted) {
      return decision.act == Act::kGo;
    }
    const uint64_t left = until - now;
    SleepNanoseconds(decision.nanoseconds < left ? decision.nanoseconds : left);
    const uint64_t after = Nanoseconds();
    (decision.act == Act::kWaitForTurn ? *waited : ending) += after - now;
    as_of = decision.next.at;  // in the future if it has not slept for so long
    now = after;
  }
  GoAnyway(of.state, ending > kMaxGateWait / 2);
  return true;
}

// The gate of the current context's device, unless it is open.
GateAt CurrentGate() {
  const int account = CurrentAccount();
  const Gate* gate = GateOf(account);
  Process* process = CurrentProcess();
  const bool is_closed = gate != nullptr && process != nullptr &&
                         !IsFullyOpen(__atomic_load_n(&gate->word, __ATOMIC_RELAXED));
  return {
      .gate = gate, .state = is_closed ? &process->gates[account] : nullptr, .account = account};
}

// Waits for the ends of what was launched into a stream of the context, or into all of them.
void WatchLaunches(cu::Context context, const StreamKey* key) {
  const GateAt of = CurrentGate();
  if (of.state == nullptr) {
    return;
  }
  cu::Event events[kMaxStreams];
  uint32_t count = 0;
  {
    const Guard guard(of.state->lock);
    const OwnWork& work = of.state->work;
    for (uint32_t at = 0; at < work.count; ++at) {
      const StreamWork& stream = work.streams[at];
      if (stream.is_pending && stream.key.context == context &&
          (key == nullptr || stream.key == *key)) {
        events[count++] = stream.event;
      }
    }
  }
  if (count == 0) {
    return;
  }
  bool has_run = false;
  for (uint32_t at = 0; at < count; ++at) {
    if (IsUnfinished(events[at])) {
      has_run = true;
      WaitForEvent(events[at]);
    }
  }
  const Guard guard(of.state->lock);
  const uint64_t day = DayNanoseconds();
  const GateTurn turn = TurnNow(of, day);
  if (has_run) {
    NoteRunning(&of.state->turns, day);
  }
  (void)LookAtWork(of, turn, day);
}

}  // namespace

Gates& TheGates() {
  static constinit Gates gates{};
  return gates;
}

void AddGate(int account, uint32_t percent, const char* path) {
  Gates& all = TheGates();
  Gate& own = all.fixed[all.count];
  own.word = PackTurn({.open = percent * (kGateParts / 100)});
  own.fixed = own.word;
  const auto* gate = static_cast<const Gate*>(MapFile(path, sizeof(Gate)));
  const bool is_gate =
      gate != nullptr && gate->magic == kGateMagic && gate->version == kGateVersion;
  if (!is_gate) {
    Line().Add(path).Add(": is no gate: the GPU's time is shared by fixed parts").Say();
  }
  all.gates[all.count] = is_gate ? gate : &own;
  all.accounts[all.count] = account;
  __atomic_store_n(&all.count, all.count + 1, __ATOMIC_RELEASE);
}

bool HasGates() {
  return LimitCount() > 0 && TheGates().count > 0;
}

GateState* WaitForTurn(const LaunchStream& launch) {
  const KeepErrno keep;
  const GateAt of = CurrentGate();
  if (of.state == nullptr || IsCaptured(StreamOf(launch))) {
    return nullptr;
  }
  const uint64_t until = Nanoseconds() + kMaxGateWait;
  SettleStream(of, KeyOf(launch), until);
  uint64_t waited = 0;
  const bool is_counted = WaitAt(of, until, &waited);
  Account* ledger = waited > 0 ? LedgerOf(of.account) : nullptr;
  if (ledger != nullptr) {
    ledger->NoteWait(waited);
  }
  return is_counted ? of.state : nullptr;
}

void NoteLaunched(GateState* state, const LaunchStream& launch, bool is_taken) {
  const KeepErrno keep;
  const StreamKey key = KeyOf(launch);
  cu::Event event = nullptr;
  if (is_taken) {
    const Guard guard(state->lock);
    StreamWork* stream = FindStream(&state->work, key);
    if (stream != nullptr && !stream->is_ignored && MakeEvent(stream)) {
      event = stream->event;
    }
  }
  const bool is_recorded = event != nullptr && RecordEvent(event, key.stream);
  const Guard guard(state->lock);
  state->work.launching -= state->work.launching > 0 ? 1 : 0;
  StreamWork* stream = event == nullptr ? nullptr : FindStream(&state->work, key);
  if (is_recorded) {
    NoteTaken(&state->turns, DayNanoseconds());
  }
  if (stream != nullptr && stream->event == event) {
    stream->is_pending = is_recorded;
    stream->is_ignored = !is_recorded;  // of another context
  }
}

void WatchStream(const LaunchStream& stream) {
  if (IsAnyGateClosed()) {
    const KeepErrno keep;
    const StreamKey key = KeyOf(stream);
    WatchLaunches(key.context, &key);
  }
}

void WatchContext(cu::Context context) {
  if (IsAnyGateClosed()) {
    const KeepErrno keep;
    // NOLINTNEXTLINE(performance-no-int-to-ptr): a handle
    auto* current = reinterpret_cast<cu::Context>(CurrentContext());
    WatchLaunches(context == nullptr ? current : context, nullptr);
  }
}

// Until nothing of ours runs, or the event has happened.
void WatchEvent(cu::Event event) {
  if (!IsAnyGateClosed()) {
    return;
  }
  const KeepErrno keep;
  const GateAt of = CurrentGate();
  for (bool is_running = of.state != nullptr; is_running;) {
    {
      const Guard guard(of.state->lock);
      const uint64_t day = DayNanoseconds();
      is_running = LookAtWork(of, TurnNow(of, day), day);
    }
    is_running = is_running && IsUnfinished(event);
    if (is_running) {
      SleepNanoseconds(kPoll);
    }
  }
}

void ForgetLaunches(cu::Context context) {
  const Gates& all = TheGates();
  const uint32_t count = __atomic_load_n(&all.count, __ATOMIC_ACQUIRE);
  Process* process = count == 0 ? nullptr : CurrentProcess();
  for (uint32_t at = 0; process != nullptr && at < count; ++at) {
    GateState& state = process->gates[all.accounts[at]];
    const Guard guard(state.lock);
    ForgetStreams(&state.work, context);
  }
}

}  // namespace kgpu::preload
