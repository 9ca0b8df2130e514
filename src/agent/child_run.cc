#include "src/agent/child_run.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "src/platform/base/log.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/sys/pipe.h"
#include "src/platform/sys/run.h"

namespace kgpu::agent {
namespace {

// After SIGKILL.
constexpr std::chrono::seconds kKillGrace{5};

}  // namespace

ChildRun::~ChildRun() {
  loop_.CancelTimer(timer_);
  Close(out_);
  Close(err_);
  loop_.Unwatch(exit_watch_);
  if (child_) {
    (void)child_->KillGroup();
  }
}

void ChildRun::Start(std::vector<std::string> argv, std::chrono::seconds deadline, Done done) {
  result_ = {};
  is_killed_ = false;
  done_ = std::move(done);
  if (const Status status = TryStart(std::move(argv), deadline); !status.ok()) {
    result_.problem = Message(status);
    if (child_ && exit_watch_ == WatchId::kNone) {
      (void)child_->KillGroup();
      child_.reset();
    }
    // From the loop, as always.
    timer_ = loop_.After(std::chrono::nanoseconds(0), [this] { Finish(); });
  }
}

Status ChildRun::TryStart(std::vector<std::string> argv, std::chrono::seconds deadline) {
  if (child_) {
    return Unavailable("process {} of an earlier run is stuck in the kernel", child_->pid());
  }
  ASSIGN_OR_RETURN(sys::Pipe out, sys::MakeOutputPipe());
  ASSIGN_OR_RETURN(sys::Pipe err, sys::MakeOutputPipe());
  sys::SpawnOptions options;
  options.argv = std::move(argv);
  options.environment = sys::RunRequest().environment;
  options.fds = {{out.write.get(), STDOUT_FILENO}, {err.write.get(), STDERR_FILENO}};
  options.leads_group = true;
  ASSIGN_OR_RETURN(sys::ChildProcess child, sys::ChildProcess::Spawn(options));
  child_.emplace(std::move(child));
  out_.fd = std::move(out.read);
  err_.fd = std::move(err.read);
  RETURN_IF_ERROR(Watch(out_, result_.out));
  RETURN_IF_ERROR(Watch(err_, result_.err));
  ASSIGN_OR_RETURN(exit_watch_, loop_.WatchReadable(child_->pidfd(), [this] { OnExit(); }));
  timer_ = loop_.After(deadline, [this] { OnDeadline(); });
  return OkStatus();
}

Status ChildRun::Watch(Stream& stream, std::string& text) {
  ASSIGN_OR_RETURN(stream.watch, loop_.WatchReadable(stream.fd.get(), [this, &stream, &text] {
    Read(stream, text);
  }));
  return OkStatus();
}

void ChildRun::Read(Stream& stream, std::string& text) {
  std::array<char, 4096> buffer{};
  while (true) {
    const ssize_t got = read(stream.fd.get(), buffer.data(), buffer.size());
    if (got > 0) {
      text.append(buffer.data(),
                  std::min(static_cast<size_t>(got),
                           kMaxChildOutput - std::min(text.size(), kMaxChildOutput)));
    } else if (got == 0 || (errno != EINTR && errno != EAGAIN)) {
      return Close(stream);
    } else if (errno == EAGAIN) {
      return;
    }
  }
}

void ChildRun::Close(Stream& stream) {
  loop_.Unwatch(std::exchange(stream.watch, WatchId::kNone));
  stream.fd.Reset();
}

void ChildRun::OnExit() {
  if (!child_) {
    return;
  }
  // What it started may be left in its group, and its number is free once it is reaped.
  (void)child_->KillGroup();
  const std::optional<sys::ExitState> exit = child_->TryReap();
  if (!exit) {
    return;
  }
  loop_.Unwatch(std::exchange(exit_watch_, WatchId::kNone));
  child_.reset();
  if (done_ == nullptr) {
    KGPU_LOG(kInfo, "process that was stuck in the kernel has ended");
    return;
  }
  for (Stream* stream : {&out_, &err_}) {
    if (stream->fd.is_valid()) {
      Read(*stream, stream == &out_ ? result_.out : result_.err);
    }
  }
  if (!is_killed_) {
    result_.code = exit->code;
    result_.problem = exit->signal ? fmt::format("ended by signal {}", *exit->signal) : "";
  }
  Finish();
}

void ChildRun::OnDeadline() {
  timer_ = TimerId::kNone;
  if (!child_) {
    return;
  }
  if (!is_killed_) {
    is_killed_ = true;
    result_.problem = "did not end in time and was killed";
    (void)child_->KillGroup();
    timer_ = loop_.After(kKillGrace, [this] { OnDeadline(); });
    return;
  }
  result_.problem = fmt::format(
      "process {} survives SIGKILL: it is stuck in the kernel: reboot "
      "the host",
      child_->pid());
  Finish();
}

void ChildRun::Finish() {
  loop_.CancelTimer(std::exchange(timer_, TimerId::kNone));
  Close(out_);
  Close(err_);
  const ChildResult result = std::move(result_);
  std::exchange(done_, nullptr)(result);
}

}  // namespace kgpu::agent
