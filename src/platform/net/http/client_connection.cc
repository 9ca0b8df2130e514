#include "src/platform/net/http/client_connection.h"

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

namespace kgpu::http {

StatusOr<std::shared_ptr<ClientConnection>> ClientConnection::Open(
    EventLoop& loop, UniqueFd socket, std::unique_ptr<tls::Session> session, std::string where,
    const ParserLimits& limits) {
  std::shared_ptr<ClientConnection> connection(
      new ClientConnection(loop, std::move(socket), std::move(session), std::move(where), limits));
  if (const Status status = connection->Resume(); !status.ok()) {
    return status;
  }
  return connection;
}

ClientConnection::ClientConnection(EventLoop& loop, UniqueFd socket,
                                   std::unique_ptr<tls::Session> session, std::string where,
                                   const ParserLimits& limits)
    : loop_(loop),
      socket_(std::move(socket)),
      session_(std::move(session)),
      where_(std::move(where)),
      limits_(limits) {
}

ClientConnection::~ClientConnection() {
  if (session_ != nullptr && socket_.is_valid()) {
    // As a courtesy: nobody waits until it arrives.
    session_->Close();
    const std::string last = session_->TakeOutput();
    (void)send(socket_.get(), last.data(), last.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  }
  Close();
}

void ClientConnection::Close() {
  handlers_ = {};
  ended_ = nullptr;
  is_reusable_ = false;
  loop_.Unwatch(std::exchange(readable_, WatchId::kNone));
  loop_.Unwatch(std::exchange(writable_, WatchId::kNone));
  socket_.Reset();
}

void ClientConnection::Send(std::string request, bool is_head, ExchangeHandlers handlers) {
  BeginExchange(is_head, std::move(handlers));
  if (session_ == nullptr) {
    output_.Append(std::move(request));
  } else if (!session_->Write(request).ok()) {
    is_reusable_ = false;  // broken: the server's end of it is read
  }
  SendOutput();
}

void ClientConnection::Send(OutputQueue& request, bool is_head, ExchangeHandlers handlers) {
  BeginExchange(is_head, std::move(handlers));
  output_.Take(request);
  SendOutput();
}

void ClientConnection::BeginExchange(bool is_head, ExchangeHandlers handlers) {
  parser_ = std::make_unique<ResponseParser>(limits_, is_head);
  handlers_ = std::move(handlers);
  ended_ = nullptr;
  is_busy_ = true;
  has_head_ = false;
  has_sent_ = false;
}

// Most requests fit into the socket, which need not be watched then. What goes wrong is seen by
// the watches: it must not be reported from here.
void ClientConnection::SendOutput() {
  return HasUnread() ? WatchWritable() : Flush();
}

// Whether something of the server waits to be read: the end of a connection that was kept, say,
// which must be seen before a request goes out on it, so that the request may go out elsewhere.
bool ClientConnection::HasUnread() const {
  char byte = 0;
  return recv(socket_.get(), &byte, 1, MSG_PEEK | MSG_DONTWAIT) >= 0 ||
         (errno != EAGAIN && errno != EWOULDBLOCK);
}

bool ClientConnection::IsReusable() const {
  return is_reusable_ && !is_busy_ && socket_.is_valid();
}

void ClientConnection::Pause() {
  loop_.Unwatch(std::exchange(readable_, WatchId::kNone));
}

Status ClientConnection::Resume() {
  if (readable_ != WatchId::kNone || !socket_.is_valid()) {
    return OkStatus();
  }
  StatusOr<WatchId> watch = loop_.WatchReadable(socket_.get(), [this] { OnReadable(); });
  if (!watch.ok()) {
    return watch.status();
  }
  readable_ = *watch;
  return OkStatus();
}

void ClientConnection::WatchIdle(std::function<void()> ended) {
  ended_ = std::move(ended);
}

void ClientConnection::WatchWritable() {
  if (writable_ != WatchId::kNone || !socket_.is_valid()) {
    return;
  }
  StatusOr<WatchId> watch = loop_.WatchWritable(socket_.get(), [this] {
    const auto self = shared_from_this();
    Flush();
  });
  if (watch.ok()) {
    writable_ = *watch;
  } else {
    is_reusable_ = false;  // nothing more is sent: the deadline of the caller ends it
  }
}

void ClientConnection::Flush() {
  if (session_ != nullptr) {
    output_.Append(session_->TakeOutput());
  }
  while (!output_.empty()) {
    std::array<iovec, OutputQueue::kMaxPieces> pieces{};
    msghdr message{};
    message.msg_iov = pieces.data();
    message.msg_iovlen = output_.Fill(pieces);
    const ssize_t count = sendmsg(socket_.get(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (count > 0) {
      has_sent_ = true;
      output_.Consume(static_cast<size_t>(count));
    } else if (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR) {
      return WatchWritable();
    } else {
      // The server may have answered before it closed: what it said is read to its end.
      is_reusable_ = false;
      break;
    }
  }
  loop_.Unwatch(std::exchange(writable_, WatchId::kNone));
}

void ClientConnection::OnReadable() {
  const auto self = shared_from_this();
  std::array<char, size_t{64} << 10> bytes;  // NOLINT(cppcoreguidelines-init-variables): recv fills
  const ssize_t count = recv(socket_.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
  if (count > 0) {
    OnBytes({bytes.data(), static_cast<size_t>(count)});
  } else if (count == 0) {
    OnPeerEnd();
  } else if (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR) {
    Break(errno == ETIMEDOUT
              ? Unavailable("{}: the server stopped answering", where_)
              : Unavailable("{}: the server closed the connection before the end of its answer",
                            where_));
  }
}

void ClientConnection::OnBytes(std::string_view bytes) {
  if (session_ == nullptr) {
    return OnPlain(bytes);
  }
  const Status status = session_->Feed(bytes);
  // An alert, perhaps, that tells the server why.
  Flush();
  if (const std::string plain = session_->TakeInput(); !plain.empty()) {
    OnPlain(plain);
  }
  if (!status.ok()) {
    return Break(Annotate(status, "{}", where_));
  }
  if (session_->has_peer_closed() && socket_.is_valid()) {
    OnPeerEnd();
  }
}

void ClientConnection::OnPlain(std::string_view bytes) {
  if (!is_busy_) {
    return Break(Unavailable("{}: the server sent data without a request", where_));
  }
  input_ += bytes;
  Parse();
}

void ClientConnection::OnPeerEnd() {
  is_reusable_ = false;
  // A body that ends with the connection must not be cut by somebody on the way.
  const bool is_cut = session_ != nullptr && !session_->has_peer_closed();
  if (is_busy_ && !is_cut) {
    parser_->FeedEnd();
    Parse();
  }
  if (socket_.is_valid()) {
    Break(Unavailable("{}: the server closed the connection before the end of its answer", where_));
  }
}

void ClientConnection::Parse() {
  const auto is_open = [this] {
    return parser_->state() == ParseState::kHeader || parser_->state() == ParseState::kBody;
  };
  size_t taken = 1;
  while (taken > 0 && !input_.empty() && is_open()) {
    taken = parser_->Feed(input_);
    input_.erase(0, taken);
  }
  if (parser_->state() == ParseState::kRefused) {
    const Refusal& refusal = parser_->refusal();
    const bool is_too_large = refusal.code == 413 || refusal.code == 431;
    return Break(is_too_large ? OutOfRange("{}: {}", where_, refusal.reason)
                              : Unavailable("{}: {}", where_, refusal.reason));
  }
  if (!DeliverAnswer() || parser_->state() != ParseState::kDone) {
    return;
  }
  // More than was asked for is not believed.
  is_reusable_ = is_reusable_ && parser_->keeps_alive() && input_.empty() && output_.empty() &&
                 (session_ == nullptr || !session_->has_peer_closed());
  std::string().swap(input_);
  parser_.reset();
  End(OkStatus());
}

// False: nobody waits for it any more.
bool ClientConnection::DeliverAnswer() {
  if (parser_->state() == ParseState::kHeader) {
    return true;
  }
  if (!std::exchange(has_head_, true)) {
    if (const auto on_head = handlers_.on_head) {
      on_head(parser_->code(), parser_->headers());
    }
  }
  if (!socket_.is_valid()) {
    return false;
  }
  if (const std::string body = parser_->TakeBody(); !body.empty()) {
    if (const auto on_data = handlers_.on_data) {
      on_data(body);
    }
  }
  return socket_.is_valid();
}

void ClientConnection::End(const Status& status) {
  is_busy_ = false;
  const ExchangeHandlers handlers = std::exchange(handlers_, {});
  if (handlers.on_end) {
    handlers.on_end(status);
  }
}

void ClientConnection::Break(const Status& status) {
  const ExchangeHandlers handlers = std::exchange(handlers_, {});
  const std::function<void()> ended = std::exchange(ended_, nullptr);
  is_busy_ = false;
  Close();
  if (handlers.on_end) {
    handlers.on_end(status);
  } else if (ended) {
    ended();
  }
}

}  // namespace kgpu::http
