// One kgpu-probe process from its start until it is gone, and the requests to it.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "src/gpu/probe/decode.h"
#include "src/gpu/probe/stderr_relay.h"
#include "src/platform/base/event_loop.h"
#include "src/platform/base/status.h"
#include "src/platform/base/timer.h"
#include "src/platform/base/unique_fd.h"
#include "src/platform/sys/child_process.h"

namespace kgpu::probe {

struct SessionOptions {
  std::string program;                              // kgpu-probe
  std::string library;                              // the NVML file
  std::vector<std::string> environment;             // the probe's whole environment
  std::chrono::milliseconds start_deadline{30000};  // until its first frame
  std::chrono::milliseconds kill_grace{1000};       // after SIGKILL; then it is abandoned
};

enum class SessionState {
  kStarting,  // waiting for the first frame
  kRunning,
  kKilled,     // unusable, SIGKILL was sent, waiting for its end
  kAbandoned,  // survived SIGKILL: stuck in the kernel; nobody waits for it
  kGone,       // ended and reaped
};

enum class EndCause {
  kExited,        // by itself, or by another's signal
  kUnresponsive,  // a call exceeded its deadline
  kProtocol,      // it sent an invalid frame
  kStopped,       // we stopped it
};

struct SessionEnd {
  EndCause cause = EndCause::kExited;
  std::string text;               // for people
  std::optional<unsigned> gpu{};  // kUnresponsive: the GPU that the call was about, if one
};

// Owned by the client, lives on the loop's thread. Callbacks may make further calls but must not
// destroy the session.
class Session {
 public:
  struct Listener {
    std::function<void(const Hello&)> on_hello;
    std::function<void(const Event&)> on_event;
    std::function<void(const SessionEnd&)> on_end;  // once; pending replies never arrive
    std::function<void()> on_abandoned;
    std::function<void()> on_gone;  // once, after on_end
  };
  using ReplyTask = std::function<void(const Reply&)>;

  // Starts the process. `loop` must outlive the session. Errors: NotFound (no such
  // program), FailedPrecondition (it cannot run here: no glibc), PermissionDenied,
  // ResourceExhausted.
  static StatusOr<std::unique_ptr<Session>> Start(EventLoop& loop, const SessionOptions& options,
                                                  Listener listener);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // Sends a request; `done` gets the reply, or is dropped if the session ends first. `deadline`
  // applies to each driver call of the request, and starts when the probe can begin to work on it.
  void Call(Op op, uint32_t gpu, uint32_t index, std::chrono::milliseconds deadline,
            ReplyTask done);
  // Ends the session now: calls on_end immediately, and on_gone once the process is gone.
  void Stop();

  SessionState state() const { return state_; }
  pid_t pid() const { return child_.pid(); }

 private:
  struct Pending {
    RequestFrame frame;
    std::chrono::milliseconds deadline;
    ReplyTask done;
  };

  Session(EventLoop& loop, const SessionOptions& options, Listener listener, UniqueFd socket,
          UniqueFd errors, sys::ChildProcess child);
  Status Watch(std::chrono::milliseconds start_deadline);
  void OnReadable();
  void OnEndOfStream();
  void OnExit();
  void Handle(const Frame& frame);
  void HandleReply(const Reply& reply);
  void SendWindow();
  void ArmDeadline();
  void CheckDeadline();
  void End(EndCause cause, std::string text, std::optional<unsigned> gpu = std::nullopt);

  EventLoop& loop_;
  std::chrono::milliseconds kill_grace_;
  Listener listener_;
  UniqueFd socket_;
  sys::ChildProcess child_;
  StderrRelay errors_;
  SessionState state_ = SessionState::kStarting;
  WatchId socket_watch_ = WatchId::kNone;
  WatchId exit_watch_ = WatchId::kNone;
  Timer deadline_timer_{loop_};
  Timer grace_timer_{loop_};
  bool is_stream_over_ = false;  // the probe's end of the socket is closed
  SteadyTime timer_due_{};       // of deadline_timer_
  SteadyTime deadline_{};        // of the request at the head of the queue, or of the first frame
  std::deque<Pending> queue_;    // the first `sent_` have been sent to the probe
  size_t sent_ = 0;
  uint32_t next_id_ = 1;
};

}  // namespace kgpu::probe
