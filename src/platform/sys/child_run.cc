#include "src/platform/sys/child_run.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <utility>

#include "src/platform/base/status_macros.h"
#include "src/platform/sys/pipe.h"
#include "src/platform/sys/read_fd.h"

namespace kgpu::sys {
namespace {

struct Dying {
  ChildProcess child;
  WatchId watch = WatchId::kNone;
};

// A killed program ends a moment later, and stays as a zombie if nobody reaps it then.
void ReapLater(EventLoop& loop, ChildProcess child) {
  if (child.TryReap()) {
    return;
  }
  const auto dying = std::make_shared<Dying>(Dying{.child = std::move(child)});
  const auto watch = loop.WatchReadable(dying->child.pidfd(), [&loop, dying] {
    if (dying->child.TryReap()) {
      // This may destroy the task and what it holds: nothing may follow.
      loop.Unwatch(std::exchange(dying->watch, WatchId::kNone));
    }
  });
  dying->watch = watch.value_or(WatchId::kNone);
}

}  // namespace

// One of the program's streams.
class ChildRun::Output {
 public:
  Output(ChildRun& run, UniqueFd fd, std::string& text)
      : run_(run), fd_(std::move(fd)), text_(text) {}
  ~Output() { Close(); }
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;

  Status Watch() {
    ASSIGN_OR_RETURN(watch_, run_.loop_.WatchReadable(fd_.get(), [this] { Drain(); }));
    return OkStatus();
  }

  // Takes what is in the pipe, but not for ever: a program that prints without end must not keep
  // the loop from its deadline.
  void Drain() {
    std::array<char, 16384> bytes;  // NOLINT(cppcoreguidelines-init-variables): read fills it
    for (int turn = 0; turn < 16 && fd_.is_valid(); ++turn) {  // a pipe holds four of them
      const ssize_t got = read(fd_.get(), bytes.data(), bytes.size());
      if (got > 0) {
        const size_t room = run_.request_.output_limit - text_.size();
        text_.append(bytes.data(), std::min(room, static_cast<size_t>(got)));
        if (static_cast<size_t>(got) > room && run_.request_.over_limit == OverLimit::kKill) {
          run_.End(OutOfRange("{}: printed more than {} bytes", run_.request_.argv[0],
                              run_.request_.output_limit));
        }
      } else if (got == 0 || (errno != EAGAIN && errno != EINTR)) {
        Close();
      } else if (errno == EAGAIN) {
        return;
      }
    }
  }

 private:
  void Close() {
    run_.loop_.Unwatch(std::exchange(watch_, WatchId::kNone));
    fd_.Reset();
  }

  ChildRun& run_;
  UniqueFd fd_;
  WatchId watch_ = WatchId::kNone;
  std::string& text_;
};

ChildRun::ChildRun(EventLoop& loop, ChildRunRequest request, Done done)
    : loop_(loop), request_(std::move(request)), done_(std::move(done)), timer_(loop) {
}

ChildRun::~ChildRun() {
  loop_.Unwatch(end_watch_);
  if (child_) {
    Kill();
    ReapLater(loop_, std::move(*child_));
  }
}

StatusOr<std::unique_ptr<ChildRun>> ChildRun::Start(EventLoop& loop, ChildRunRequest request,
                                                    Done done) {
  if (request.argv.empty()) {
    return InvalidArgument("run: no program given");
  }
  if (request.input.size() > kMostInput) {
    return InvalidArgument("{}: {} bytes of input, but {} fit into a pipe", request.argv[0],
                           request.input.size(), kMostInput);
  }
  std::unique_ptr<ChildRun> run(new ChildRun(loop, std::move(request), std::move(done)));
  RETURN_IF_ERROR(run->TryStart());
  return run;
}

Status ChildRun::TryStart() {
  ASSIGN_OR_RETURN(Pipe out, MakeOutputPipe());
  SpawnOptions options{.argv = request_.argv,
                       .environment = request_.environment,
                       .fds = {{out.write.get(), STDOUT_FILENO}},
                       .leads_group = request_.kills != KillScope::kProgram};
  Pipe in;
  if (!request_.input.empty()) {
    ASSIGN_OR_RETURN(in, MakePipe());
    // A user with many pipes gets smaller ones.
    RETURN_IF_ERROR(SetNonBlocking(in.write.get()));
    RETURN_IF_ERROR(Annotate(WriteAll(in.write.get(), request_.input), "input of a program"));
    options.fds.emplace_back(in.read.get(), STDIN_FILENO);
  }
  Pipe err;
  if (request_.errors == ErrorsTo::kErr) {
    ASSIGN_OR_RETURN(err, MakeOutputPipe());
    options.fds.emplace_back(err.write.get(), STDERR_FILENO);
    outputs_[1] = std::make_unique<Output>(*this, std::move(err.read), end_.result.err);
  } else if (request_.errors == ErrorsTo::kOut) {
    options.fds.emplace_back(out.write.get(), STDERR_FILENO);
  }
  outputs_[0] = std::make_unique<Output>(*this, std::move(out.read), end_.result.out);
  ASSIGN_OR_RETURN(ChildProcess child, ChildProcess::Spawn(options));
  pid_ = child.pid();
  child_ = std::make_unique<ChildProcess>(std::move(child));
  return Watch();
}

Status ChildRun::Watch() {
  ASSIGN_OR_RETURN(end_watch_, loop_.WatchReadable(child_->pidfd(), [this] { OnEnd(); }));
  for (const auto& output : outputs_) {
    if (output) {
      RETURN_IF_ERROR(output->Watch());
    }
  }
  timer_.Arm(request_.deadline, [this] {
    End(DeadlineExceeded("{}: did not finish within {} s", request_.argv[0],
                         std::chrono::duration<double>(request_.deadline).count()));
  });
  return OkStatus();
}

void ChildRun::Kill() {
  (void)(request_.kills == KillScope::kProgram ? child_->Kill() : child_->KillGroup());
}

void ChildRun::End(Status reason) {
  if (!child_ || !killed_for_.ok()) {
    return;
  }
  killed_for_ = std::move(reason);
  Kill();
  timer_.Arm(request_.grace, [this] {
    Finish(MakeStatus(
        killed_for_.code(),
        fmt::format("{}; process {} survives SIGKILL: it is stuck in the kernel: reboot the host",
                    Message(killed_for_), pid_)));
  });
}

void ChildRun::OnEnd() {
  if (request_.kills == KillScope::kLeftovers) {
    // Before the program is reaped: then the number of its group is free.
    Kill();
  }
  const std::optional<ExitState> exit = child_->TryReap();
  if (!exit) {
    return;
  }
  loop_.Unwatch(std::exchange(end_watch_, WatchId::kNone));
  child_.reset();
  if (!done_) {
    return;
  }
  for (const auto& output : outputs_) {
    if (output) {
      output->Drain();
    }
  }
  if (killed_for_.ok()) {
    end_.result.exit = *exit;
  }
  Finish(killed_for_);
}

void ChildRun::Finish(Status status) {
  timer_.Cancel();
  outputs_ = {};
  end_.status = std::move(status);
  const Done done = std::exchange(done_, nullptr);
  done(std::move(end_));  // `this` may be gone
}

}  // namespace kgpu::sys
