#include "src/functions/watchdog/dispatcher.h"

#include <algorithm>

#include "src/platform/base/backoff.h"
#include "src/platform/base/duration.h"
#include "src/platform/base/status.h"

namespace kgpu::watchdog {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kFirstDelay{100};
constexpr milliseconds kLastDelay{10'000};
// So many starts in a row that failed are no accident: callers need not wait for the next one.
constexpr size_t kHopelessStarts = 3;

}  // namespace

std::chrono::nanoseconds RestartDelay(int64_t failures) {
  return DoublingPause(failures - 1, kFirstDelay, kLastDelay);
}

Dispatcher::Dispatcher(const DispatchLimits& limits)
    : limits_(limits), processes_(std::max<size_t>(limits.processes, 1)) {
}

std::optional<SteadyTime> Dispatcher::NextTime() const {
  std::optional<SteadyTime> next;
  const auto consider = [&](std::optional<SteadyTime> time) {
    if (time && (!next || *time < *next)) {
      next = time;
    }
  };
  if (!deadlines_.empty()) {
    consider(deadlines_.begin()->first);
  }
  for (const Process& process : processes_) {
    consider(process.due);
  }
  consider(calls_.empty() ? std::nullopt : drain_deadline_);
  consider(quit_deadline_);
  return next;
}

void Dispatcher::OnTime(SteadyTime now) {
  while (!deadlines_.empty() && deadlines_.begin()->first <= now) {
    OnDeadline(deadlines_.begin()->second, now);
  }
  for (size_t i = 0; i < processes_.size(); ++i) {
    if (processes_[i].due.value_or(SteadyTime::max()) <= now) {
      OnProcessDue(i, now);
    }
  }
  if (drain_deadline_ && *drain_deadline_ <= now && !calls_.empty()) {
    EndDrain();
  }
  if (quit_deadline_ && *quit_deadline_ <= now) {
    quit_deadline_.reset();
    for (size_t i = 0; i < processes_.size(); ++i) {
      Kill(i);
    }
  }
  SendWaiting(now);
  QuitIfIdle(now);
}

void Dispatcher::OnProcessDue(size_t process, SteadyTime now) {
  if (processes_[process].state == State::kWaiting) {
    return Spawn(process, now);
  }
  processes_[process].problem =
      fmt::format("it was not ready after {}", FormatDuration(limits_.start_timeout));
  Kill(process);
}

void Dispatcher::Start(SteadyTime now) {
  for (size_t i = 0; i < processes_.size(); ++i) {
    Spawn(i, now);
  }
}

void Dispatcher::Spawn(size_t process, SteadyTime now) {
  Process& spawned = processes_[process];
  spawned.state = State::kStarting;
  spawned.due = now + limits_.start_timeout;
  spawned.was_ready = false;
  spawned.problem.clear();
  restarts_ += std::exchange(spawned.has_been_started, true) ? 1 : 0;
  effects_.push_back({.action = Do::kSpawn, .process = process});
}

void Dispatcher::Admit(CallId call, std::optional<SteadyTime> deadline, SteadyTime now) {
  calls_[call] = {.process = std::nullopt, .deadline = {}, .own_deadline = deadline};
  if (is_draining()) {
    return Fail(call, FaultKind::kStopping, "the function is being stopped");
  }
  if (const std::string why = problem(); !why.empty()) {
    return Fail(call, FaultKind::kStarting, why);
  }
  // The oldest goes first: with others waiting there is no place either.
  if (waiting() == 1) {
    if (const std::optional<size_t> process = FreeProcess()) {
      return SendTo(call, *process, now);
    }
  }
  if (waiting() > limits_.queue) {
    return ready_processes() > 0
               ? Fail(call, FaultKind::kOverload,
                      fmt::format("{} calls run and {} wait already", running_, limits_.queue))
               : Fail(call, FaultKind::kStarting, "no process is ready yet, and the queue is full");
  }
  queue_.push_back(call);
  SetDeadline(call, std::min(now + limits_.wait_timeout, deadline.value_or(SteadyTime::max())));
}

std::optional<size_t> Dispatcher::FreeProcess() const {
  if (running_ >= limits_.concurrency) {
    return std::nullopt;
  }
  std::optional<size_t> best;
  for (size_t i = 0; i < processes_.size(); ++i) {
    const Process& process = processes_[i];
    if (process.state == State::kReady && process.calls.size() < PlacesOf(process) &&
        (!best || process.calls.size() < processes_[*best].calls.size())) {
      best = i;
    }
  }
  return best;
}

size_t Dispatcher::PlacesOf(const Process& process) const {
  return process.is_concurrent ? (limits_.concurrency + processes_.size() - 1) / processes_.size()
                               : 1;
}

void Dispatcher::SendWaiting(SteadyTime now) {
  while (!queue_.empty()) {
    const auto call = calls_.find(queue_.front());
    if (call == calls_.end() || call->second.process) {
      queue_.pop_front();  // it failed meanwhile
      continue;
    }
    const std::optional<size_t> process = FreeProcess();
    if (!process) {
      return;
    }
    const CallId id = queue_.front();
    queue_.pop_front();
    SendTo(id, *process, now);
  }
}

void Dispatcher::SendTo(CallId id, size_t process, SteadyTime now) {
  Call& call = calls_.at(id);
  const SteadyTime deadline =
      std::min(now + limits_.timeout, call.own_deadline.value_or(SteadyTime::max()));
  SetDeadline(id, deadline);
  call.process = process;
  processes_[process].calls.push_back(id);
  ++running_;
  effects_.push_back({.action = Do::kSend, .process = process, .call = id, .deadline = deadline});
}

void Dispatcher::SetDeadline(CallId id, SteadyTime deadline) {
  Call& call = calls_.at(id);
  deadlines_.erase({call.deadline, id});
  call.deadline = deadline;
  deadlines_.emplace(deadline, id);
}

void Dispatcher::Fail(CallId id, FaultKind kind, std::string text) {
  if (calls_.at(id).has_caller) {
    effects_.push_back(
        {.action = Do::kFail, .call = id, .fault = {.kind = kind, .text = std::move(text)}});
  }
  Forget(id);
}

void Dispatcher::Forget(CallId id) {
  const auto found = calls_.find(id);
  const Call& call = found->second;
  deadlines_.erase({call.deadline, id});
  if (call.process) {
    std::erase(processes_[*call.process].calls, id);
    --running_;
  }
  calls_.erase(found);
}

void Dispatcher::OnReady(size_t process, bool is_concurrent, SteadyTime now) {
  Process& ready = processes_[process];
  if (ready.state != State::kStarting) {
    return;
  }
  ready.state = State::kReady;
  ready.is_concurrent = is_concurrent;
  ready.was_ready = true;
  ready.start_failures = 0;
  ready.due.reset();
  SendWaiting(now);
  QuitIfIdle(now);
}

void Dispatcher::OnExit(size_t process, std::string_view why, SteadyTime now) {
  Process& gone = processes_[process];
  const std::string text = gone.problem.empty() ? std::string(why) : gone.problem;
  for (const CallId id : std::vector(gone.calls)) {
    Fail(id, FaultKind::kCrash, fmt::format("the handler's process is gone: {}", text));
  }
  gone.start_failures += gone.was_ready ? 0 : 1;
  gone.problem = text;
  gone.last_problem = text;
  ++gone.failures;
  gone.state = State::kWaiting;
  gone.due = now + RestartDelay(gone.failures);
  FailHopeless();
  QuitIfIdle(now);
  if (gone.due && *gone.due <= now) {
    Spawn(process, now);
  }
}

std::string Dispatcher::problem() const {
  std::string why;
  for (const Process& process : processes_) {
    if (process.start_failures < kHopelessStarts) {
      return {};
    }
    why = process.last_problem.empty() ? why : process.last_problem;
  }
  return fmt::format("the handler's process does not start: {}", why);
}

void Dispatcher::FailHopeless() {
  const std::string why = problem();
  if (why.empty()) {
    return;
  }
  for (const CallId id : std::exchange(queue_, {})) {
    const auto call = calls_.find(id);
    if (call != calls_.end() && !call->second.process) {
      Fail(id, FaultKind::kStarting, why);
    }
  }
}

std::optional<size_t> Dispatcher::ProcessOf(CallId call) const {
  const auto found = calls_.find(call);
  return found == calls_.end() ? std::nullopt : found->second.process;
}

void Dispatcher::OnEnd(CallId call, SteadyTime now) {
  const std::optional<size_t> process = ProcessOf(call);
  if (!process) {
    return;
  }
  processes_[*process].failures = 0;
  Forget(call);
  KillIfIdle(*process);
  SendWaiting(now);
  QuitIfIdle(now);
}

void Dispatcher::OnCallerGone(CallId call, SteadyTime now) {
  const auto found = calls_.find(call);
  if (found == calls_.end() || !found->second.has_caller) {
    return;
  }
  found->second.has_caller = false;
  const std::optional<size_t> process = found->second.process;
  if (!process) {
    return Forget(call);
  }
  effects_.push_back({.action = Do::kGiveUp, .process = *process, .call = call});
  QuitIfIdle(now);
}

void Dispatcher::OnFlood(CallId call, std::string_view why, SteadyTime now) {
  const std::optional<size_t> process = ProcessOf(call);
  if (!process) {
    return;
  }
  effects_.push_back({.action = Do::kGiveUp, .process = *process, .call = call});
  Fail(call, FaultKind::kOutput, std::string(why));
  Retire(*process, why);
  QuitIfIdle(now);
}

void Dispatcher::OnNonsense(size_t process, std::string_view why) {
  processes_[process].problem = why;
  Kill(process);
}

void Dispatcher::SetSlow(CallId call, bool is_slow) {
  if (const auto found = calls_.find(call); found != calls_.end()) {
    found->second.is_slow = is_slow;
  }
}

void Dispatcher::OnDeadline(CallId id, SteadyTime now) {
  const Call& call = calls_.at(id);
  if (const std::optional<size_t> process = call.process) {
    return OnRunningDeadline(id, *process, now);
  }
  if (ready_processes() == 0) {
    return Fail(id, FaultKind::kStarting, "no process became ready in time");
  }
  if (call.own_deadline && *call.own_deadline <= now) {
    return Fail(id, FaultKind::kTimeout,
                "the caller's deadline passed before there was a free place");
  }
  Fail(id, FaultKind::kOverload,
       fmt::format("there was no free place within {}", FormatDuration(limits_.wait_timeout)));
}

void Dispatcher::OnRunningDeadline(CallId id, size_t process, SteadyTime now) {
  const Call& call = calls_.at(id);
  if (call.has_caller) {
    effects_.push_back({.action = Do::kGiveUp, .process = process, .call = id});
  }
  if (call.has_caller && (call.is_slow || call.own_deadline == call.deadline)) {
    // The caller is the reason: the handler may still end properly, and keeps its process then.
    effects_.push_back({.action = Do::kFail,
                        .call = id,
                        .fault = {.kind = FaultKind::kTimeout,
                                  .text = "the caller's deadline passed, or it read too slowly"}});
    calls_.at(id).has_caller = false;
    return SetDeadline(id, now + limits_.late_time);
  }
  const std::string why =
      fmt::format("the handler did not finish within {}", FormatDuration(limits_.timeout));
  Fail(id, FaultKind::kTimeout, why);
  Retire(process, why);
}

void Dispatcher::Retire(size_t process, std::string_view why) {
  Process& retired = processes_[process];
  if (retired.state == State::kReady) {
    retired.state = State::kRetiring;
    retired.problem = fmt::format("it was ended because of another call: {}", why);
  }
  KillIfIdle(process);
}

void Dispatcher::KillIfIdle(size_t process) {
  if (processes_[process].state == State::kRetiring && processes_[process].calls.empty()) {
    Kill(process);
  }
}

void Dispatcher::Kill(size_t process) {
  Process& killed = processes_[process];
  if (killed.state == State::kWaiting || killed.state == State::kGone) {
    return;
  }
  effects_.push_back({.action = Do::kKill, .process = process});
  killed.state = State::kEnding;
  killed.due.reset();
}

void Dispatcher::Drain(SteadyTime now, SteadyTime deadline) {
  if (drain_deadline_) {
    return;
  }
  drain_deadline_ = deadline;
  QuitIfIdle(now);
}

void Dispatcher::EndDrain() {
  std::vector<CallId> left;
  left.reserve(calls_.size());
  for (const auto& [id, call] : calls_) {
    left.push_back(id);
  }
  std::ranges::sort(left);
  for (const CallId id : left) {
    Fail(id, FaultKind::kStopping, "the function was stopped before the call's end");
  }
  for (size_t i = 0; i < processes_.size(); ++i) {
    Kill(i);
  }
}

void Dispatcher::QuitIfIdle(SteadyTime now) {
  if (!drain_deadline_ || !calls_.empty()) {
    return;
  }
  for (size_t i = 0; i < processes_.size(); ++i) {
    Process& process = processes_[i];
    if (process.state == State::kWaiting) {
      process.state = State::kGone;
      process.due.reset();
    } else if (process.state == State::kStarting || process.state == State::kReady) {
      process.state = State::kEnding;
      process.due.reset();
      quit_deadline_ = now + limits_.quit_time;
      effects_.push_back({.action = Do::kQuit, .process = i});
    }
  }
}

bool Dispatcher::IsDone() const {
  return is_draining() && calls_.empty() &&
         std::ranges::all_of(processes_,
                             [](const Process& process) { return process.state == State::kGone; });
}

size_t Dispatcher::ready_processes() const {
  return static_cast<size_t>(std::ranges::count_if(
      processes_, [](const Process& process) { return process.state == State::kReady; }));
}

bool Dispatcher::IsAlone(CallId call) const {
  const std::optional<size_t> process = ProcessOf(call);
  return process && processes_[*process].calls.size() == 1;
}

bool Dispatcher::IsRunningIn(CallId call, size_t process) const {
  return ProcessOf(call) == process;
}

}  // namespace kgpu::watchdog
