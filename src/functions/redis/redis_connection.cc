#include "src/functions/redis/redis_connection.h"

#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <utility>

#include "src/platform/base/status_macros.h"

namespace kgpu::functions {
namespace {

constexpr int kMostUnread = 64;  // pieces

bool WouldBlock(int error) {
  return error == EAGAIN || error == EWOULDBLOCK || error == EINTR;
}

}  // namespace

StatusOr<std::shared_ptr<RedisConnection>> RedisConnection::Open(
    EventLoop& loop, UniqueFd socket, std::unique_ptr<tls::Session> session, std::string where,
    std::chrono::milliseconds patience, Handlers handlers) {
  std::shared_ptr<RedisConnection> connection(
      new RedisConnection(loop, std::move(socket), std::move(session), std::move(where), patience,
                          std::move(handlers)));
  RETURN_IF_ERROR(connection->Watch());
  return connection;
}

RedisConnection::RedisConnection(EventLoop& loop, UniqueFd socket,
                                 std::unique_ptr<tls::Session> session, std::string where,
                                 std::chrono::milliseconds patience, Handlers handlers)
    : loop_(loop),
      socket_(std::move(socket)),
      session_(std::move(session)),
      where_(std::move(where)),
      patience_(patience),
      handlers_(std::move(handlers)) {
}

RedisConnection::~RedisConnection() {
  Finish();
}

void RedisConnection::Finish() {
  if (socket_.is_valid()) {
    if (session_ != nullptr) {
      session_->Close();
      output_ += session_->TakeOutput();
    }
    // Commands that do not fit are lost: nobody waits for a server here.
    (void)send(socket_.get(), output_.data() + sent_, output_.size() - sent_,
               MSG_NOSIGNAL | MSG_DONTWAIT);
    (void)shutdown(socket_.get(), SHUT_WR);
    // A socket that is closed with bytes unread may take the last commands with it.
    std::array<char, size_t{16} << 10> unread{};
    for (int i = 0; i < kMostUnread; ++i) {
      if (recv(socket_.get(), unread.data(), unread.size(), MSG_DONTWAIT) <= 0) {
        break;
      }
    }
  }
  Close();
}

void RedisConnection::Close() {
  handlers_ = {};
  waiting_.clear();
  loop_.Unwatch(std::exchange(readable_, WatchId::kNone));
  loop_.Unwatch(std::exchange(writable_, WatchId::kNone));
  deadline_.Cancel();
  socket_.Reset();
}

Status RedisConnection::Watch() {
  ASSIGN_OR_RETURN(readable_, loop_.WatchReadable(socket_.get(), [this] { OnReadable(); }));
  WatchWritable();  // TLS speaks first
  return OkStatus();
}

void RedisConnection::Send(const std::vector<std::string_view>& words, Done done) {
  if (!socket_.is_valid()) {
    return;
  }
  const std::string command = RedisCommand(words);
  if (session_ == nullptr) {
    output_ += command;
  } else {
    // An error means that the session has ended, which the next read reports.
    (void)session_->Write(command);
  }
  if (done) {
    if (waiting_.empty()) {
      progress_ = loop_.clock().Now();
    }
    waiting_.push_back(std::move(done));
    ArmDeadline();
  }
  // Once for all commands of this turn of the loop.
  WatchWritable();
}

void RedisConnection::WatchWritable() {
  if (writable_ != WatchId::kNone || !socket_.is_valid()) {
    return;
  }
  StatusOr<WatchId> watch = loop_.WatchWritable(socket_.get(), [this] {
    const auto self = shared_from_this();
    Flush();
  });
  // Without it nothing is sent, and the deadline ends the connection.
  writable_ = watch.value_or(WatchId::kNone);
}

void RedisConnection::Flush() {
  if (session_ != nullptr) {
    output_ += session_->TakeOutput();
  }
  while (sent_ < output_.size()) {
    const ssize_t count = send(socket_.get(), output_.data() + sent_, output_.size() - sent_,
                               MSG_NOSIGNAL | MSG_DONTWAIT);
    if (count < 0) {
      if (WouldBlock(errno)) {
        has_backlog_ = true;
        return WatchWritable();
      }
      break;  // the reader learns why
    }
    sent_ += static_cast<size_t>(count);
    // The kernel takes bytes at once even if the server does not.
    if (has_backlog_) {
      progress_ = loop_.clock().Now();
    }
  }
  std::string().swap(output_);
  sent_ = 0;
  has_backlog_ = false;
  loop_.Unwatch(std::exchange(writable_, WatchId::kNone));
}

void RedisConnection::OnReadable() {
  const auto self = shared_from_this();
  std::array<char, size_t{64} << 10> bytes;  // NOLINT(cppcoreguidelines-init-variables): recv fills
  const ssize_t count = recv(socket_.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
  if (count < 0 && WouldBlock(errno)) {
    return;
  }
  if (count <= 0) {
    return End(Unavailable("{}: the server closed the connection", where_));
  }
  progress_ = loop_.clock().Now();
  const std::string_view received(bytes.data(), static_cast<size_t>(count));
  if (session_ == nullptr) {
    return OnPlain(received);
  }
  const Status status = session_->Feed(received);
  WatchWritable();  // the handshake goes on, or the server learns what is wrong
  if (const std::string plain = session_->TakeInput(); !plain.empty()) {
    OnPlain(plain);
  }
  if (!socket_.is_valid()) {
    return;
  }
  if (!status.ok()) {
    Flush();
    return End(Annotate(status, "{}", where_));
  }
  if (session_->has_peer_closed()) {
    End(Unavailable("{}: the server closed the connection", where_));
  }
}

void RedisConnection::OnPlain(std::string_view bytes) {
  const Status status = reader_.Feed(bytes);
  while (std::optional<RedisReply> reply = reader_.Next()) {
    OnReply(*std::move(reply));
    if (!socket_.is_valid()) {
      return;
    }
  }
  if (!status.ok()) {
    End(Annotate(status, "{}", where_));
  }
}

void RedisConnection::OnReply(RedisReply reply) {
  if (reply.kind == RedisReply::Kind::kPush) {
    if (const auto on_push = handlers_.on_push) {
      on_push(reply);
    }
    return;
  }
  if (waiting_.empty()) {
    return End(Unavailable("{}: the server sent a reply without a command", where_));
  }
  const Done done = std::move(waiting_.front());
  waiting_.pop_front();
  if (waiting_.empty()) {
    deadline_.Cancel();
  }
  if (reply.kind == RedisReply::Kind::kError) {
    done(Annotate(StatusOfRedisError(reply.text), "{}", where_));
  } else {
    done(std::move(reply));
  }
}

void RedisConnection::ArmDeadline() {
  if (deadline_.is_armed()) {
    return;
  }
  const auto left = progress_ + patience_ - loop_.clock().Now();
  deadline_.Arm(left, [this] {
    if (loop_.clock().Now() - progress_ < patience_) {
      return ArmDeadline();
    }
    const auto self = shared_from_this();
    End(Unavailable("{}: the server did not answer within {} s", where_,
                    std::chrono::duration_cast<std::chrono::seconds>(patience_).count()));
  });
}

void RedisConnection::End(const Status& status) {
  const Handlers handlers = std::move(handlers_);
  const std::deque<Done> waiting = std::move(waiting_);
  Close();
  if (handlers.on_end) {
    handlers.on_end(status);
  }
  for (const Done& done : waiting) {
    done(status);
  }
}

}  // namespace kgpu::functions
