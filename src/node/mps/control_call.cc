#include "src/node/mps/control_call.h"

#include <unistd.h>

#include <array>
#include <utility>

#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"
#include "src/platform/sys/pipe.h"
#include "src/platform/sys/read_fd.h"
#include "src/platform/sys/run.h"

namespace kgpu::mps {
namespace {

// For a killed program to vanish. One that hangs in the kernel is abandoned.
constexpr std::chrono::seconds kDeathLimit{2};

// What is in the pipe now: a program that the daemon has started may keep it open for ever.
std::string ReadAvailable(int fd) {
  constexpr size_t kMost = size_t{64} << 10;
  std::array<char, 4096> buffer{};
  std::string text;
  ssize_t size = 0;
  while (text.size() < kMost && (size = read(fd, buffer.data(), buffer.size())) > 0) {
    text.append(buffer.data(), static_cast<size_t>(size));
  }
  return text;
}

struct Dying {
  sys::ChildProcess child;
  WatchId watch = WatchId::kNone;
};

// A killed program ends a moment later, and stays as a zombie if nobody reaps it then.
void ReapLater(EventLoop& loop, sys::ChildProcess child) {
  if (child.pidfd() < 0 || child.TryReap()) {
    return;
  }
  (void)child.Kill();
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

ControlCall::ControlCall(EventLoop& loop, sys::ChildProcess child, UniqueFd output, Done done)
    : loop_(loop), child_(std::move(child)), output_(std::move(output)), done_(std::move(done)) {
}

ControlCall::~ControlCall() {
  loop_.CancelTimer(timer_);
  loop_.Unwatch(watch_);
  ReapLater(loop_, std::move(child_));
}

StatusOr<std::unique_ptr<ControlCall>> ControlCall::Start(EventLoop& loop,
                                                          const ControlCallOptions& options,
                                                          Done done) {
  if (options.commands.size() > kMostCommands) {
    return InvalidArgument("{} bytes of commands, but {} fit into a pipe", options.commands.size(),
                           kMostCommands);
  }
  ASSIGN_OR_RETURN(sys::Pipe input, sys::MakePipe());
  ASSIGN_OR_RETURN(sys::Pipe output, sys::MakeOutputPipe());
  RETURN_IF_ERROR(sys::WriteAll(input.write.get(), options.commands));
  ASSIGN_OR_RETURN(sys::ChildProcess child,
                   sys::ChildProcess::Spawn({.argv = options.argv,
                                             .environment = options.environment,
                                             .fds = {{input.read.get(), STDIN_FILENO},
                                                     {output.write.get(), STDOUT_FILENO},
                                                     {output.write.get(), STDERR_FILENO}}}));
  std::unique_ptr<ControlCall> call(
      new ControlCall(loop, std::move(child), std::move(output.read), std::move(done)));
  RETURN_IF_ERROR(call->Watch(options.deadline));
  return call;
}

Status ControlCall::Watch(std::chrono::milliseconds deadline) {
  ASSIGN_OR_RETURN(watch_, loop_.WatchReadable(child_.pidfd(), [this] { OnEnd(); }));
  timer_ = loop_.After(deadline, [this] { OnDeadline(); });
  return OkStatus();
}

void ControlCall::OnDeadline() {
  timer_ = TimerId::kNone;
  if (std::exchange(is_late_, true)) {
    Finish(DeadlineExceeded("the MPS control daemon does not answer"));
    return;
  }
  (void)child_.Kill();
  timer_ = loop_.After(kDeathLimit, [this] { OnDeadline(); });
}

void ControlCall::OnEnd() {
  const std::optional<sys::ExitState> exit = child_.TryReap();
  if (!exit) {
    return;
  }
  std::string text = ReadAvailable(output_.get());
  if (is_late_) {
    Finish(DeadlineExceeded("the MPS control daemon does not answer"));
  } else if (exit->code == 0) {
    Finish(std::move(text));
  } else {
    Finish(Unavailable("MPS' control program failed with {}: {}", sys::Describe(*exit),
                       Printable(Trim(text))));
  }
}

void ControlCall::Finish(StatusOr<std::string> result) {
  loop_.CancelTimer(std::exchange(timer_, TimerId::kNone));
  loop_.Unwatch(std::exchange(watch_, WatchId::kNone));
  const Done done = std::move(done_);
  done(std::move(result));  // `this` may be gone
}

}  // namespace kgpu::mps
