// One connection to a server: TLS or plain, one exchange at a time, and the next behind it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "src/platform/base/event_loop.h"
#include "src/platform/base/status.h"
#include "src/platform/base/unique_fd.h"
#include "src/platform/http/message.h"
#include "src/platform/http/parser.h"
#include "src/platform/tls/session.h"

namespace kgpu::http {

// A handler may destroy who gave it.
struct ExchangeHandlers {
  // Once, when the answer's header is there.
  std::function<void(int code, const Headers&)> on_head{};
  // Pieces of the body as they come, chunking taken off.
  std::function<void(std::string_view)> on_data{};
  // Once: OK when the body ended as it should, else why not; that may come without on_head. Errors:
  // Unavailable, OutOfRange (the header, or a piece of the body, is past the limits).
  std::function<void(Status)> on_end{};
};

// Lives on the loop's thread; owned by who uses it now. Held by shared_ptr, since a handler may let
// go of it.
class ClientConnection : public std::enable_shared_from_this<ClientConnection> {
 public:
  // `session` is null for plain HTTP; `where` is named in errors; `limits` are those of each
  // answer. `loop` outlives the connection.
  static StatusOr<std::shared_ptr<ClientConnection>> Open(EventLoop& loop, UniqueFd socket,
                                                          std::unique_ptr<tls::Session> session,
                                                          std::string where,
                                                          const ParserLimits& limits);
  ~ClientConnection();
  ClientConnection(const ClientConnection&) = delete;
  ClientConnection& operator=(const ClientConnection&) = delete;

  // Sends a request, whole as RequestText writes it, and brings its answer. Only when no other is
  // under way. Nothing is called from here; on_end comes once.
  void Send(std::string request, bool is_head, ExchangeHandlers handlers);
  // Between exchanges: whether another may follow.
  bool IsReusable() const;
  // Calls `ended` when the server ends the connection, or says something unasked, before the next
  // Send.
  void WatchIdle(std::function<void()> ended);
  // No handler is called any more.
  void Close();

 private:
  ClientConnection(EventLoop& loop, UniqueFd socket, std::unique_ptr<tls::Session> session,
                   std::string where, const ParserLimits& limits);
  void OnReadable();
  void OnBytes(std::string_view bytes);
  void OnPlain(std::string_view bytes);
  void OnPeerEnd();
  void Parse();
  bool DeliverAnswer();
  void End(const Status& status);
  void Break(const Status& status);
  void Flush();
  void WatchWritable();

  EventLoop& loop_;
  UniqueFd socket_;
  std::unique_ptr<tls::Session> session_;
  const std::string where_;
  const ParserLimits limits_;
  WatchId readable_ = WatchId::kNone;
  WatchId writable_ = WatchId::kNone;
  std::string output_;  // for the socket
  size_t sent_ = 0;     // of output_

  std::string input_;  // deciphered, and not taken by the parser
  std::unique_ptr<ResponseParser> parser_;
  ExchangeHandlers handlers_;
  bool is_busy_ = false;
  bool has_head_ = false;
  bool is_reusable_ = true;
  std::function<void()> ended_;
};

}  // namespace kgpu::http
