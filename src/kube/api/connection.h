// One connection to the API server: TLS or plain, one exchange at a time, and the next behind it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "src/kube/api/transport.h"
#include "src/platform/base/event_loop.h"
#include "src/platform/base/status.h"
#include "src/platform/base/unique_fd.h"
#include "src/platform/http/parser.h"
#include "src/platform/tls/session.h"

namespace kgpu::kube {

// Lives on the loop's thread; owned by who uses it now. Held by shared_ptr, since a handler may let
// go of it.
class Connection : public std::enable_shared_from_this<Connection> {
 public:
  // `session` is null for plain HTTP; `where` is named in errors. `loop` outlives the connection.
  static StatusOr<std::shared_ptr<Connection>> Open(EventLoop& loop, UniqueFd socket,
                                                    std::unique_ptr<tls::Session> session,
                                                    std::string where);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

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
  Connection(EventLoop& loop, UniqueFd socket, std::unique_ptr<tls::Session> session,
             std::string where);
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
  WatchId readable_ = WatchId::kNone;
  WatchId writable_ = WatchId::kNone;
  std::string output_;  // for the socket
  size_t sent_ = 0;     // of output_

  std::string input_;  // deciphered, and not taken by the parser
  std::unique_ptr<http::ResponseParser> parser_;
  ExchangeHandlers handlers_;
  bool is_busy_ = false;
  bool has_head_ = false;
  bool is_reusable_ = true;
  std::function<void()> ended_;
};

}  // namespace kgpu::kube
