// One connection to a server, TLS or plain: one exchange at a time, several one after the other.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "src/platform/base/event_loop.h"
#include "src/platform/base/status.h"
#include "src/platform/base/unique_fd.h"
#include "src/platform/net/http/message.h"
#include "src/platform/net/http/output_queue.h"
#include "src/platform/net/http/parser.h"
#include "src/platform/net/tls/session.h"

namespace kgpu::http {

// A handler may destroy the object that passed it.
struct ExchangeHandlers {
  // Once, when the response's header has arrived.
  std::function<void(int code, const Headers&)> on_head{};
  // Pieces of the body as they arrive, without the chunk framing.
  std::function<void(std::string_view)> on_data{};
  // Once: OK if the body ended properly, else why not; may come without on_head. Errors:
  // Unavailable, OutOfRange (the header, or a piece of the body, is over the limits).
  std::function<void(Status)> on_end{};
};

// Lives on the loop's thread; owned by its current user. Held by shared_ptr, since a handler may
// drop it.
class ClientConnection : public std::enable_shared_from_this<ClientConnection> {
 public:
  // `session` is null for plain HTTP; `where` is used in errors; `limits` apply to each response.
  // `loop` must outlive the connection.
  static StatusOr<std::shared_ptr<ClientConnection>> Open(EventLoop& loop, UniqueFd socket,
                                                          std::unique_ptr<tls::Session> session,
                                                          std::string where,
                                                          const ParserLimits& limits);
  ~ClientConnection();
  ClientConnection(const ClientConnection&) = delete;
  ClientConnection& operator=(const ClientConnection&) = delete;

  // Sends a request, complete as RequestText writes it, and reads its response. Only if no other
  // exchange is in progress. Calls no handler before it returns; on_end comes once.
  void Send(std::string request, bool is_head, ExchangeHandlers handlers);
  // The same for a request in pieces, which are not copied. Only without TLS.
  void Send(OutputQueue& request, bool is_head, ExchangeHandlers handlers);
  // Between exchanges: whether another one may follow.
  bool IsReusable() const;
  // Whether the socket took any byte of the last request: if not, the server knows nothing of it.
  bool has_sent() const { return has_sent_; }
  // Bytes of it that the socket has not taken yet, without TLS.
  size_t unsent() const { return output_.size(); }
  // Without TLS, after on_end, and if nothing was sent: the request, for another connection.
  void TakeRequest(OutputQueue& request) { request.Take(output_); }
  // Stops reading: the server's bytes wait in the sockets, and the server with them, once those are
  // full. A response that has been read to its end still ends.
  void Pause();
  // Continues after Pause. Errors: ResourceExhausted.
  Status Resume();
  // Calls `ended` if the server closes the connection, or sends something unasked, before the next
  // Send.
  void WatchIdle(std::function<void()> ended);
  // No handler is called after this.
  void Close();

 private:
  ClientConnection(EventLoop& loop, UniqueFd socket, std::unique_ptr<tls::Session> session,
                   std::string where, const ParserLimits& limits);
  void BeginExchange(bool is_head, ExchangeHandlers handlers);
  void SendOutput();
  void OnReadable();
  void OnBytes(std::string_view bytes);
  void OnPlain(std::string_view bytes);
  void OnPeerEnd();
  void Parse();
  bool DeliverAnswer();
  void End(const Status& status);
  void Break(const Status& status);
  bool HasUnread() const;
  void Flush();
  void WatchWritable();

  EventLoop& loop_;
  UniqueFd socket_;
  std::unique_ptr<tls::Session> session_;
  const std::string where_;
  const ParserLimits limits_;
  WatchId readable_ = WatchId::kNone;
  WatchId writable_ = WatchId::kNone;
  OutputQueue output_;  // to be sent
  std::string input_;   // decrypted, not yet consumed by the parser
  std::unique_ptr<ResponseParser> parser_;
  ExchangeHandlers handlers_;
  bool is_busy_ = false;
  bool has_head_ = false;
  bool has_sent_ = false;
  bool is_reusable_ = true;
  std::function<void()> ended_;
};

}  // namespace kgpu::http
