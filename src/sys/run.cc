#include "src/sys/run.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string_view>
#include <utility>

#include "src/base/status_macros.h"
#include "src/base/strings.h"

namespace kgpu::sys {
namespace {

using Deadline = std::chrono::steady_clock::time_point;

struct Pipe {
  UniqueFd read;
  UniqueFd write;
};

StatusOr<Pipe> MakePipe() {
  std::array<int, 2> ends{-1, -1};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) {
    return ErrnoStatus(errno, "make a pipe");
  }
  Pipe made{UniqueFd(ends[0]), UniqueFd(ends[1])};
  // Only our end: a program may not expect a standard output that does not block.
  if (fcntl(made.read.get(), F_SETFL, O_NONBLOCK) != 0) {
    return ErrnoStatus(errno, "make a pipe");
  }
  return made;
}

constexpr size_t kLongestLine = 4096;

// One of the program's streams: what it says is kept up to a limit, and told line by line.
class Stream {
 public:
  Stream(UniqueFd fd, std::string& text, const RunRequest& request)
      : fd_(std::move(fd)), text_(text), request_(request) {}

  int fd() const { return fd_.get(); }

  // Takes what lies in the pipe, but not for ever: one who prints without end has a deadline too.
  // Closes the pipe at its end.
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

// Until the program has ended and what it printed is read. A child of its own that keeps the pipes
// open does not keep us.
Status Collect(ChildProcess& child, UniqueFd out_fd, UniqueFd err_fd, const RunRequest& request,
               RunResult& result) {
  Stream out(std::move(out_fd), result.out, request);
  Stream err(std::move(err_fd), result.err, request);
  const Deadline deadline = std::chrono::steady_clock::now() + request.deadline;
  bool has_ended = false;
  while (!has_ended) {
    std::array<pollfd, 3> waits{pollfd{child.pidfd(), POLLIN, 0}, pollfd{out.fd(), POLLIN, 0},
                                pollfd{err.fd(), POLLIN, 0}};
    const int left = MillisecondsTo(deadline);
    if (poll(waits.data(), waits.size(), left) < 0 && errno != EINTR) {
      return ErrnoStatus(errno, "wait for a program");
    }
    has_ended = (waits[0].revents & POLLIN) != 0;
    out.Drain();
    err.Drain();
    if (!has_ended && left == 0) {
      RETURN_IF_ERROR(child.Kill());
      return DeadlineExceeded("{}: did not end within {} s", request.argv[0],
                              static_cast<double>(request.deadline.count()) / 1000);
    }
  }
  out.Finish();
  err.Finish();
  if (const auto exit = child.TryReap(); exit) {
    result.exit = *exit;
  }
  return OkStatus();
}

// posix_spawn can not change the root: the chroot program of our own file system does.
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
  return NotFound("chroot: no such program here; it is needed to run {} of {}", request.argv[0],
                  request.root);
}

}  // namespace

std::string Describe(const RunResult& result) {
  const std::string how = result.exit.signal
                              ? fmt::format("signal {}", *result.exit.signal)
                              : fmt::format("exit code {}", result.exit.code.value_or(-1));
  const std::string_view printed = Trim(Trim(result.err).empty() ? result.out : result.err);
  const std::string_view last = printed.substr(printed.rfind('\n') + 1);
  return last.empty() ? how : fmt::format("{}: {}", how, Printable(last, 400));
}

StatusOr<RunResult> RealRunner::Run(const RunRequest& request) {
  if (request.argv.empty()) {
    return InvalidArgument("run: no program given");
  }
  ASSIGN_OR_RETURN(Pipe out, MakePipe());
  ASSIGN_OR_RETURN(Pipe err, MakePipe());
  SpawnOptions options;
  ASSIGN_OR_RETURN(options.argv, InRoot(request));
  options.environment = request.environment;
  options.fds = {{out.write.get(), STDOUT_FILENO}, {err.write.get(), STDERR_FILENO}};
  ASSIGN_OR_RETURN(ChildProcess child, ChildProcess::Spawn(options));
  out.write.Reset();
  err.write.Reset();
  RunResult result;
  RETURN_IF_ERROR(Collect(child, std::move(out.read), std::move(err.read), request, result));
  return result;
}

}  // namespace kgpu::sys
