#include "src/functions/watchdog/pool.h"

#include <algorithm>
#include <utility>

#include "src/functions/watchdog/call_text.h"
#include "src/platform/base/bytes.h"
#include "src/platform/base/log.h"
#include "src/platform/base/utf8.h"

namespace kgpu::watchdog {
namespace {

// A caller that is so far behind stops its worker, if that has nothing else to do.
constexpr size_t kSlowCaller = size_t{256} << 10;
constexpr size_t kLarge = size_t{1} << 20;
// Of what a handler says about its failure.
constexpr size_t kMaxFailureText = size_t{16} << 10;

using std::chrono::duration_cast;
using std::chrono::milliseconds;

}  // namespace

Pool::Pool(EventLoop& loop, PoolOptions options)
    : loop_(loop),
      options_(std::move(options)),
      dispatcher_(options_.limits),
      workers_(std::max<size_t>(options_.limits.processes, 1)),
      paused_for_(workers_.size(), 0),
      timer_(loop) {
}

void Pool::Start() {
  started_ = Now();
  memory_kills_ = options_.memory_kills ? options_.memory_kills() : 0;
  dispatcher_.Start(started_);
  Run();
}

CallId Pool::NewId() {
  do {
    ++last_id_;
  } while (last_id_ == 0 || active_.contains(last_id_));
  return last_id_;
}

void Pool::Call(CallInput input, std::unique_ptr<Caller> caller) {
  if (waiting_bytes_ + input.body.size() > options_.max_waiting) {
    return caller->Fail({.kind = FaultKind::kOverload,
                         .text = "too many calls with large inputs wait: try again later"});
  }
  waiting_bytes_ += input.body.size();
  const CallId id = NewId();
  const std::optional<SteadyTime> deadline = input.deadline;
  std::string name = input.id;
  caller->OnGone(lifetime_.Bind([this, id] { OnCallerGone(id); }));
  const bool is_large = input.body.size() > kLarge;
  active_.emplace(id, Active{.input = std::move(input),
                             .caller = std::move(caller),
                             .id = std::move(name),
                             .is_large = is_large});
  ++calls_;
  dispatcher_.Admit(id, deadline, Now());
  Run();
}

void Pool::Drain(milliseconds grace, std::function<void()> done) {
  done_ = std::move(done);
  dispatcher_.Drain(Now(), Now() + grace);
  Run();
}

void Pool::Run() {
  // A caller's answer may bring its next call, from within.
  if (std::exchange(is_running_, true)) {
    return;
  }
  for (auto effects = dispatcher_.TakeEffects(); !effects.empty();
       effects = dispatcher_.TakeEffects()) {
    for (Dispatcher::Effect& effect : effects) {
      Do(effect);
    }
  }
  is_running_ = false;
  ArmTimer();
  if (done_ && dispatcher_.IsDone()) {
    std::exchange(done_, nullptr)();
  }
}

void Pool::Do(Dispatcher::Effect& effect) {
  Worker* worker = workers_[effect.process].get();
  switch (effect.action) {
    case Dispatcher::Do::kSpawn:
      return Spawn(effect.process);
    case Dispatcher::Do::kSend:
      return SendCall(effect);
    case Dispatcher::Do::kGiveUp:
      Resume(effect.process);
      if (worker != nullptr) {
        worker->Send(FrameType::kGiveUp, effect.call, "");
      }
      return;
    case Dispatcher::Do::kFail:
      return FailCall(effect.call, effect.fault);
    case Dispatcher::Do::kQuit:
      if (worker != nullptr) {
        worker->Send(FrameType::kQuit, 0, "");
      }
      return;
    case Dispatcher::Do::kKill:
      if (worker != nullptr) {
        worker->Kill();
      }
      return;
  }
}

void Pool::Spawn(size_t process) {
  StatusOr<std::unique_ptr<Worker>> worker =
      Worker::Spawn(loop_, options_.program,
                    {.on_frame = [this, process](const Frame& frame) { OnFrame(process, frame); },
                     .on_batch = [this, process] { OnBatch(process); },
                     .on_nonsense =
                         [this, process](std::string_view why) {
                           dispatcher_.OnNonsense(process, why);
                           Run();
                         },
                     .on_exit = [this, process](std::string_view why) { OnExit(process, why); }});
  if (!worker.ok()) {
    KGPU_LOG(kError, "worker not started", {"reason", Message(worker.status())});
    return dispatcher_.OnExit(process, Message(worker.status()), Now());
  }
  workers_[process] = *std::move(worker);
  paused_for_[process] = 0;
  if (!worker_started_) {
    worker_started_ = duration_cast<milliseconds>(Now() - started_);
  }
  KGPU_LOG(kInfo, "worker started", {"worker", process}, {"pid", workers_[process]->pid()});
}

void Pool::SendCall(const Dispatcher::Effect& effect) {
  const auto found = active_.find(effect.call);
  Worker* worker = workers_[effect.process].get();
  if (found == active_.end() || worker == nullptr) {
    return;  // the effects that follow say why
  }
  Resume(effect.process);  // what a slow caller leaves unread is the other calls' as well
  CallInput& input = found->second.input;
  const auto left = std::max(milliseconds(0), duration_cast<milliseconds>(effect.deadline - Now()));
  input.text += CallTextEnd(left);
  worker->SendCall(effect.call, input.text, TakeBody(input));
  input.text = std::string();
}

std::string Pool::TakeBody(CallInput& input) {
  waiting_bytes_ -= input.body.size();
  return std::exchange(input.body, {});
}

std::unique_ptr<Caller> Pool::Take(CallId call) {
  auto node = active_.extract(call);
  if (node.empty()) {
    return nullptr;
  }
  for (size_t i = 0; i < paused_for_.size(); ++i) {
    if (paused_for_[i] == call) {
      Resume(i);
    }
  }
  Active& ended = node.mapped();
  (void)TakeBody(ended.input);
  if (large_call_ended_ && (ended.is_large || ended.output > kLarge)) {
    large_call_ended_();
  }
  return std::move(node.mapped().caller);
}

void Pool::FailCall(CallId call, const Fault& fault) {
  if (const std::unique_ptr<Caller> caller = Take(call)) {
    caller->Fail(fault);
  }
}

void Pool::OnFrame(size_t process, const Frame& frame) {
  if (frame.type == FrameType::kReady) {
    return OnReadyFrame(process, frame.payload);
  }
  if (!dispatcher_.IsRunningIn(frame.call, process)) {
    return;  // too late
  }
  if (frame.type == FrameType::kEnd || frame.type == FrameType::kFailed) {
    // The caller's last word first: the place is free when it has it.
    if (const std::unique_ptr<Caller> caller = Take(frame.call)) {
      if (frame.type == FrameType::kEnd) {
        caller->End();
      } else {
        caller->Fail({.kind = FaultKind::kHandler,
                      .text = std::string(CutUtf8(frame.payload, kMaxFailureText))});
      }
    }
    dispatcher_.OnEnd(frame.call, Now());
    return Run();
  }
  const auto found = active_.find(frame.call);
  if (found == active_.end()) {
    return;  // its caller is gone
  }
  if (frame.type == FrameType::kHead) {
    OnHead(frame.call, found->second, frame.payload);
  } else {
    OnData(frame.call, found->second, frame.payload);
  }
}

void Pool::OnReadyFrame(size_t process, std::string_view payload) {
  const StatusOr<ReadyInfo> info = ParseReady(payload);
  if (!info.ok()) {
    dispatcher_.OnNonsense(process, Message(info.status()));
    return Run();
  }
  if (!worker_ready_) {
    worker_ready_ = duration_cast<milliseconds>(Now() - started_);
  }
  KGPU_LOG(kInfo, "worker ready", {"worker", process}, {"runtime", info->runtime},
           {"concurrent", info->is_concurrent});
  dispatcher_.OnReady(process, info->is_concurrent, Now());
  Run();
}

void Pool::OnHead(CallId call, Active& active, std::string_view payload) {
  if (active.has_data) {
    return RefuseReply(call, "status and headers must precede the output");
  }
  StatusOr<CallHead> head = ParseHead(payload);
  if (!head.ok()) {
    return RefuseReply(call, Message(head.status()));
  }
  active.caller->Head(*std::move(head));
}

// The frames are right, and their content is this call's alone: the process goes on with the
// others, and keeps this one's place until the handler has returned.
void Pool::RefuseReply(CallId call, std::string_view why) {
  KGPU_LOG(kWarning, "answer of the handler refused", {"call", active_.at(call).id},
           {"reason", why});
  FailCall(call, {.kind = FaultKind::kReply,
                  .text = fmt::format("the handler's answer is no valid HTTP response: {}", why)});
  dispatcher_.OnCallerGone(call, Now());
  Run();
}

void Pool::OnData(CallId call, Active& active, std::string_view payload) {
  active.has_data = true;
  active.output += payload.size();
  if (active.output > options_.max_output) {
    dispatcher_.OnFlood(
        call,
        fmt::format("the handler's output exceeds {}", FormatBytes(Bytes{options_.max_output})),
        Now());
    return Run();
  }
  active.caller->Data(payload);
  if (!std::exchange(active.is_unsent, true)) {
    unsent_.push_back(call);
  }
}

void Pool::OnBatch(size_t process) {
  for (const CallId call : std::exchange(unsent_, {})) {
    const auto found = active_.find(call);
    if (found == active_.end()) {
      continue;  // it has ended
    }
    found->second.is_unsent = false;
    Caller& caller = *found->second.caller;
    if (!caller.Flush()) {
      OnCallerGone(call);
    } else if (caller.pending() > kSlowCaller && dispatcher_.IsAlone(call)) {
      PauseFor(call, process);
    }
  }
  Run();
}

void Pool::OnCallerGone(CallId call) {
  (void)Take(call);
  dispatcher_.OnCallerGone(call, Now());
  Run();
}

void Pool::PauseFor(CallId call, size_t process) {
  if (paused_for_[process] == call || workers_[process] == nullptr) {
    return;
  }
  paused_for_[process] = call;
  workers_[process]->SetPaused(true);
  dispatcher_.SetSlow(call, true);
  active_.at(call).caller->OnDrained(lifetime_.Bind([this, call, process] {
    if (paused_for_[process] == call) {
      Resume(process);
    }
  }));
}

void Pool::Resume(size_t process) {
  const CallId call = std::exchange(paused_for_[process], 0);
  if (call == 0) {
    return;
  }
  dispatcher_.SetSlow(call, false);
  if (workers_[process] != nullptr) {
    workers_[process]->SetPaused(false);
  }
}

void Pool::OnExit(size_t process, std::string_view why) {
  const std::unique_ptr<Worker> gone = std::move(workers_[process]);
  paused_for_[process] = 0;
  const std::string how = ExplainExit(why);
  KGPU_LOG(kInfo, "worker ended", {"worker", process}, {"pid", gone->pid()}, {"how", how});
  dispatcher_.OnExit(process, how, Now());
  Run();
  if (worker_gone_) {
    worker_gone_();
  }
}

// A process that is killed for want of memory looks like one that somebody has killed.
std::string Pool::ExplainExit(std::string_view why) {
  const uint64_t kills = options_.memory_kills ? options_.memory_kills() : 0;
  if (kills <= std::exchange(memory_kills_, kills)) {
    return std::string(why);
  }
  return fmt::format("{}: out of memory: raise limits.memory of the function", why);
}

void Pool::ArmTimer() {
  const std::optional<SteadyTime> next = dispatcher_.NextTime();
  // A timer that comes too early only looks again: calls that end in time need no other.
  if (!next || timer_due_ <= *next) {
    return;
  }
  timer_due_ = *next;
  timer_.Arm(*next - Now(), [this] {
    timer_due_ = SteadyTime::max();
    dispatcher_.OnTime(Now());
    Run();
  });
}

bool Pool::Owns(pid_t pid) const {
  return std::ranges::any_of(
      workers_, [pid](const auto& worker) { return worker != nullptr && worker->pid() == pid; });
}

bool Pool::is_writing() const {
  return std::ranges::any_of(
      workers_, [](const auto& worker) { return worker != nullptr && worker->is_writing(); });
}

PoolStatus Pool::status() const {
  return {.state = is_draining() ? "draining"
                   : is_ready()  ? "ready"
                                 : "starting",
          .workers = static_cast<size_t>(std::ranges::count_if(
              workers_, [](const auto& worker) { return worker != nullptr; })),
          .ready_workers = dispatcher_.ready_processes(),
          .running = dispatcher_.running(),
          .waiting = dispatcher_.waiting(),
          .calls = calls_,
          .restarts = dispatcher_.restarts(),
          .problem = dispatcher_.problem(),
          .worker_started = worker_started_,
          .worker_ready = worker_ready_};
}

}  // namespace kgpu::watchdog
