// The worker processes and the calls in them: does what the Dispatcher decides, and passes frames
// to callers.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "src/functions/watchdog/call.h"
#include "src/functions/watchdog/dispatcher.h"
#include "src/functions/watchdog/worker.h"
#include "src/platform/base/event_loop.h"
#include "src/platform/base/lifetime.h"
#include "src/platform/base/timer.h"

namespace kgpu::watchdog {

struct PoolOptions {
  WorkerProgram program;
  DispatchLimits limits;
  uint64_t max_output = uint64_t{64} << 20;  // bytes of a call
  // Bytes of the inputs that no worker has yet, of all calls together; over it: overload.
  size_t max_waiting = size_t{256} << 20;
  // How many processes the kernel has killed so far for want of memory; null: unknown.
  std::function<uint64_t()> memory_kills{};
};

struct PoolStatus {
  std::string_view state;  // "starting", "ready", "draining"
  size_t workers = 0;
  size_t ready_workers = 0;
  size_t running = 0;
  size_t waiting = 0;
  uint64_t calls = 0;
  uint64_t restarts = 0;
  std::string problem{};  // why no process starts; empty while there is hope
  // Since the pool was started, of the first worker.
  std::optional<std::chrono::milliseconds> worker_started{};
  std::optional<std::chrono::milliseconds> worker_ready{};
};

// Lives on the loop's thread.
class Pool {
 public:
  // `loop` must outlive the pool.
  Pool(EventLoop& loop, PoolOptions options);
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  void Start();
  // The caller may have its answer before this returns.
  void Call(CallInput input, std::unique_ptr<Caller> caller);
  // No new calls; those in progress may take `grace`. `done` is called once, when all processes are
  // gone.
  void Drain(std::chrono::milliseconds grace, std::function<void()> done);

  bool is_ready() const { return dispatcher_.is_ready(); }
  bool is_draining() const { return dispatcher_.is_draining(); }
  // Inputs of calls, also of those that have ended, are on their way to a worker.
  bool is_writing() const;
  PoolStatus status() const;
  const DispatchLimits& limits() const { return options_.limits; }
  // Whether the pool itself reaps this process.
  bool Owns(pid_t pid) const;
  // Called after the end of a call that has had much memory.
  void OnLargeCallEnded(std::function<void()> task) { large_call_ended_ = std::move(task); }
  // Called after the end of a worker.
  void OnWorkerGone(std::function<void()> task) { worker_gone_ = std::move(task); }

 private:
  struct Active {
    CallInput input;
    std::unique_ptr<Caller> caller;
    std::string id{};  // X-Call-Id
    uint64_t output = 0;
    bool is_large = false;  // its input
    bool has_data = false;
    bool is_unsent = false;  // the caller has data to flush
  };

  SteadyTime Now() const { return loop_.clock().Now(); }
  CallId NewId();
  // Carries out what the dispatcher decided, until it has nothing more to do.
  void Run();
  void Do(Dispatcher::Effect& effect);
  void Spawn(size_t process);
  void SendCall(const Dispatcher::Effect& effect);
  void FailCall(CallId call, const Fault& fault);
  // The input of a call, which waits no more.
  std::string TakeBody(CallInput& input);
  // Removes a call; null if its caller has gone.
  std::unique_ptr<Caller> Take(CallId call);
  void OnFrame(size_t process, const Frame& frame);
  void OnReadyFrame(size_t process, std::string_view payload);
  void OnHead(CallId call, Active& active, std::string_view payload);
  void RefuseReply(CallId call, std::string_view why);
  void OnData(CallId call, Active& active, std::string_view payload);
  void OnBatch(size_t process);
  void OnExit(size_t process, std::string_view why);
  std::string ExplainExit(std::string_view why);
  void OnCallerGone(CallId call);
  void PauseFor(CallId call, size_t process);
  void Resume(size_t process);
  void ArmTimer();

  EventLoop& loop_;
  const PoolOptions options_;
  Dispatcher dispatcher_;
  std::vector<std::unique_ptr<Worker>> workers_;
  std::vector<CallId> paused_for_;  // by process; 0: it is read
  std::unordered_map<CallId, Active> active_;
  std::vector<CallId> unsent_;
  size_t waiting_bytes_ = 0;  // see PoolOptions::max_waiting
  CallId last_id_ = 0;
  uint64_t memory_kills_ = 0;  // that have been explained
  uint64_t calls_ = 0;
  bool is_running_ = false;
  Timer timer_;
  SteadyTime timer_due_ = SteadyTime::max();
  SteadyTime started_{};
  std::optional<std::chrono::milliseconds> worker_started_;
  std::optional<std::chrono::milliseconds> worker_ready_;
  std::function<void()> done_;
  std::function<void()> worker_gone_;
  std::function<void()> large_call_ended_;
  Lifetime lifetime_;
};

}  // namespace kgpu::watchdog
