#include "src/functions/provider/programs.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "src/platform/base/status_macros.h"
#include "src/platform/base/unique_fd.h"
#include "src/platform/sys/child_process.h"
#include "src/platform/sys/pipe.h"

namespace kgpu::functions {
namespace {

constexpr size_t kOutputLimit = size_t{4} << 20;

// False at the end of the output.
bool ReadSome(int fd, std::string& text) {
  std::array<char, size_t{16} << 10> bytes;  // NOLINT(cppcoreguidelines-init-variables): read fills
  for (;;) {
    const ssize_t count = read(fd, bytes.data(), bytes.size());
    if (count > 0) {
      const size_t room = kOutputLimit - std::min(kOutputLimit, text.size());
      text.append(bytes.data(), std::min(room, static_cast<size_t>(count)));
      continue;
    }
    if (count < 0 && errno == EINTR) {
      continue;
    }
    return count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
  }
}

}  // namespace

// One program. Its end is that of its process, not of its output: what it leaves behind, a
// container's monitor, may hold the pipes.
class ChildPrograms::Running {
 public:
  using Ended = std::function<void(StatusOr<sys::RunResult>)>;

  static StatusOr<std::unique_ptr<Running>> Start(EventLoop& loop, const ProgramRequest& request,
                                                  const std::vector<std::string>& environment,
                                                  Ended ended) {
    ASSIGN_OR_RETURN(sys::Pipe out, sys::MakeOutputPipe());
    ASSIGN_OR_RETURN(sys::Pipe err, sys::MakeOutputPipe());
    ASSIGN_OR_RETURN(sys::ChildProcess child,
                     sys::ChildProcess::Spawn({.argv = request.argv,
                                               .environment = environment,
                                               .fds = {{out.write.get(), 1}, {err.write.get(), 2}},
                                               .leads_group = true}));
    std::unique_ptr<Running> running(new Running(loop, std::move(child), std::move(out.read),
                                                 std::move(err.read), std::move(ended)));
    RETURN_IF_ERROR(running->Watch(request));
    return running;
  }

  ~Running() {
    loop_.CancelTimer(deadline_);
    for (const WatchId watch : watches_) {
      loop_.Unwatch(watch);
    }
  }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;

 private:
  Running(EventLoop& loop, sys::ChildProcess child, UniqueFd out, UniqueFd err, Ended ended)
      : loop_(loop),
        child_(std::move(child)),
        out_(std::move(out)),
        err_(std::move(err)),
        ended_(std::move(ended)) {}

  Status Watch(const ProgramRequest& request) {
    ASSIGN_OR_RETURN(const WatchId end,
                     loop_.WatchReadable(child_.pidfd(), [this] { OnProcessEnd(); }));
    watches_[0] = end;
    ASSIGN_OR_RETURN(const WatchId out,
                     loop_.WatchReadable(out_.get(), [this] { OnOutput(1, out_, result_.out); }));
    watches_[1] = out;
    ASSIGN_OR_RETURN(const WatchId err,
                     loop_.WatchReadable(err_.get(), [this] { OnOutput(2, err_, result_.err); }));
    watches_[2] = err;
    name_ = request.argv.front();
    deadline_ = loop_.After(request.limit, [this, limit = request.limit] { OnDeadline(limit); });
    return OkStatus();
  }

  void OnOutput(size_t watch, const UniqueFd& fd, std::string& text) {
    if (!ReadSome(fd.get(), text)) {
      loop_.Unwatch(std::exchange(watches_.at(watch), WatchId::kNone));
    }
  }

  void OnDeadline(std::chrono::milliseconds limit) {
    (void)child_.KillGroup();
    expired_ = DeadlineExceeded("{}: took longer than {} ms, and was killed", name_, limit.count());
  }

  void OnProcessEnd() {
    const std::optional<sys::ExitState> exit = child_.TryReap();
    if (!exit) {
      return;
    }
    (void)ReadSome(out_.get(), result_.out);
    (void)ReadSome(err_.get(), result_.err);
    result_.exit = *exit;
    // Destroys this.
    const Ended ended = std::move(ended_);
    ended(expired_.ok() ? StatusOr<sys::RunResult>(std::move(result_)) : expired_);
  }

  EventLoop& loop_;
  sys::ChildProcess child_;
  UniqueFd out_;
  UniqueFd err_;
  Ended ended_;
  std::string name_;
  std::array<WatchId, 3> watches_ = {WatchId::kNone, WatchId::kNone, WatchId::kNone};
  TimerId deadline_ = TimerId::kNone;
  sys::RunResult result_;
  Status expired_;
};

ChildPrograms::ChildPrograms(EventLoop& loop, std::vector<std::string> environment,
                             size_t at_a_time)
    : loop_(loop),
      environment_(std::move(environment)),
      at_a_time_(at_a_time),
      is_alive_(std::make_shared<bool>(true)) {
}

ChildPrograms::~ChildPrograms() = default;

void ChildPrograms::Start(ProgramRequest request, Done done) {
  waiting_.push_back({std::move(request), std::move(done)});
  loop_.Post([this, is_alive = std::weak_ptr<bool>(is_alive_)] {
    if (!is_alive.expired()) {
      StartNext();
    }
  });
}

void ChildPrograms::StartNext() {
  while (running_.size() < at_a_time_ && !waiting_.empty()) {
    Waiting next = std::move(waiting_.front());
    waiting_.pop_front();
    // The address of what runs is known only afterwards.
    auto self = std::make_shared<const Running*>(nullptr);
    StatusOr<std::unique_ptr<Running>> running =
        Running::Start(loop_, next.request, environment_,
                       [this, self, done = next.done](StatusOr<sys::RunResult> result) {
                         OnEnd(*self, done, std::move(result));
                       });
    if (!running.ok()) {
      next.done(running.status());
      continue;
    }
    *self = running->get();
    running_.push_back(*std::move(running));
  }
}

void ChildPrograms::OnEnd(const Running* running, const Done& done,
                          StatusOr<sys::RunResult> result) {
  std::erase_if(running_, [&](const auto& owned) { return owned.get() == running; });
  const std::weak_ptr<bool> is_alive = is_alive_;
  done(std::move(result));
  if (!is_alive.expired()) {
    StartNext();
  }
}

}  // namespace kgpu::functions
