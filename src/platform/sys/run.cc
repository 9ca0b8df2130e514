#include "src/platform/sys/run.h"

#include <poll.h>
#include <unistd.h>
#include <csignal>

#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>
#include <string_view>
#include <utility>

#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"
#include "src/platform/sys/end_signals.h"
#include "src/platform/sys/pipe.h"
#include "src/platform/sys/session.h"

namespace kgpu::sys {
namespace {

using Deadline = std::chrono::steady_clock::time_point;

constexpr size_t kLongestLine = 4096;

// One of the program's streams: what it says is kept up to a limit, and reported line by line.
class Stream {
 public:
  Stream(UniqueFd fd, std::string& text, const RunRequest& request)
      : fd_(std::move(fd)), text_(text), request_(request) {}

  int fd() const { return fd_.get(); }

  // Reads what is in the pipe, but not for ever: a program that prints without end has a deadline,
  // too. Closes the pipe at its end.
  void Drain() {
    std::array<char, 16384> bytes{};  // a pipe holds four of them
    for (int turn = 0; turn < 16 && fd_.is_valid(); ++turn) {
      const ssize_t got = read(fd_.get(), bytes.data(), bytes.size());
      if (got > 0) {
        Take({bytes.data(), static_cast<size_t>(got)});
      } else if (got == 0 || (errno != EAGAIN && errno != EINTR)) {
        fd_.Reset();
      } else if (errno == EAGAIN) {
        return;
      }
    }
  }

  // Tells a last line that has no end.
  void Finish() {
    if (request_.on_line && !line_.empty()) {
      request_.on_line(line_);
    }
    line_.clear();
  }

 private:
  void Take(std::string_view bytes) {
    text_.append(bytes.substr(0, request_.output_limit - text_.size()));
    if (!request_.on_line) {
      return;
    }
    for (const char c : bytes) {
      if (c == '\n' || c == '\r') {
        Finish();
      } else if (line_.size() < kLongestLine) {
        line_ += c;
      }
    }
  }

  UniqueFd fd_;
  std::string& text_;
  const RunRequest& request_;
  std::string line_;
};

int MillisecondsTo(Deadline deadline) {
  const auto left =
      std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
  return static_cast<int>(std::clamp<int64_t>(left.count(), 0, 1 << 30));
}

// Only one that is stuck in the kernel outlives SIGKILL for so long.
constexpr std::chrono::milliseconds kKillWait{30'000};

// What a program prints, until it has ended. A child process that keeps the pipes open does not
// delay us.
class Collection {
 public:
  Collection(ChildProcess& child, UniqueFd out_fd, UniqueFd err_fd, const RunRequest& request,
             RunResult& result)
      : child_(child),
        request_(request),
        result_(result),
        out_(std::move(out_fd), result.out, request),
        err_(std::move(err_fd), result.err, request) {}

  // `reported_fd`: readable when we are asked to stop; -1: there is none.
  Status ToItsEnd(int reported_fd) {
    const Deadline deadline = std::chrono::steady_clock::now() + request_.deadline;
    bool has_ended = false;
    while (!has_ended) {
      std::vector<pollfd> ends = {{child_.pidfd(), POLLIN, 0}, {reported_fd, POLLIN, 0}};
      const bool is_late = MillisecondsTo(deadline) == 0;
      RETURN_IF_ERROR(Turn(ends, deadline));
      has_ended = (ends[0].revents & POLLIN) != 0;
      if (!has_ended && (ends[1].revents & POLLIN) != 0) {
        return MakeStatus(
            StatusCode::kCancelled,
            fmt::format("{}: stopped because kgpu was told to stop{}", request_.argv[0], End()));
      }
      if (!has_ended && is_late) {
        return DeadlineExceeded("{}: did not finish within {} s{}", request_.argv[0],
                                static_cast<double>(request_.deadline.count()) / 1000, End());
      }
    }
    out_.Finish();
    err_.Finish();
    if (const auto exit = child_.TryReap(); exit) {
      result_.exit = *exit;
    }
    return OkStatus();
  }

  // Ends the program, with all that it started where it leads a session. For people: who is left.
  std::string End() {
    if (!request_.leads_session) {
      (void)child_.Kill();
      return "";
    }
    Session session(child_.pid());
    SignalUntilOver(session, SIGTERM, request_.grace);
    SignalUntilOver(session, SIGKILL, std::max(request_.grace, kKillWait));
    (void)child_.TryReap();
    return session.IsOver() ? "" : fmt::format("; still running: {}", session.Names());
  }

 private:
  void SignalUntilOver(Session& session, int signal, std::chrono::milliseconds wait) {
    const Deadline until = std::chrono::steady_clock::now() + wait;
    bool is_time = true;
    for (session.Look(); !session.IsOver() && is_time; session.Look()) {
      session.Signal(signal);
      std::vector<pollfd> ends = session.Ends();
      is_time = MillisecondsTo(until) > 0 && Turn(ends, until).ok();
    }
  }
  // Waits for one of `ends`, for what is printed, or until then.
  Status Turn(std::vector<pollfd>& ends, Deadline until) {
    const size_t count = ends.size();
    ends.push_back({out_.fd(), POLLIN, 0});
    ends.push_back({err_.fd(), POLLIN, 0});
    if (poll(ends.data(), ends.size(), MillisecondsTo(until)) < 0 && errno != EINTR) {
      return ErrnoStatus(errno, "wait for a program");
    }
    ends.resize(count);
    out_.Drain();
    err_.Drain();
    return OkStatus();
  }

  ChildProcess& child_;
  const RunRequest& request_;
  RunResult& result_;
  Stream out_;
  Stream err_;
};

// posix_spawn cannot change the root: the chroot program of our own file system does.
StatusOr<std::vector<std::string>> InRoot(const RunRequest& request) {
  if (request.root == "/") {
    return request.argv;
  }
  for (const char* chroot : {"/usr/sbin/chroot", "/usr/bin/chroot", "/sbin/chroot"}) {
    if (access(chroot, X_OK) == 0) {
      std::vector<std::string> argv{chroot, request.root};
      argv.insert(argv.end(), request.argv.begin(), request.argv.end());
      return argv;
    }
  }
  return NotFound("chroot: not found; it is needed to run {} of {}", request.argv[0], request.root);
}

}  // namespace

RunRequest RequestOf(const Root& host, std::vector<std::string> argv,
                     std::chrono::milliseconds deadline) {
  RunRequest request;
  request.argv = std::move(argv);
  request.root = host.path();
  request.deadline = deadline;
  return request;
}

std::string Describe(const ExitState& exit) {
  return exit.signal ? fmt::format("signal {}", *exit.signal)
                     : fmt::format("exit code {}", exit.code.value_or(-1));
}

std::string Describe(const RunResult& result) {
  const std::string how = Describe(result.exit);
  const std::string_view printed = Trim(Trim(result.err).empty() ? result.out : result.err);
  const std::string_view last = printed.substr(printed.rfind('\n') + 1);
  return last.empty() ? how : fmt::format("{}: {}", how, Printable(last, 400));
}

StatusOr<RunResult> RealRunner::Run(const RunRequest& request) {
  if (request.argv.empty()) {
    return InvalidArgument("run: no program given");
  }
  ASSIGN_OR_RETURN(Pipe out, MakeOutputPipe());
  ASSIGN_OR_RETURN(Pipe err, MakeOutputPipe());
  SpawnOptions options;
  ASSIGN_OR_RETURN(options.argv, InRoot(request));
  options.environment = request.environment;
  options.fds = {{out.write.get(), STDOUT_FILENO}, {err.write.get(), STDERR_FILENO}};
  options.leads_session = request.leads_session;
  std::optional<EndSignals> signals;
  if (request.leads_session) {
    signals.emplace();
  }
  ASSIGN_OR_RETURN(ChildProcess child, ChildProcess::Spawn(options));
  out.write.Reset();
  err.write.Reset();
  RunResult result;
  Collection collection(child, std::move(out.read), std::move(err.read), request, result);
  if (const Status noted = request.on_start ? request.on_start(child.pid()) : OkStatus();
      !noted.ok()) {
    (void)collection.End();
    return noted;
  }
  RETURN_IF_ERROR(collection.ToItsEnd(signals ? signals->fd() : -1));
  return result;
}

}  // namespace kgpu::sys
