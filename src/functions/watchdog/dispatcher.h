// Which call runs in which worker process, and when processes start, are replaced and end: a pure
// state machine. Time comes in with every event; what has to be done comes out as effects.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "src/functions/watchdog/call.h"
#include "src/platform/base/clock.h"

namespace kgpu::watchdog {

struct DispatchLimits {
  size_t concurrency = 1;  // calls at a time
  size_t processes = 1;
  size_t queue = 4;                           // calls that wait for a place
  std::chrono::milliseconds timeout{60'000};  // for a call to run
  // For a place: longer than a call that hangs keeps one, so that it costs nobody else.
  std::chrono::milliseconds wait_timeout{120'000};
  std::chrono::milliseconds start_timeout{300'000};  // until a process is ready
  std::chrono::milliseconds late_time{5'000};        // for a call whose caller read too slowly
  std::chrono::milliseconds quit_time{2'000};        // for an idle process to end when asked
};

// The pause before the start that follows the nth failure in a row: 0, 100 ms, 200 ms … 10 s.
std::chrono::nanoseconds RestartDelay(int64_t failures);

class Dispatcher {
 public:
  enum class Do : uint8_t {
    kSpawn,   // start `process`
    kSend,    // give `call` to `process`; it has until `deadline`
    kGiveUp,  // tell `process` that nobody waits for `call`; no answer of it may come through
    kFail,    // tell the caller of `call`: `fault`
    kQuit,    // ask the idle `process` to end
    kKill,    // end `process` with all it has started
  };
  struct Effect {
    Do action = Do::kSpawn;
    size_t process = 0;
    CallId call = 0;
    SteadyTime deadline{};
    Fault fault{};
  };
  // Of a process: waiting (for its start) -> starting -> ready -> retiring -> ending -> waiting or
  // gone. A retiring one gets no calls and is killed when it has none.
  enum class State : uint8_t { kWaiting, kStarting, kReady, kRetiring, kEnding, kGone };

  explicit Dispatcher(const DispatchLimits& limits);

  // The effects of all events since the last call, in order.
  std::vector<Effect> TakeEffects() { return std::exchange(effects_, {}); }
  // When OnTime is due at the latest.
  std::optional<SteadyTime> NextTime() const;
  void OnTime(SteadyTime now);

  // Starts the processes.
  void Start(SteadyTime now);
  // A new call: it is sent, waits or fails. `deadline`: the caller's own, if it has one.
  void Admit(CallId call, std::optional<SteadyTime> deadline, SteadyTime now);
  // The process takes calls, several at a time if it is concurrent.
  void OnReady(size_t process, bool is_concurrent, SteadyTime now);
  // The process is gone, or could not be started; `why` is for people.
  void OnExit(size_t process, std::string_view why, SteadyTime now);
  // The worker has ended the call: answered it or said that the handler failed.
  void OnEnd(CallId call, SteadyTime now);
  // The call's caller went away. The handler may still finish.
  void OnCallerGone(CallId call, SteadyTime now);
  // The call had more output than allowed.
  void OnFlood(CallId call, std::string_view why, SteadyTime now);
  // The process broke the protocol: it is killed, and its calls fail once it is gone.
  void OnNonsense(size_t process, std::string_view why);
  // The caller of a running call is behind: its deadline is no proof against the handler.
  void SetSlow(CallId call, bool is_slow);

  // No new calls; those that are here have until `deadline`. Ends all processes after them.
  void Drain(SteadyTime now, SteadyTime deadline);
  // After Drain: nothing is left.
  bool IsDone() const;

  bool is_draining() const { return drain_deadline_.has_value(); }
  bool is_ready() const { return !is_draining() && ready_processes() > 0; }
  size_t ready_processes() const;
  size_t running() const { return running_; }
  size_t waiting() const { return calls_.size() - running_; }
  uint64_t restarts() const { return restarts_; }
  // Why nothing can run now; empty while there is hope.
  std::string problem() const;
  // Whether the call has the whole attention of its process.
  bool IsAlone(CallId call) const;
  bool IsRunningIn(CallId call, size_t process) const;

 private:
  struct Process {
    State state = State::kWaiting;
    bool is_concurrent = false;
    std::vector<CallId> calls{};
    int64_t failures = 0;       // in a row, since a call succeeded
    size_t start_failures = 0;  // in a row, since it was ready
    bool has_been_started = false;
    bool was_ready = false;           // since its start
    std::optional<SteadyTime> due{};  // to start; to be ready by
    std::string problem{};            // why this start is to end
    std::string last_problem{};       // why the last one ended
  };
  struct Call {
    std::optional<size_t> process{};  // nothing: it waits
    SteadyTime deadline{};
    std::optional<SteadyTime> own_deadline{};
    bool has_caller = true;
    bool is_slow = false;
  };

  // Nothing for a call that waits or is gone.
  std::optional<size_t> ProcessOf(CallId call) const;
  void Spawn(size_t process, SteadyTime now);
  void SendWaiting(SteadyTime now);
  std::optional<size_t> FreeProcess() const;
  size_t PlacesOf(const Process& process) const;
  void SendTo(CallId id, size_t process, SteadyTime now);
  void Fail(CallId id, FaultKind kind, std::string text);
  void SetDeadline(CallId id, SteadyTime deadline);
  void Forget(CallId id);
  void Retire(size_t process, std::string_view why);
  void KillIfIdle(size_t process);
  void Kill(size_t process);
  void OnDeadline(CallId id, SteadyTime now);
  void OnRunningDeadline(CallId id, size_t process, SteadyTime now);
  void OnProcessDue(size_t process, SteadyTime now);
  void FailHopeless();
  void QuitIfIdle(SteadyTime now);
  void EndDrain();

  const DispatchLimits limits_;
  std::vector<Process> processes_;
  std::unordered_map<CallId, Call> calls_;
  std::deque<CallId> queue_;  // may name calls that are gone or run
  std::set<std::pair<SteadyTime, CallId>> deadlines_;
  size_t running_ = 0;
  uint64_t restarts_ = 0;
  std::optional<SteadyTime> drain_deadline_;
  std::optional<SteadyTime> quit_deadline_;
  std::vector<Effect> effects_;
};

}  // namespace kgpu::watchdog
