// HTTP/1 messages out of bytes, with limits. Knows no sockets: the caller keeps the bytes that
// were not taken (of a header that is not complete) and presents them again, with more behind them.
// Nothing that a peer sends makes
// it throw, and how its bytes were cut into pieces makes no difference.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "src/platform/http/message.h"

namespace kgpu::http {

struct ParserLimits {
  size_t header = size_t{16} << 10;  // start line and fields
  size_t body = size_t{1} << 20;
};

enum class ParseState : uint8_t {
  kHeader,   // the header is not complete
  kBody,     // it is; the body is not
  kDone,     // Take() gives the message
  kRefused,  // no message; refusal() says why
};

struct Refusal {
  int code = 0;  // what a server answers: 400, 413, 431, 501, 505
  std::string reason;
};

// One request. Empty lines before it are skipped.
class RequestParser {
 public:
  explicit RequestParser(const ParserLimits& limits);
  ~RequestParser();
  RequestParser(const RequestParser&) = delete;
  RequestParser& operator=(const RequestParser&) = delete;

  // How many bytes of the front of `bytes` were taken. The same front comes again while none are.
  size_t Feed(std::string_view bytes);
  ParseState state() const;
  const Refusal& refusal() const;
  // From kBody on:
  bool keeps_alive() const;       // as the client requests
  bool expects_continue() const;  // it waits for "100 Continue" before it sends the body
  bool is_http11() const;         // it understands chunks
  // Once, in kDone.
  Request Take();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

// One response; interim ones (1xx) before it are skipped.
class ResponseParser {
 public:
  // `is_head`: the request was HEAD, so no body follows whatever the fields say.
  ResponseParser(const ParserLimits& limits, bool is_head);
  ~ResponseParser();
  ResponseParser(const ResponseParser&) = delete;
  ResponseParser& operator=(const ResponseParser&) = delete;

  size_t Feed(std::string_view bytes);
  // The peer closed: a body without a length ends here; anything else that is not done is refused.
  void FeedEnd();
  ParseState state() const;
  const Refusal& refusal() const;
  // From kBody on:
  int code() const;
  const Headers& headers() const;
  bool keeps_alive() const;  // another answer may come behind this one
  // What has come of the body since the last call, for answers that have no end: the limit is one
  // of each piece then, and of a length or chunk that is announced.
  std::string TakeBody();
  // Once, in kDone.
  Response Take();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace kgpu::http
