#include "src/node/mps/daemon.h"

#include <fcntl.h>
#include <unistd.h>

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "src/node/mps/daemon_files.h"
#include "src/node/mps/paths.h"
#include "src/platform/base/backoff.h"
#include "src/platform/base/log.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/unique_fd.h"

namespace kgpu::mps {
namespace {

// From its start to its first answer.
constexpr std::chrono::seconds kAnswerLimit{15};
constexpr std::chrono::milliseconds kAnswerPoll{100};
// A death is noticed at once; this is for a daemon that hangs, and for faults of programs. Without
// a server there are no programs.
constexpr std::chrono::seconds kCheckInUse{10};
constexpr std::chrono::seconds kCheckIdle{30};
constexpr std::chrono::seconds kCheckSoon{5};
constexpr unsigned kMissesBeforeKill = 2;
constexpr std::chrono::seconds kQuitLimit{10};
// For servers that have been killed: kAnswerPoll each at first, kCheckSoon each then.
constexpr unsigned kQuickWaits = 20;
constexpr unsigned kServerRounds = 2;
constexpr std::chrono::seconds kFirstWait{1};
constexpr std::chrono::seconds kLongestWait{60};
// After this long without trouble, the next failure is the first again.
constexpr std::chrono::minutes kCalm{5};
constexpr std::string_view kStartingText = "its MPS daemon is starting";

StatusOr<ControlState> StateIn(const StatusOr<std::string>& answer) {
  if (!answer.ok()) {
    return answer.status();
  }
  return ParseControlState(*answer);
}

// Programs may be using the device.
bool MayBeInUse(DaemonState state) {
  return state == DaemonState::kReady || state == DaemonState::kFaulted ||
         state == DaemonState::kChecking;
}

}  // namespace

Daemon::Daemon(EventLoop& loop, Options options, const Settings& settings, Actions actions)
    : loop_(loop), options_(std::move(options)), settings_(settings), actions_(std::move(actions)) {
  if (!TakeEarlier()) {
    state_ = DaemonState::kStarting;
    problem_ = kStartingText;
    timer_.Arm(std::chrono::nanoseconds(0), [this] { Begin(); });
  }
}

Daemon::~Daemon() {
  Unwatch();
}

bool Daemon::TakeEarlier() {
  std::optional<Found> found = FindByRecord(options_.folder);
  if (!found) {
    return false;
  }
  has_other_settings_ = found->settings != settings_;
  process_ = std::move(found->process);
  is_killed_ = false;
  misses_ = 0;
  WatchProcess();
  CheckEarlier();
  return true;
}

void Daemon::CheckEarlier() {
  if (has_other_settings_) {
    SetState(DaemonState::kStarting, std::string(kStartingText));
    Quit();
    return;
  }
  Ask(std::string(kStateCommands), [this](const StatusOr<std::string>& answer) {
    const StatusOr<ControlState> state = StateIn(answer);
    if (state.ok()) {
      KGPU_LOG(kInfo, "MPS daemon found", {"device", options_.device_uuid},
               {"pid", process_ ? process_->pid() : 0});
      Serve(*state);
    } else {
      OnCheckFailed(state.status(), &Daemon::CheckEarlier);
    }
  });
}

void Daemon::Begin() {
  // Its daemon may have died while no agent watched, or have no record.
  if (TakeEarlier() || AwaitServers(&Daemon::Begin)) {
    return;
  }
  if (const Status status = Spawn(); !status.ok()) {
    WaitAgain(std::string(Message(status)));
    return;
  }
  SetState(DaemonState::kStarting, std::string(kStartingText));
  answer_deadline_ = loop_.clock().Now() + kAnswerLimit;
  timer_.Arm(kAnswerPoll, [this] { AskUntilItAnswers(); });
}

Status Daemon::Spawn() {
  misses_ = 0;
  RETURN_IF_ERROR(options_.prepare ? options_.prepare() : OkStatus());
  RETURN_IF_ERROR(MakeFolders(options_.folder, options_.has_selinux));
  // The daemon writes to files in it as root: no links of containers may be there.
  RETURN_IF_ERROR(EmptyFolder(fmt::format("{}/{}", options_.folder, kPipeFolder)));
  ASSIGN_OR_RETURN(program_, options_.find_program());
  std::vector<std::string> argv = {program_->path, "-f"};
  if (settings_.serves_all_users) {
    argv.emplace_back("-multiuser-server");
  }
  std::vector<std::string> environment = program_->environment;
  environment.push_back(fmt::format("CUDA_VISIBLE_DEVICES={}", options_.device_uuid));
  environment.push_back(PipeVariable(options_.folder));
  environment.push_back(fmt::format("CUDA_MPS_LOG_DIRECTORY={}/{}", options_.folder, kLogFolder));
  // Our own streams may end before the daemon does.
  const UniqueFd nothing(open("/dev/null", O_RDWR | O_CLOEXEC));
  if (!nothing.is_valid()) {
    return ErrnoStatus(errno, "open /dev/null");
  }
  ASSIGN_OR_RETURN(LastingProcess process,
                   LastingProcess::Spawn({.argv = std::move(argv),
                                          .environment = std::move(environment),
                                          .fds = {{nothing.get(), STDERR_FILENO}}}));
  process_ = std::move(process);
  is_killed_ = false;
  WatchProcess();
  if (const Status moved = MoveToCgroup(options_.cgroup, process_->pid()); !moved.ok()) {
    KGPU_LOG(kWarning, "MPS daemon ends with the agent's pod", {"problem", Message(moved)});
  }
  const Record record{.pid = static_cast<uint32_t>(process_->pid()),
                      .start_time = process_->start_time(),
                      .settings = settings_};
  const Status written = WriteRecord(options_.folder, record);
  if (!written.ok()) {
    // The next agent would not find it.
    (void)process_->Kill();
    is_killed_ = true;
  }
  return written;
}

void Daemon::AskUntilItAnswers() {
  Ask(SettingCommands(settings_) + std::string(kStateCommands),
      [this](const StatusOr<std::string>& answer) {
        const StatusOr<ControlState> state = StateIn(answer);
        if (state.ok() && state->threads <= settings_.threads) {
          Serve(*state);
        } else if (loop_.clock().Now() < answer_deadline_) {
          timer_.Arm(kAnswerPoll, [this] { AskUntilItAnswers(); });
        } else {
          Replace(state.ok() ? "its MPS daemon does not take the limit on threads"
                             : std::string(Message(state.status())));
        }
      });
}

void Daemon::Serve(const ControlState& state) {
  ready_since_ = loop_.clock().Now();
  CheckServers(state);
}

void Daemon::Check() {
  ShortenLogs(options_.folder);
  Ask(std::string(kStateCommands), [this](const StatusOr<std::string>& answer) {
    const StatusOr<ControlState> state = StateIn(answer);
    if (!state.ok()) {
      OnCheckFailed(state.status(), &Daemon::Check);
      return;
    }
    if (loop_.clock().Now() - ready_since_ > kCalm) {
      failures_ = 0;
      logged_.clear();
    }
    CheckServers(*state);
  });
}

void Daemon::CheckServers(const ControlState& state) {
  std::string commands;
  for (const uint32_t pid : state.servers) {
    commands += fmt::format("get_server_status {}\n", pid);
  }
  if (commands.empty()) {
    misses_ = 0;
    SetState(DaemonState::kReady, "");
    timer_.Arm(kCheckIdle, [this] { Check(); });
    return;
  }
  Ask(std::move(commands), [this](const StatusOr<std::string>& answer) {
    if (!answer.ok()) {
      OnCheckFailed(answer.status(), &Daemon::Check);
      return;
    }
    misses_ = 0;  // not before: it may answer the first question of each check alone
    const bool is_faulted = IsFaulted(*answer);
    // The agent before us has told what it was when we came.
    const bool is_known = state_ == DaemonState::kFaulted || state_ == DaemonState::kChecking;
    if (is_faulted && !is_known) {
      actions_.happened(DaemonEvent::kFaulted);
    }
    SetState(is_faulted ? DaemonState::kFaulted : DaemonState::kReady,
             is_faulted ? "a program's fault blocks its MPS server until all programs that were "
                          "using the device have ended: delete their pods"
                        : "");
    timer_.Arm(is_faulted ? kCheckSoon : kCheckInUse, [this] { Check(); });
  });
}

void Daemon::OnCheckFailed(const Status& status, void (Daemon::*again)()) {
  if (++misses_ < kMissesBeforeKill) {
    timer_.Arm(kCheckSoon, [this, again] { (this->*again)(); });
    return;
  }
  actions_.happened(DaemonEvent::kHung);
  Replace(fmt::format("its MPS daemon is replaced: {}", Message(status)));
}

void Daemon::Stop() {
  if (state_ == DaemonState::kStopping || state_ == DaemonState::kStopped) {
    return;
  }
  SetState(DaemonState::kStopping, "its MPS daemon is ending");
  if (process_) {
    Quit();
  } else {
    BeStopped();
  }
}

void Daemon::BeStopped() {
  timer_.Cancel();
  if (AwaitServers(&Daemon::BeStopped)) {
    return;
  }
  RemoveRecord(options_.folder);
  SetState(DaemonState::kStopped, "");
}

void Daemon::Quit() {
  if (is_killed_) {
    return;
  }
  Ask("quit\n", [this](const StatusOr<std::string>&) {
    timer_.Arm(kQuitLimit, [this] { Replace("its MPS daemon does not end"); });
  });
}

// Kills it; OnEnded goes on.
void Daemon::Replace(std::string problem) {
  if (state_ != DaemonState::kStopping) {
    SetState(DaemonState::kWaiting, std::move(problem));
  }
  call_.reset();
  timer_.Cancel();
  if (!process_) {
    WaitAgain(problem_);
    return;
  }
  is_killed_ = true;
  if (const Status status = process_->Kill(); !status.ok()) {
    KGPU_LOG(kError, "MPS daemon not replaced", {"device", options_.device_uuid},
             {"problem", Message(status)});
  }
  AwaitEnd();
}

// Its watch may be missing, and the kill may have failed.
void Daemon::AwaitEnd() {
  timer_.Arm(kQuitLimit, [this] {
    if (process_ && !process_->HasEnded()) {
      (void)process_->Kill();
      AwaitEnd();
    } else {
      OnEnded();
    }
  });
}

void Daemon::OnEnded() {
  if (!process_ || !process_->HasEnded()) {
    return;
  }
  Unwatch();
  process_.reset();
  call_.reset();
  (void)EndServers();  // Begin and BeStopped wait for them
  const bool was_killed = std::exchange(is_killed_, false);
  if (state_ == DaemonState::kStopping) {
    BeStopped();
    return;
  }
  if (std::exchange(has_other_settings_, false)) {
    SetState(DaemonState::kStarting, std::string(kStartingText));
    timer_.Arm(std::chrono::nanoseconds(0), [this] { Begin(); });
    return;
  }
  if (MayBeInUse(state_) && !was_killed) {
    actions_.happened(DaemonEvent::kEnded);
  }
  WaitAgain(was_killed ? problem_ : "its MPS daemon has ended");
}

// Servers must not outlive their daemon: the next one could not use the device, or there would be
// two.
Status Daemon::EndServers() {
  if (servers_.empty()) {
    servers_ = FindLeft(options_.folder);
  }
  Status result;
  for (const LastingProcess& server : servers_) {
    if (const Status status = server.Kill(); !status.ok()) {
      result = status;
    }
  }
  return result;
}

// False: there are none. Otherwise calls `then` later. One that is in the driver may outlive
// SIGKILL for as long as that hangs. Looks twice, since a daemon without a record has servers, but
// no more: anybody can start programs that look like servers.
bool Daemon::AwaitServers(void (Daemon::*then)()) {
  std::erase_if(servers_, [](LastingProcess& server) { return server.HasEnded(); });
  if (servers_.empty() && server_rounds_ < kServerRounds) {
    ++server_rounds_;
    server_waits_ = 0;
    servers_ = FindLeft(options_.folder);
  }
  if (servers_.empty()) {
    server_rounds_ = 0;
    return false;
  }
  const Status killed = EndServers();
  const bool is_soon = ++server_waits_ <= kQuickWaits;
  if (!is_soon) {
    const pid_t pid = servers_.front().pid();
    std::string problem = fmt::format("its earlier MPS server, process {}, does not end", pid);
    if (problem != logged_) {
      KGPU_LOG(kError, "MPS server not ended", {"device", options_.device_uuid}, {"pid", pid},
               {"problem", Message(killed)});
      logged_ = problem;
    }
    SetState(state_ == DaemonState::kStopping ? state_ : DaemonState::kWaiting, std::move(problem));
  }
  timer_.Arm(is_soon ? std::chrono::nanoseconds(kAnswerPoll) : std::chrono::nanoseconds(kCheckSoon),
             [this, then] { (this->*then)(); });
  return true;
}

void Daemon::WaitAgain(std::string problem) {
  if (process_) {
    // Killed, but still there: its end is what comes next.
    SetState(DaemonState::kWaiting, std::move(problem));
    AwaitEnd();
    return;
  }
  const auto wait = DoublingPause(++failures_, kFirstWait, kLongestWait);
  if (problem != logged_) {
    KGPU_LOG(kError, "MPS daemon not running", {"device", options_.device_uuid},
             {"problem", problem},
             {"next", fmt::format("{}s", std::chrono::floor<std::chrono::seconds>(wait).count())});
    logged_ = problem;
  }
  SetState(DaemonState::kWaiting, std::move(problem));
  timer_.Arm(wait, [this] { Begin(); });
}

// An error of our own query (no program while its package changes, no memory) does not mean that
// the daemon, which programs may be using, is unhealthy.
void Daemon::Ask(std::string commands, Next next) {
  timer_.Cancel();
  const Status status = TryToAsk(commands, next);
  if (status.ok()) {
    return;
  }
  program_.reset();  // it may be elsewhere by now
  if (!MayBeInUse(state_)) {
    timer_.Arm(std::chrono::nanoseconds(0), [next = std::move(next), status] { next(status); });
    return;
  }
  if (const std::string problem(Message(status)); problem != logged_) {
    KGPU_LOG(kWarning, "MPS daemon not checked", {"device", options_.device_uuid},
             {"problem", problem});
    logged_ = problem;
  }
  timer_.Arm(kCheckSoon, [this, commands = std::move(commands), next = std::move(next)] {
    Ask(commands, next);
  });
}

Status Daemon::TryToAsk(const std::string& commands, const Next& next) {
  if (!program_) {
    ASSIGN_OR_RETURN(program_, options_.find_program());
  }
  ControlCallOptions options{
      .argv = {program_->path}, .environment = program_->environment, .commands = commands};
  options.environment.push_back(PipeVariable(options_.folder));
  ASSIGN_OR_RETURN(call_,
                   ControlCall::Start(loop_, options, [this, next](StatusOr<std::string> answer) {
                     call_.reset();
                     next(std::move(answer));
                   }));
  return OkStatus();
}

void Daemon::WatchProcess() {
  if (!process_) {
    return;
  }
  const auto watch = loop_.WatchReadable(process_->pidfd(), [this] { OnEnded(); });
  if (watch.ok()) {
    watch_ = *watch;
  } else {
    KGPU_LOG(kError, "MPS daemon not watched", {"device", options_.device_uuid},
             {"problem", Message(watch.status())});
  }
}

void Daemon::Unwatch() {
  loop_.Unwatch(std::exchange(watch_, WatchId::kNone));
}

void Daemon::SetState(DaemonState state, std::string problem) {
  if (state_ == state && problem_ == problem) {
    return;
  }
  state_ = state;
  problem_ = std::move(problem);
  if (!report_timer_.is_armed()) {
    report_timer_.Arm(std::chrono::nanoseconds(0), [this] { actions_.changed(); });
  }
}

}  // namespace kgpu::mps
