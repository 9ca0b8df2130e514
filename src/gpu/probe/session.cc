#include "src/gpu/probe/session.h"

#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "src/platform/base/status_macros.h"
#include "src/platform/sys/pipe.h"

namespace kgpu::probe {
namespace {

// Requests in the socket's buffer at a time: enough to keep the probe busy, few enough never to
// fill the buffer.
constexpr size_t kWindow = 16;
// The descriptor under which the probe finds its socket.
constexpr int kProbeFd = 3;
// Frames read per wake-up, so that a flood of them does not starve the loop.
constexpr int kFramesPerTurn = 64;

std::string_view OpName(Op op) {
  // By the number of the request.
  static constexpr std::array<std::string_view, kLastOp + 1> kNames = {
      "request",
      "ping",
      "nvmlInit",
      "reading the driver's version",
      "reading a GPU",
      "reading a MIG device",
      "reading NVLinks",
      "reading the topology",
      "registering for events",
      "registering for events",
      "nvmlShutdown",
      "reading GPU metrics",
      "reading NVLink metrics",
      "listing a GPU's processes",
      "reading MIG device metrics",
      "reading MIG profiles",
      "reading MIG instances",
      "changing the MIG mode",
      "creating a GPU instance",
      "destroying a GPU instance",
      "creating a compute instance",
      "destroying a compute instance",
      "leaving a GPU out"};
  return kNames.at(static_cast<size_t>(op));
}

StatusOr<std::pair<UniqueFd, UniqueFd>> SocketPair() {
  std::array<int, 2> fds{};
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds.data()) != 0) {
    return ErrnoStatus(errno, "create a socketpair");
  }
  return std::pair{UniqueFd(fds[0]), UniqueFd(fds[1])};
}

std::string ExitText(const sys::ExitState& state) {
  if (state.signal) {
    const char* name = sigdescr_np(*state.signal);
    return fmt::format("kgpu-probe was killed by signal {} ({})", *state.signal,
                       name == nullptr ? "unknown" : name);
  }
  return fmt::format("kgpu-probe exited with code {}", state.code.value_or(-1));
}

// exec answers ENOENT for a program that is there when the loader it names is not.
Status ExplainSpawnError(const Status& error, const std::string& program) {
  if (error.code() == StatusCode::kNotFound && access(program.c_str(), F_OK) == 0) {
    return FailedPrecondition(
        "{} cannot run here because its dynamic loader is missing: CUDA and NVML need glibc: use "
        "an image based on Debian, Ubuntu, RHEL or SUSE, not on musl (Alpine)",
        program);
  }
  return error;
}

}  // namespace

StatusOr<std::unique_ptr<Session>> Session::Start(EventLoop& loop, const SessionOptions& options,
                                                  Listener listener) {
  ASSIGN_OR_RETURN(auto sockets, SocketPair());
  ASSIGN_OR_RETURN(sys::Pipe errors, sys::MakeOutputPipe());
  sys::SpawnOptions spawn;
  spawn.argv = {options.program, "--nvml-library", options.library, "--fd",
                fmt::format("{}", kProbeFd)};
  spawn.environment = options.environment;
  spawn.fds = {{errors.write.get(), STDERR_FILENO}, {sockets.second.get(), kProbeFd}};
  spawn.leads_group = true;  // what NVIDIA's library starts ends with the probe
  auto child = sys::ChildProcess::Spawn(spawn);
  if (!child.ok()) {
    return ExplainSpawnError(child.status(), options.program);
  }
  std::unique_ptr<Session> session(new Session(loop, options, std::move(listener),
                                               std::move(sockets.first), std::move(errors.read),
                                               *std::move(child)));
  RETURN_IF_ERROR(session->Watch(options.start_deadline));
  return session;
}

Session::Session(EventLoop& loop, const SessionOptions& options, Listener listener, UniqueFd socket,
                 UniqueFd errors, sys::ChildProcess child)
    : loop_(loop),
      kill_grace_(options.kill_grace),
      listener_(std::move(listener)),
      socket_(std::move(socket)),
      child_(std::move(child)),
      errors_(loop, std::move(errors)) {
}

Session::~Session() {
  loop_.Unwatch(socket_watch_);
  loop_.Unwatch(exit_watch_);
  (void)child_.KillGroup();
}

Status Session::Watch(std::chrono::milliseconds start_deadline) {
  ASSIGN_OR_RETURN(socket_watch_, loop_.WatchReadable(socket_.get(), [this] { OnReadable(); }));
  ASSIGN_OR_RETURN(exit_watch_, loop_.WatchReadable(child_.pidfd(), [this] { OnExit(); }));
  RETURN_IF_ERROR(errors_.Watch());
  deadline_ = loop_.clock().Now() + start_deadline;
  ArmDeadline();
  return OkStatus();
}

void Session::Call(Op op, uint32_t gpu, uint32_t index, std::chrono::milliseconds deadline,
                   ReplyTask done) {
  if (state_ != SessionState::kRunning) {
    return;
  }
  RequestFrame frame{};
  frame.header = {.magic = kMagic,
                  .version = kProtocolVersion,
                  .kind = static_cast<uint16_t>(FrameKind::kRequest),
                  .size = sizeof(frame),
                  .id = next_id_++};
  frame.op = static_cast<uint32_t>(op);
  frame.gpu = gpu;
  frame.index = index;
  queue_.push_back({.frame = frame, .deadline = deadline, .done = std::move(done)});
  if (queue_.size() == 1) {
    deadline_ = loop_.clock().Now() + deadline;
    ArmDeadline();
  }
  SendWindow();
}

void Session::SendWindow() {
  while (state_ == SessionState::kRunning && sent_ < queue_.size() && sent_ < kWindow) {
    const RequestFrame& frame = queue_[sent_].frame;
    if (send(socket_.get(), &frame, sizeof(frame), MSG_NOSIGNAL | MSG_DONTWAIT) < 0) {
      // A probe that died is noticed by its pidfd; a full buffer is tried again with the next
      // reply.
      return;
    }
    ++sent_;
  }
}

void Session::OnReadable() {
  alignas(8) std::array<std::byte, kMaxFrameSize + 1> buffer{};
  for (int i = 0; i < kFramesPerTurn; ++i) {
    if (state_ != SessionState::kStarting && state_ != SessionState::kRunning) {
      return;
    }
    const ssize_t size = recv(socket_.get(), buffer.data(), buffer.size(), MSG_DONTWAIT);
    if (size < 0 && (errno == EAGAIN || errno == EINTR)) {
      return;
    }
    if (size <= 0) {
      return OnEndOfStream();
    }
    const auto frame = DecodeFrame(std::span(buffer).first(static_cast<size_t>(size)));
    if (!frame.ok()) {
      return End(EndCause::kProtocol, std::string(Message(frame.status())));
    }
    Handle(*frame);
  }
}

// The socket closes a moment before the process has ended: its exit state says more.
void Session::OnEndOfStream() {
  loop_.Unwatch(std::exchange(socket_watch_, WatchId::kNone));
  is_stream_over_ = true;
  deadline_ = loop_.clock().Now() + kill_grace_;
  ArmDeadline();
}

void Session::OnExit() {
  (void)child_.KillGroup();
  const auto exit_state = child_.TryReap();
  if (!exit_state) {
    return;
  }
  loop_.Unwatch(std::exchange(exit_watch_, WatchId::kNone));
  grace_timer_.Cancel();
  if (state_ == SessionState::kStarting || state_ == SessionState::kRunning) {
    End(EndCause::kExited, ExitText(*exit_state));
  }
  state_ = SessionState::kGone;
  listener_.on_gone();
}

void Session::Handle(const Frame& frame) {
  if (const auto* reply = std::get_if<Reply>(&frame)) {
    return HandleReply(*reply);
  }
  if (const auto* event = std::get_if<Event>(&frame)) {
    return listener_.on_event(*event);
  }
  if (const auto* progress = std::get_if<Progress>(&frame)) {
    if (!queue_.empty() && queue_.front().frame.header.id == progress->id) {
      deadline_ = loop_.clock().Now() + queue_.front().deadline;
    }
    return;
  }
  if (state_ != SessionState::kStarting) {
    return End(EndCause::kProtocol, "probe frame: second hello");
  }
  state_ = SessionState::kRunning;
  listener_.on_hello(std::get<Hello>(frame));
}

void Session::HandleReply(const Reply& reply) {
  if (sent_ == 0 || queue_.front().frame.header.id != reply.id ||
      queue_.front().frame.op != static_cast<uint32_t>(reply.op)) {
    return End(EndCause::kProtocol, fmt::format("probe frame: unexpected reply {}", reply.id));
  }
  const Pending done = std::move(queue_.front());
  queue_.pop_front();
  --sent_;
  if (!queue_.empty()) {
    deadline_ = loop_.clock().Now() + queue_.front().deadline;
    ArmDeadline();
    SendWindow();
  }
  done.done(reply);
}

// One timer for all deadlines. A later deadline leaves it alone: it looks again when it runs.
void Session::ArmDeadline() {
  if (deadline_timer_.is_armed() && timer_due_ <= deadline_) {
    return;
  }
  timer_due_ = deadline_;
  deadline_timer_.Arm(deadline_ - loop_.clock().Now(), [this] { CheckDeadline(); });
}

void Session::CheckDeadline() {
  if (state_ == SessionState::kRunning && queue_.empty() && !is_stream_over_) {
    return;
  }
  if (loop_.clock().Now() < deadline_) {
    return ArmDeadline();
  }
  if (is_stream_over_) {
    return End(EndCause::kProtocol, "kgpu-probe closed its socket");
  }
  std::string what = "starting kgpu-probe";
  std::optional<unsigned> gpu;
  if (!queue_.empty()) {
    const RequestFrame& frame = queue_.front().frame;
    what = OpName(static_cast<Op>(frame.op));
    if (IsOfOneGpu(static_cast<Op>(frame.op))) {
      gpu = frame.gpu;
      what += fmt::format(" (GPU {})", frame.gpu);
    }
  }
  End(EndCause::kUnresponsive, fmt::format("{} did not return within its deadline", what), gpu);
}

void Session::Stop() {
  End(EndCause::kStopped, "stopped");
}

void Session::End(EndCause cause, std::string text, std::optional<unsigned> gpu) {
  if (state_ != SessionState::kStarting && state_ != SessionState::kRunning) {
    return;
  }
  state_ = SessionState::kKilled;
  loop_.Unwatch(std::exchange(socket_watch_, WatchId::kNone));
  deadline_timer_.Cancel();
  socket_.Reset();
  queue_.clear();
  sent_ = 0;
  (void)child_.KillGroup();
  (void)child_.Kill();
  grace_timer_.Arm(kill_grace_, [this] {
    state_ = SessionState::kAbandoned;
    listener_.on_abandoned();
  });
  listener_.on_end({.cause = cause, .text = std::move(text), .gpu = gpu});
}

}  // namespace kgpu::probe
