// The MPS control daemon of one device: started, watched, replaced when it dies or hangs.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/node/mps/control_call.h"
#include "src/node/mps/lasting_process.h"
#include "src/node/mps/text.h"
#include "src/platform/base/event_loop.h"
#include "src/platform/base/status.h"
#include "src/platform/base/timer.h"

namespace kgpu::mps {

// The program, as this process sees it.
struct Program {
  std::string path;
  std::vector<std::string> environment;  // for any run of it; without what names a device
};

enum class DaemonState : uint8_t {
  kChecking,  // an earlier agent's daemon lives, and is asked whether it works
  kStarting,  // started, and does not answer yet
  kReady,     // programs can use the device
  kFaulted,   // a program's fault blocks the server until all affected ones have ended
  kWaiting,   // failed; started again later
  kStopping,
  kStopped,
};

// Something that people should know; programs of the device have lost their contexts.
enum class DaemonEvent : uint8_t { kEnded, kHung, kFaulted };

// Lives on the loop's thread. Once destroyed, the daemon runs on, for the next agent to find. There
// are never two for one device, nor servers of two: what cannot be killed is waited for.
class Daemon {
 public:
  struct Options {
    std::string device_uuid;
    std::string folder;  // of this device: pipes, logs, record; created if it is missing
    // Where it outlives the agent's own cgroup: made if it is missing; empty: the agent's.
    // Source: cgroups(7), version 2.
    std::string cgroup{};
    // With SELinux, containers reach only sockets in folders with their own label.
    bool has_selinux = false;
    // Errors: those of looking for it. Asked before each start.
    std::function<StatusOr<Program>()> find_program;
    // What else is needed before each start; may be empty.
    std::function<Status()> prepare{};
  };
  struct Actions {
    std::function<void()> changed;  // state() or problem() has changed; never within a call
    std::function<void(DaemonEvent)> happened;
  };

  // `loop` must outlive it. Looks for an earlier one immediately, and for nothing else.
  Daemon(EventLoop& loop, Options options, const Settings& settings, Actions actions);
  ~Daemon();
  Daemon(const Daemon&) = delete;
  Daemon& operator=(const Daemon&) = delete;

  const Settings& settings() const { return settings_; }
  DaemonState state() const { return state_; }
  // Why programs cannot use the device; for people; empty: they can.
  const std::string& problem() const { return problem_; }
  // Ends it, by force if it does not follow within ten seconds. For a device that nobody uses.
  void Stop();

 private:
  void Begin();
  bool TakeEarlier();
  void CheckEarlier();
  Status Spawn();
  void AskUntilItAnswers();
  void Serve(const ControlState& state);
  void Check();
  void CheckServers(const ControlState& state);
  void OnCheckFailed(const Status& status, void (Daemon::*again)());
  void BeStopped();
  void Quit();
  void OnEnded();
  Status EndServers();
  bool AwaitServers(void (Daemon::*then)());
  void WaitAgain(std::string problem);
  void Replace(std::string problem);
  void AwaitEnd();

  using Next = std::function<void(StatusOr<std::string>)>;
  void Ask(std::string commands, Next next);
  Status TryToAsk(const std::string& commands, const Next& next);
  void WatchProcess();
  void Unwatch();
  void SetState(DaemonState state, std::string problem);

  EventLoop& loop_;
  const Options options_;
  const Settings settings_;
  const Actions actions_;

  DaemonState state_ = DaemonState::kChecking;
  std::string problem_;
  std::string logged_;  // the problem that was logged last
  std::optional<Program> program_;
  std::optional<LastingProcess> process_;
  std::vector<LastingProcess> servers_;  // without a daemon: killed, and their end is waited for
  std::unique_ptr<ControlCall> call_;
  bool has_other_settings_ = false;  // an earlier agent's daemon, which ends and is replaced
  bool is_killed_ = false;           // its end is waited for
  unsigned misses_ = 0;              // checks in a row without an answer
  unsigned failures_ = 0;            // starts and ends in a row
  unsigned server_rounds_ = 0;       // of looking for servers to wait for
  unsigned server_waits_ = 0;        // in a row for the same ones
  SteadyTime ready_since_{};
  SteadyTime answer_deadline_{};
  WatchId watch_ = WatchId::kNone;
  Timer timer_{loop_};
  Timer report_timer_{loop_};
};

}  // namespace kgpu::mps
