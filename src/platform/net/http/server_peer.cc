#include "src/platform/net/http/server_peer.h"

#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <exception>

#include "src/platform/base/log.h"
#include "src/platform/net/http/peer_answer.h"
#include "src/platform/sys/tcp_socket.h"

namespace kgpu::http {
namespace {

// A socket that is closed with unread bytes takes what it has sent back from the peer: so the rest
// is read, for this long.
constexpr std::chrono::milliseconds kLingerTime{1000};

}  // namespace

ServerPeer::ServerPeer(std::shared_ptr<const ServerSetup> setup, UniqueFd socket, bool is_unix,
                       std::unique_ptr<tls::Session> session, Http2Handler on_http2)
    : setup_(std::move(setup)),
      socket_(std::move(socket)),
      is_unix_(is_unix),
      peer_(is_unix ? std::string() : sys::PeerAddress(socket_.get())),
      http_(setup_->options.limits, setup_->options.judge != nullptr),
      line_(http_, std::move(session),
            {.takes_plain = setup_->options.takes_plain, .may_be_http2 = setup_->http2 != nullptr}),
      bodies_(setup_->options.bodies),
      on_http2_(std::move(on_http2)) {
}

ServerPeer::~ServerPeer() {
  Close();
}

Status ServerPeer::Start(std::string_view received, std::function<void()> closed) {
  closed_ = std::move(closed);
  if (!received.empty()) {
    line_.Receive(received, WallNow());
  }
  Pump();
  return OkStatus();
}

void ServerPeer::RefuseAsFull() {
  is_refused_ = true;
  SettleRefusal();
}

void ServerPeer::SettleRefusal() {
  if (!is_refused_ || http_.phase() == Phase::kClosing || !line_.knows_protocol()) {
    return;
  }
  if (line_.is_http2()) {
    http_.RefuseWith(std::string(kHttp2Refusal));
  } else {
    http_.Refuse(503, "too many connections: try again later", WallNow());
  }
}

void ServerPeer::Close() {
  closed_ = nullptr;
  drained_ = nullptr;
  gone_ = nullptr;
  // Not again: the loop may have ended since.
  if (socket_.is_valid()) {
    StopWatching();
    socket_.Reset();
  }
}

void ServerPeer::StopWatching() {
  EventLoop& loop = setup_->loop;
  loop.Unwatch(std::exchange(readable_, WatchId::kNone));
  loop.Unwatch(std::exchange(writable_, WatchId::kNone));
  timer_.Cancel();
}

void ServerPeer::Shutdown() {
  http_.Shutdown(has_unread());
  Pump();
}

void ServerPeer::CloseAndNotify() {
  const auto self = shared_from_this();
  const std::function<void()> closed = std::exchange(closed_, nullptr);
  std::function<void()> drained = std::exchange(drained_, nullptr);
  std::function<void()> gone = std::exchange(gone_, nullptr);
  Close();
  drained_ = std::move(drained);
  gone_ = std::move(gone);
  PostDrained();
  PostGone();
  if (closed) {
    closed();
  }
}

Claim ServerPeer::claim() const {
  const Phase phase = http_.phase();
  if (phase == Phase::kReady || phase == Phase::kHandling || phase == Phase::kStreaming) {
    return Claim::kHandling;
  }
  return line_.is_flushed() ? Claim::kNone : Claim::kAnswer;
}

bool ServerPeer::has_unread() const {
  return sys::HasUnread(socket_.get());
}

bool ServerPeer::IsWaiting(uint64_t request) const {
  return socket_.is_valid() && request == request_ && http_.phase() == Phase::kHandling;
}

bool ServerPeer::IsStreaming(uint64_t request) const {
  return socket_.is_valid() && request == request_ && http_.phase() == Phase::kStreaming;
}

void ServerPeer::Respond(uint64_t request, Response response) {
  if (IsWaiting(request)) {
    gone_ = nullptr;
    http_.Respond(std::move(response), WallNow());
    Pump();
  }
}

void ServerPeer::BeginStream(uint64_t request, Response head) {
  if (IsWaiting(request)) {
    http_.BeginStream(std::move(head), WallNow());
    Pump();
  }
}

bool ServerPeer::Write(uint64_t request, std::string_view bytes) {
  if (!IsStreaming(request)) {
    return false;
  }
  const auto self = shared_from_this();
  if (http_.output().size() + bytes.size() > setup_->options.stream_buffer) {
    KGPU_LOG(kDebug, "slow HTTP peer dropped", {"pending_bytes", http_.output().size()});
    CloseAndNotify();
    return false;
  }
  http_.Write(bytes);
  Pump();
  return IsStreaming(request);
}

void ServerPeer::EndStream(uint64_t request) {
  if (IsStreaming(request)) {
    drained_ = nullptr;
    gone_ = nullptr;
    http_.EndStream(WallNow());
    Pump();
  }
}

size_t ServerPeer::Pending(uint64_t request) const {
  return IsStreaming(request) ? http_.output().size() : 0;
}

void ServerPeer::OnDrained(uint64_t request, std::function<void()> task) {
  if (!IsStreaming(request)) {
    return;
  }
  drained_ = std::move(task);
  PostDrained();
}

// From the loop: the code that writes, and which finds its peer gone, may be what the task ends.
void ServerPeer::PostDrained() {
  const auto is_drained = [](const ServerPeer& peer) {
    return peer.drained_ && (!peer.socket_.is_valid() || peer.line_.is_flushed());
  };
  if (!is_drained(*this)) {
    return;
  }
  setup_->loop.Post([self = shared_from_this(), is_drained] {
    if (is_drained(*self)) {
      std::exchange(self->drained_, nullptr)();
    }
  });
}

void ServerPeer::OnGone(uint64_t request, std::function<void()> task) {
  if (IsWaiting(request) || IsStreaming(request)) {
    gone_ = std::move(task);
    PostGone();
  }
}

void ServerPeer::PostGone() {
  if (!gone_ || (socket_.is_valid() && !http_.has_input_ended())) {
    return;
  }
  setup_->loop.Post([self = shared_from_this()] {
    if (self->gone_) {
      std::exchange(self->gone_, nullptr)();
    }
  });
}

void ServerPeer::Abandon(uint64_t request) {
  if (request == request_) {
    drained_ = nullptr;
    gone_ = nullptr;
  }
  if (IsWaiting(request) && http_.has_input_ended()) {
    const auto self = shared_from_this();
    CloseAndNotify();  // nobody was to be answered
  } else if (IsWaiting(request)) {
    KGPU_LOG(kError, "HTTP request not answered", {"request", request});
    Respond(request, TextResponse(500, "internal: the request was not answered"));
  } else if (IsStreaming(request)) {
    const auto self = shared_from_this();
    CloseAndNotify();
  }
}

void ServerPeer::OnReadable() {
  const auto self = shared_from_this();
  std::array<char, size_t{64} << 10> bytes;  // NOLINT(cppcoreguidelines-init-variables): recv fills
  const ssize_t count = recv(socket_.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
  if (count < 0) {
    if (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR) {
      CloseAndNotify();
    }
    return;
  }
  if (count == 0 && line_.is_shaking_hands()) {
    return CloseAndNotify();  // there is nobody to say anything to
  }
  const std::string_view received(bytes.data(), static_cast<size_t>(count));
  if (line_.BeginsHandshake(received) && !setup_->handshakes->Take(setup_->loop.clock().Now())) {
    return CloseAndNotify();
  }
  if (count == 0) {
    http_.ReceiveEnd();
  } else if (!is_lingering_) {
    line_.Receive(received, WallNow());
    Judge();
    SettleBodies();
    SettleRefusal();
  }
  Pump();
}

// Before anything of a body is kept for a request that may be refused.
void ServerPeer::Judge() {
  if (!http_.awaits_verdict()) {
    return;
  }
  Request head = http_.Head();
  head.is_from_unix_socket = is_unix_;
  head.has_tls = line_.has_tls();
  head.peer = peer_;
  if (const std::optional<Response> refusal = setup_->options.judge(head)) {
    http_.Refuse(*refusal, WallNow());
  } else {
    http_.Admit();
  }
}

void ServerPeer::SettleBodies() {
  if (!bodies_.Set(http_.body_size())) {
    http_.Refuse(503, "too many large requests at a time: try again later", WallNow());
    (void)bodies_.Set(0);
  }
}

void ServerPeer::OnWritable() {
  const auto self = shared_from_this();
  Pump();
}

void ServerPeer::OnTimeout() {
  const auto self = shared_from_this();
  const Limit limit = std::exchange(timed_, {Limit::kNone, 0}).first;
  if (limit == Limit::kWrite && std::exchange(has_progressed_, false)) {
    return SettleTimer();
  }
  if (limit == Limit::kHeader || limit == Limit::kBody) {
    http_.Refuse(408, "the request was not received in time", WallNow());
    return Pump();
  }
  CloseAndNotify();
}

void ServerPeer::Pump() {
  if (is_pumping_) {
    return;
  }
  const auto self = shared_from_this();
  is_pumping_ = true;
  Judge();
  while (socket_.is_valid() && Flush() && line_.is_flushed() && http_.phase() == Phase::kReady) {
    Handle();
    Judge();  // the next request, which has come early
  }
  is_pumping_ = false;
  if (!socket_.is_valid()) {
    return;
  }
  if (line_.is_http2() && line_.is_flushed()) {
    return HandOver();
  }
  Settle();
}

void ServerPeer::HandOver() {
  StopWatching();
  closed_ = nullptr;
  const std::string received = line_.TakeFirstBytes();
  std::exchange(on_http2_, nullptr)(
      {.socket = std::move(socket_), .session = line_.TakeSession(), .is_unix = is_unix_},
      received);
}

void ServerPeer::Handle() {
  Request request = http_.TakeRequest();
  (void)bodies_.Set(0);
  request.is_from_unix_socket = is_unix_;
  request.has_tls = line_.has_tls();
  request.peer = peer_;
  ++request_;
  drained_ = nullptr;
  gone_ = nullptr;
  // The handler may destroy the server.
  const auto setup = setup_;
  const Responder responder(std::make_shared<PeerAnswer>(weak_from_this(), request_));
  const std::string path = request.path;
  try {
    setup->handler(std::move(request), responder);
  } catch (const std::exception& e) {
    KGPU_LOG(kError, "HTTP handler threw an exception", {"path", path}, {"what", e.what()});
    responder.Send(TextResponse(500, "internal error: see the log"));
  }
}

bool ServerPeer::Flush() {
  for (line_.Fill(); !line_.wire().empty(); line_.Fill()) {
    std::array<iovec, OutputQueue::kMaxPieces> pieces{};
    msghdr message{};
    message.msg_iov = pieces.data();
    message.msg_iovlen = line_.wire().Fill(pieces);
    const ssize_t count = sendmsg(socket_.get(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (count < 0 && errno == EINTR) {
      continue;
    }
    if (count < 0) {
      if (errno == EAGAIN || errno == EWOULDBLOCK) {
        return true;
      }
      CloseAndNotify();
      return false;
    }
    has_progressed_ = true;
    line_.wire().Consume(static_cast<size_t>(count));
  }
  return true;
}

void ServerPeer::Settle() {
  if (http_.phase() == Phase::kClosing && line_.is_flushed()) {
    if (http_.has_input_ended()) {
      return CloseAndNotify();
    }
    Linger();
  }
  SettleWatches();
  SettleTimer();
  PostDrained();
  PostGone();
}

void ServerPeer::Linger() {
  if (!std::exchange(is_lingering_, true)) {
    (void)shutdown(socket_.get(), SHUT_WR);
  }
}

void ServerPeer::SettleWatches() {
  EventLoop& loop = setup_->loop;
  const bool wants_read =
      !line_.is_http2() && (http_.wants_input() || is_lingering_ || line_.is_shaking_hands());
  const bool wants_write = !line_.wire().empty();
  const auto settle = [&](bool wants, WatchId& watch, auto&& start) {
    if (!wants) {
      loop.Unwatch(std::exchange(watch, WatchId::kNone));
      return true;
    }
    if (watch == WatchId::kNone) {
      StatusOr<WatchId> started = start();
      watch = started.ok() ? *started : WatchId::kNone;
    }
    return watch != WatchId::kNone;
  };
  const bool is_settled =
      settle(wants_read, readable_,
             [&] { return loop.WatchReadable(socket_.get(), [this] { OnReadable(); }); }) &&
      settle(wants_write, writable_,
             [&] { return loop.WatchWritable(socket_.get(), [this] { OnWritable(); }); });
  if (!is_settled) {
    CloseAndNotify();  // the kernel is out of memory for watches
  }
}

ServerPeer::Limit ServerPeer::LimitNow() const {
  if (is_lingering_) {
    return Limit::kLinger;
  }
  if (line_.is_shaking_hands()) {
    return Limit::kHandshake;
  }
  if (!line_.is_flushed()) {
    return Limit::kWrite;
  }
  if (is_refused_) {
    return Limit::kLinger;
  }
  switch (http_.phase()) {
    case Phase::kIdle:
      return Limit::kIdle;
    case Phase::kHeader:
      return Limit::kHeader;
    case Phase::kBody:
      return Limit::kBody;
    default:
      return Limit::kNone;
  }
}

void ServerPeer::SettleTimer() {
  const std::pair now{LimitNow(), request_};
  if (now == timed_ || !socket_.is_valid()) {
    return;
  }
  timed_ = now;
  has_progressed_ = false;
  timer_.Cancel();
  if (now.first == Limit::kNone) {
    return;
  }
  timer_.Arm(TimeOf(now.first), [this] { OnTimeout(); });
}

std::chrono::milliseconds ServerPeer::TimeOf(Limit limit) const {
  switch (limit) {
    case Limit::kLinger:
      return kLingerTime;
    case Limit::kHandshake:
      return setup_->options.handshake_timeout;
    case Limit::kHeader:
      return setup_->options.header_timeout;
    case Limit::kIdle:  // who connects has something to ask
      return request_ == 0 ? setup_->options.header_timeout : setup_->options.idle_timeout;
    default:
      return setup_->options.idle_timeout;
  }
}

}  // namespace kgpu::http
