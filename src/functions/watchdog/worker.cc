#include "src/functions/watchdog/worker.h"

#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <utility>

#include "src/platform/base/log.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/sys/pipe.h"
#include "src/platform/sys/run.h"

namespace kgpu::watchdog {
namespace {

constexpr int kWorkerInput = 3;
constexpr int kWorkerOutput = 4;
// Above the numbers that a worker uses, so that placing one descriptor never closes another.
constexpr int kFirstOwnFd = 10;
// The largest that the kernel grants without privileges: fewer turns for large bodies.
constexpr int kPipeSize = 1 << 20;
constexpr size_t kReadSize = size_t{256} << 10;
// Bodies up to this size are copied into the batch; larger ones are queued as they are.
constexpr size_t kSmallBody = size_t{32} << 10;
// Empties any pipe that nobody fills.
constexpr int kMaxLastReads = 256;
// A process that has closed its pipe is about to end. One that is not would never be noticed.
constexpr std::chrono::milliseconds kEndTime{1000};

StatusOr<UniqueFd> MoveUp(int fd) {
  UniqueFd moved(fcntl(fd, F_DUPFD_CLOEXEC, kFirstOwnFd));
  if (!moved.is_valid()) {
    return ErrnoStatus(errno, "duplicate a pipe's descriptor");
  }
  return moved;
}

StatusOr<sys::Pipe> MakeLargePipe() {
  ASSIGN_OR_RETURN(const sys::Pipe low, sys::MakePipe());
  (void)fcntl(low.write.get(), F_SETPIPE_SZ, kPipeSize);  // else it works with the default size
  sys::Pipe pipe;
  ASSIGN_OR_RETURN(pipe.read, MoveUp(low.read.get()));
  ASSIGN_OR_RETURN(pipe.write, MoveUp(low.write.get()));
  return pipe;
}

}  // namespace

StatusOr<std::unique_ptr<Worker>> Worker::Spawn(EventLoop& loop, const WorkerProgram& program,
                                                WorkerHandlers handlers) {
  ASSIGN_OR_RETURN(sys::Pipe input, MakeLargePipe());
  ASSIGN_OR_RETURN(sys::Pipe output, MakeLargePipe());
  // Our ends only.
  RETURN_IF_ERROR(sys::SetNonBlocking(input.write.get()));
  RETURN_IF_ERROR(sys::SetNonBlocking(output.read.get()));
  StatusOr<sys::ChildProcess> process =
      sys::ChildProcess::Spawn({.argv = program.argv,
                                .environment = program.environment,
                                .fds = {{STDOUT_FILENO, STDOUT_FILENO},
                                        {STDERR_FILENO, STDERR_FILENO},
                                        {input.read.get(), kWorkerInput},
                                        {output.write.get(), kWorkerOutput}},
                                .leads_group = true});
  RETURN_IF_ERROR(process.status());
  std::unique_ptr<Worker> worker(new Worker(loop, *std::move(process), std::move(input.write),
                                            std::move(output.read), std::move(handlers)));
  RETURN_IF_ERROR(worker->Watch());
  return worker;
}

Worker::Worker(EventLoop& loop, sys::ChildProcess process, UniqueFd input, UniqueFd output,
               WorkerHandlers handlers)
    : loop_(loop),
      process_(std::move(process)),
      input_(std::move(input)),
      output_(std::move(output)),
      handlers_(std::move(handlers)),
      end_timer_(loop) {
}

Worker::~Worker() {
  loop_.Unwatch(readable_);
  loop_.Unwatch(writable_);
  loop_.Unwatch(ended_);
  (void)process_.KillGroup();
}

Status Worker::Watch() {
  ASSIGN_OR_RETURN(readable_, loop_.WatchReadable(output_.get(), [this] { OnReadable(); }));
  ASSIGN_OR_RETURN(ended_, loop_.WatchReadable(process_.pidfd(), [this] { OnProcessEnd(); }));
  return OkStatus();
}

void Worker::Send(FrameType type, uint32_t call, std::string_view payload) {
  if (input_.is_valid()) {
    AppendFrame(batch_, type, call, payload);
    PostFlush();
  }
}

void Worker::SendCall(uint32_t call, std::string_view text, std::string body) {
  if (!input_.is_valid()) {
    return;
  }
  AppendFrame(batch_, FrameType::kCall, call, text);
  if (body.size() > kSmallBody && body.size() <= kMaxPayload) {
    AppendFrameHead(batch_, FrameType::kData, call, body.size());
    queue_.Append(std::exchange(batch_, {}));
    queue_.Append(std::move(body));
  } else {
    for (std::string_view rest = body; !rest.empty();) {
      const std::string_view piece = rest.substr(0, kMaxPayload);
      AppendFrame(batch_, FrameType::kData, call, piece);
      rest.remove_prefix(piece.size());
    }
  }
  AppendFrame(batch_, FrameType::kEnd, call, "");
  PostFlush();
}

void Worker::PostFlush() {
  if (std::exchange(is_flush_posted_, true)) {
    return;
  }
  loop_.Post(lifetime_.Bind([this] {
    is_flush_posted_ = false;
    Flush();
  }));
}

void Worker::Flush() {
  queue_.Append(std::exchange(batch_, {}));
  if (!input_.is_valid() || writable_ != WatchId::kNone || WriteQueued()) {
    return;
  }
  StatusOr<WatchId> watch = loop_.WatchWritable(input_.get(), [this] {
    if (WriteQueued()) {
      loop_.Unwatch(std::exchange(writable_, WatchId::kNone));
    }
  });
  if (watch.ok()) {
    writable_ = *watch;
  } else {
    Kill();
  }
}

// True: nothing is left to write.
bool Worker::WriteQueued() {
  while (!queue_.empty()) {
    std::array<iovec, http::OutputQueue::kMaxPieces> pieces{};
    const auto pieces_count = static_cast<int>(queue_.Fill(pieces));
    const ssize_t count = writev(input_.get(), pieces.data(), pieces_count);
    if (count >= 0) {
      queue_.Consume(static_cast<size_t>(count));
    } else if (errno == EAGAIN) {
      return false;
    } else if (errno != EINTR) {
      StopWriting();  // it reads no more: its end is near, and tells the rest
      return true;
    }
  }
  return true;
}

void Worker::StopWriting() {
  loop_.Unwatch(std::exchange(writable_, WatchId::kNone));
  queue_ = http::OutputQueue();
  batch_.clear();
  input_.Reset();
}

void Worker::SetPaused(bool is_paused) {
  if (is_paused == is_paused_ || !output_.is_valid() || is_nonsense_) {
    return;
  }
  is_paused_ = is_paused;
  if (is_paused) {
    loop_.Unwatch(std::exchange(readable_, WatchId::kNone));
    return;
  }
  const StatusOr<WatchId> watch = loop_.WatchReadable(output_.get(), [this] { OnReadable(); });
  if (watch.ok()) {
    readable_ = *watch;
  } else {
    Kill();
  }
}

void Worker::Kill() {
  if (const Status killed = process_.KillGroup(); !killed.ok()) {
    KGPU_LOG(kWarning, "worker not killed", {"reason", Message(killed)});
  }
}

void Worker::OnReadable() {
  (void)ReadOnce();
}

bool Worker::ReadOnce() {
  const std::span<char> room = decoder_.Room(kReadSize);
  const ssize_t count = read(output_.get(), room.data(), room.size());
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) {
    return false;
  }
  if (count <= 0) {
    OnPipeEnd();
    return false;
  }
  decoder_.Commit(static_cast<size_t>(count));
  PassFrames();
  return !is_nonsense_;
}

void Worker::PassFrames() {
  while (true) {
    const StatusOr<std::optional<Frame>> next = decoder_.Next();
    if (!next.ok()) {
      is_nonsense_ = true;
      loop_.Unwatch(std::exchange(readable_, WatchId::kNone));
      handlers_.on_nonsense(Message(next.status()));
      return;
    }
    const std::optional<Frame>& frame = *next;
    if (!frame) {
      return handlers_.on_batch();
    }
    handlers_.on_frame(*frame);
  }
}

void Worker::OnPipeEnd() {
  loop_.Unwatch(std::exchange(readable_, WatchId::kNone));
  output_.Reset();
  end_timer_.Arm(kEndTime, [this] { Kill(); });
}

void Worker::OnProcessEnd() {
  loop_.Unwatch(std::exchange(ended_, WatchId::kNone));
  // It may have answered before it ended. What it started and left behind may hold the pipe open,
  // and must not delay the end.
  for (int i = 0; i < kMaxLastReads && output_.is_valid() && !is_nonsense_ && ReadOnce(); ++i) {
  }
  loop_.Unwatch(std::exchange(readable_, WatchId::kNone));
  StopWriting();
  (void)process_.KillGroup();  // before it is reaped: its number is still its own
  const std::optional<sys::ExitState> exit = process_.TryReap();
  const std::string why = exit ? sys::Describe(*exit) : "it was reaped by another process";
  // The handler destroys us, and with us itself.
  const std::function<void(std::string_view)> on_exit = handlers_.on_exit;
  on_exit(why);
}

}  // namespace kgpu::watchdog
