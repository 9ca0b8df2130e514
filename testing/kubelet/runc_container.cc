#include "testing/kubelet/runc_container.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <utility>
#include <vector>

#include "src/platform/base/log.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"
#include "testing/kubelet/text_file.h"

namespace kgpu::kubelet {
namespace {

// How often a container that starts is looked at: runc tells nobody but by a file.
constexpr std::chrono::milliseconds kLookAgain{5};
// A large root file system may have to be copied.
constexpr std::chrono::minutes kStartLimit{1};
constexpr int kUnknownExit = 137;
constexpr size_t kTextLimit = size_t{1} << 20;

// $1 the container's folder, $2 the root file system, $3 runc, $4 its state, $5 the id. Its own
// mount namespace: the layer above the root file system goes with the process. File systems that
// cannot carry an overlay (an overlay itself) get a copy.
constexpr const char* kWrapper = R"(
echo $$ >"$1/wrapper.new" && mv "$1/wrapper.new" "$1/wrapper"
mount -t overlay overlay -o "lowerdir=$2,upperdir=$1/upper,workdir=$1/work" "$1/rootfs" 2>/dev/null ||
  cp -a "$2/." "$1/rootfs"
"$3" --root "$4" --log "$1/runc.log" run --bundle "$1" --pid-file "$1/pid" "$5"
echo $? >"$1/exit.new"; mv "$1/exit.new" "$1/exit"
)";

StatusOr<std::string> FindProgram(const char* name, const char* package) {
  for (const char* folder :
       {"/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"}) {
    std::string path = fmt::format("{}/{}", folder, name);
    if (access(path.c_str(), X_OK) == 0) {
      return path;
    }
  }
  return FailedPrecondition("{}: not installed; on Debian: apt-get install {}", name, package);
}

UniqueFd OpenPid(std::string_view text) {
  const std::optional<uint64_t> pid = ParseUint(Trim(text));
  return UniqueFd(pid ? static_cast<int>(syscall(SYS_pidfd_open, static_cast<pid_t>(*pid), 0))
                      : -1);
}

// "time=… level=error msg=\"…\"" → the message.
std::string MessageOf(std::string_view line) {
  const size_t begin = line.find("msg=\"");
  const size_t end = line.rfind('"');
  return std::string(begin == std::string_view::npos || end <= begin + 5
                         ? line
                         : line.substr(begin + 5, end - begin - 5));
}

std::string_view LastLine(std::string_view text) {
  const std::string_view trimmed = Trim(text);
  return trimmed.substr(trimmed.rfind('\n') + 1);
}

}  // namespace

StatusOr<RuncPrograms> FindRuncPrograms() {
  RuncPrograms programs;
  ASSIGN_OR_RETURN(programs.runc, FindProgram("runc", "runc"));
  ASSIGN_OR_RETURN(programs.setsid, FindProgram("setsid", "util-linux"));
  ASSIGN_OR_RETURN(programs.unshare, FindProgram("unshare", "util-linux"));
  ASSIGN_OR_RETURN(programs.shell, FindProgram("sh", "dash"));
  return programs;
}

RuncContainer::RuncContainer(Setting setting) : setting_(std::move(setting)) {
}

RuncContainer::~RuncContainer() {
  setting_.loop.Unwatch(watch_);
  setting_.loop.CancelTimer(look_timer_);
  setting_.loop.CancelTimer(kill_timer_);
}

std::string RuncContainer::FileText(const char* name) const {
  return ReadTextFile(fmt::format("{}/{}", setting_.folder, name), kTextLimit).value_or("");
}

void RuncContainer::Start(std::function<void(const Status&)> started) {
  started_ = std::move(started);
  const UniqueFd log(open(fmt::format("{}/log", setting_.folder).c_str(),
                          O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
  StatusOr<sys::ChildProcess> launcher = sys::ChildProcess::Spawn(
      {.argv = {setting_.programs.setsid, "--fork", setting_.programs.unshare, "--mount",
                "--propagation", "private", setting_.programs.shell, "-c", kWrapper, "sh",
                setting_.folder, setting_.rootfs, setting_.programs.runc, setting_.runc_root,
                setting_.id},
       .environment = {"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"},
       .fds = {{log.get(), STDOUT_FILENO}, {log.get(), STDERR_FILENO}}});
  if (!launcher.ok()) {
    setting_.loop.Post(
        [begun = std::exchange(started_, nullptr), status = launcher.status()] { begun(status); });
    return;
  }
  launcher_ = std::make_unique<sys::ChildProcess>(*std::move(launcher));
  start_limit_ = setting_.loop.clock().Now() + kStartLimit;
  look_timer_ = setting_.loop.After(kLookAgain, [this] { Look(); });
}

void RuncContainer::TakeUp() {
  const std::string code = FileText("exit");
  if (!code.empty() || !FindWrapper()) {
    exit_code_ = static_cast<int>(ParseUint(Trim(code)).value_or(kUnknownExit));
    return;
  }
  is_running_ = true;
}

// Until the container runs, or has ended before it could.
void RuncContainer::Look() {
  look_timer_ = TimerId::kNone;
  if (launcher_ != nullptr && launcher_->TryReap()) {
    launcher_.reset();
  }
  const bool has_pid = !FileText("pid").empty();
  if (!has_pid && !FileText("exit").empty()) {
    FailToStart(WhyNotStarted());
    return;
  }
  if (!has_pid && setting_.loop.clock().Now() > start_limit_) {
    FailToStart(fmt::format("runc did not start it in time: {}", WhyNotStarted()));
    return;
  }
  if (!has_pid || launcher_ != nullptr) {
    look_timer_ = setting_.loop.After(kLookAgain, [this] { Look(); });
    return;
  }
  is_running_ = true;
  // Posted, since whoever is notified may destroy this; in this order.
  setting_.loop.Post([begun = std::exchange(started_, nullptr)] { begun(OkStatus()); });
  if (!FindWrapper()) {
    setting_.loop.Post(lifeline_.Guard([this] { OnWrapperEnd(); }));
  } else if (is_doomed_) {
    Kill();
  }
}

void RuncContainer::FailToStart(const std::string& why) {
  exit_code_ = kUnknownExit;
  setting_.loop.Post(
      [begun = std::exchange(started_, nullptr), status = Internal("{}", why)] { begun(status); });
}

// False when the wrapper is no more. A pid alone says nothing: it may be somebody else's by now.
bool RuncContainer::FindWrapper() {
  const std::string pid(Trim(FileText("wrapper")));
  wrapper_ = OpenPid(pid);
  const std::string command =
      ReadTextFile(fmt::format("/proc/{}/cmdline", pid), kTextLimit).value_or("");
  if (!wrapper_.is_valid() || command.find(setting_.id) == std::string::npos) {
    return false;
  }
  const StatusOr<WatchId> watch =
      setting_.loop.WatchReadable(wrapper_.get(), [this] { OnWrapperEnd(); });
  if (!watch.ok()) {
    KGPU_LOG(kError, "container not watched", {"reason", Message(watch.status())});
    return false;
  }
  watch_ = *watch;
  return true;
}

void RuncContainer::OnWrapperEnd() {
  setting_.loop.Unwatch(std::exchange(watch_, WatchId::kNone));
  setting_.loop.CancelTimer(std::exchange(kill_timer_, TimerId::kNone));
  is_running_ = false;
  exit_code_ = static_cast<int>(ParseUint(Trim(FileText("exit"))).value_or(kUnknownExit));
  // A copy: whoever is notified may destroy this.
  const auto on_exit = setting_.on_exit;
  on_exit(*exit_code_);
}

std::string RuncContainer::WhyNotStarted() const {
  const std::string log = FileText("runc.log");
  const std::string text = MessageOf(LastLine(log.empty() ? FileText("log") : log));
  return text.empty() ? "runc exited without an error message" : text;
}

void RuncContainer::Signal(int signal) const {
  const UniqueFd pidfd = OpenPid(FileText("pid"));
  if (is_running_ && pidfd.is_valid()) {
    (void)syscall(SYS_pidfd_send_signal, pidfd.get(), signal, nullptr, 0);
  }
}

void RuncContainer::Stop(std::chrono::nanoseconds grace) {
  Signal(SIGTERM);
  if (is_running() && kill_timer_ == TimerId::kNone) {
    kill_timer_ = setting_.loop.After(grace, [this] {
      kill_timer_ = TimerId::kNone;
      Kill();
    });
  }
}

void RuncContainer::Kill() {
  is_doomed_ = true;
  Signal(SIGKILL);
}

}  // namespace kgpu::kubelet
