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
constexpr uint64_t kPoll = 100'000;     // between two looks at a stream

using ExchangeCaptureModeFn = Result(cu::CaptureMode* mode);

// What we ask the driver must not end another stream's capture.
class RelaxedCapture {
 public:
  RelaxedCapture() : exchange_(Helper<ExchangeCaptureModeFn>(kThreadExchangeStreamCaptureMode)) {
    Exchange();
  }
  ~RelaxedCapture() { Exchange(); }
  RelaxedCapture(const RelaxedCapture&) = delete;
  RelaxedCapture& operator=(const RelaxedCapture&) = delete;

 private:
  void Exchange() {
    if (exchange_ != nullptr) {
      (void)exchange_(&mode_);
    }
  }
  ExchangeCaptureModeFn* exchange_;
  cu::CaptureMode mode_ = cu::kCaptureRelaxed;
};

cu::Stream StreamOf(const LaunchStream& launch) {
  const bool is_own = launch.stream == nullptr && launch.is_per_thread;
  // NOLINTNEXTLINE(performance-no-int-to-ptr): CU_STREAM_PER_THREAD
  return is_own ? reinterpret_cast<cu::Stream>(cu::kStreamPerThread) : launch.stream;
}

// A launch that is captured does not run; neither does one that the driver will refuse.
bool IsCaptured(cu::Stream stream) {
  auto* ask = Helper<cu::StreamIsCapturingFn>(kStreamIsCapturing);
  cu::CaptureStatus status = cu::kCaptureNone;
  return ask != nullptr && (ask(stream, &status) != cu::kSuccess || status != cu::kCaptureNone);
}

// Waits until the stream has nothing more to do. Returns whether it had.
bool WaitUntilIdle(cu::Stream stream) {
  auto* ask = Helper<cu::StreamSynchronizeFn>(kStreamQuery);
  const RelaxedCapture relaxed;
  const uint64_t begun = Nanoseconds();
  bool was_busy = false;
  while (ask != nullptr && Nanoseconds() - begun < kMaxGateWait && ask(stream) == cu::kNotReady) {
    was_busy = true;
    SleepNanoseconds(kPoll);
  }
  return was_busy;
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

// What holds now: the gate's turn, or the fixed one when nobody has written it for too long. With
// the state's lock held.
GateTurn TurnNow(const Gate& gate, GateState* state) {
  GateTurn turn = UnpackTurn(__atomic_load_n(&gate.word, __ATOMIC_RELAXED));
  const uint64_t now = Milliseconds();
  if (state->since == 0 || turn.beat != state->beat) {
    state->beat = turn.beat;
    state->since = now;
  }
  constexpr uint64_t kNanoseconds = 1'000'000;
  const bool is_stale = turn.open < kGateParts && now - state->since > kGateStale / kNanoseconds;
  turn = is_stale ? UnpackTurn(__atomic_load_n(&gate.fixed, __ATOMIC_RELAXED)) : turn;
  if (turn.epoch != state->epoch) {
    // Nobody owes what it has launched while it was free to.
    state->must_settle = true;
    state->epoch = turn.epoch;
    state->turns = {.window = 0, .debt = 0, .begun = 0, .launched = 0, .cost = state->turns.cost};
  }
  return turn;
}

enum class Act : uint8_t { kGo, kEnd, kSleep };
struct Decision {
  Act act;
  uint64_t nanoseconds;  // to sleep
  NextLaunch next;
};

Decision Decide(const Gate& gate, GateState* state, uint64_t now) {
  const Guard guard(state->lock);
  const GateTurn turn = TurnNow(gate, state);
  if (turn.open >= kGateParts) {
    return {Act::kGo, 0, {}};
  }
  if (state->must_settle || MustEnd(state->turns, turn, now)) {
    return {Act::kEnd, 0, {}};
  }
  const NextLaunch next = NextTurn(state->turns, turn, now);
  if (next.at <= now) {
    NoteLaunch(&state->turns, next);
    return {Act::kGo, 0, next};
  }
  return {Act::kSleep, next.at - now < kStep ? next.at - now : kStep, next};
}

void EndWork(const Gate& gate, GateState* state, cu::Stream stream) {
  const bool was_busy = WaitUntilIdle(stream);
  const Guard guard(state->lock);
  NoteEnd(&state->turns, TurnNow(gate, state), DayNanoseconds(), was_busy);
  state->must_settle = false;
}

// Returns the nanoseconds that it took.
uint64_t WaitAt(const Gate& gate, GateState* state, cu::Stream stream) {
  const uint64_t begun = Nanoseconds();
  uint64_t waited = 0;
  while (waited < kMaxGateWait) {
    const Decision decision = Decide(gate, state, DayNanoseconds());
    if (decision.act == Act::kGo) {
      return waited;
    }
    if (decision.act == Act::kEnd) {
      EndWork(gate, state, stream);
    } else {
      SleepNanoseconds(decision.nanoseconds);
    }
    waited = Nanoseconds() - begun;
    // Whoever wakes up late has had no less of a turn.
    if (decision.act == Act::kSleep && decision.nanoseconds < kStep) {
      const Guard guard(state->lock);
      NoteLaunch(&state->turns, decision.next);
      return waited;
    }
  }
  return waited;
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

void WaitForTurn(const LaunchStream& launch) {
  const KeepErrno keep;
  const int account = CurrentAccount();
  const Gate* gate = GateOf(account);
  Process* process = CurrentProcess();
  if (gate == nullptr || process == nullptr ||
      IsFullyOpen(__atomic_load_n(&gate->word, __ATOMIC_RELAXED)) || IsCaptured(StreamOf(launch))) {
    return;
  }
  const uint64_t waited = WaitAt(*gate, &process->gates[account], StreamOf(launch));
  Account* ledger = waited > 0 ? LedgerOf(account) : nullptr;
  if (ledger != nullptr) {
    ledger->NoteWait(waited);
  }
}

bool IsBusyBehindGate(const LaunchStream& stream) {
  if (!IsAnyGateClosed()) {
    return false;
  }
  const KeepErrno keep;
  const RelaxedCapture relaxed;
  auto* ask = Helper<cu::StreamSynchronizeFn>(kStreamQuery);
  return ask != nullptr && ask(StreamOf(stream)) == cu::kNotReady;
}

void NoteSynchronized() {
  const KeepErrno keep;
  const int account = CurrentAccount();
  const Gate* gate = GateOf(account);
  Process* process = CurrentProcess();
  if (gate != nullptr && process != nullptr) {
    GateState& state = process->gates[account];
    const Guard guard(state.lock);
    NoteEnd(&state.turns, TurnNow(*gate, &state), DayNanoseconds(), true);
  }
}

}  // namespace kgpu::preload
