// Parses HTTP/1 messages, with limits. Knows no sockets: the caller keeps the bytes
// that were not consumed (of an incomplete header) and passes them again, with more
// after them. No input makes it throw, and it makes no difference how the bytes were
// split.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "src/platform/net/http/message.h"

namespace kgpu::http {

struct ParserLimits {
  size_t header = size_t{16} << 10;  // start line and fields
  size_t body = size_t{1} << 20;
};

enum class ParseState : uint8_t {
  kHeader,   // the header is incomplete
  kBody,     // the header is complete, the body is not
  kDone,     // Take() returns the message
  kRefused,  // invalid; refusal() says why
};

struct Refusal {
  int code = 0;  // for a server's response: 400, 413, 431, 501, 505
  std::string reason;
};

// One request. Skips empty lines before it.
class RequestParser {
 public:
  explicit RequestParser(const ParserLimits& limits);
  ~RequestParser();
  RequestParser(const RequestParser&) = delete;
  RequestParser& operator=(const RequestParser&) = delete;

  // Returns how many bytes at the front were consumed; while it is 0, pass the same front again.
  size_t Feed(std::string_view bytes);
  ParseState state() const;
  const Refusal& refusal() const;
  // From kBody on:
  Request Head() const;           // the request without its body
  bool keeps_alive() const;       // as the client requests
  bool expects_continue() const;  // it waits for "100 Continue" before it sends the body
  bool is_http11() const;         // the peer understands chunks
  // Bytes of the body that are there.
  size_t body_size() const;
  // Call once, in kDone.
  Request Take();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

// One response; skips interim ones (1xx) before it.
class ResponseParser {
 public:
  // `is_head`: the request was HEAD, so no body follows, whatever the fields say.
  ResponseParser(const ParserLimits& limits, bool is_head);
  ~ResponseParser();
  ResponseParser(const ResponseParser&) = delete;
  ResponseParser& operator=(const ResponseParser&) = delete;

  size_t Feed(std::string_view bytes);
  // The peer closed: this ends a body without a length; any other unfinished message is refused.
  void FeedEnd();
  ParseState state() const;
  const Refusal& refusal() const;
  // From kBody on:
  int code() const;
  const Headers& headers() const;
  bool keeps_alive() const;  // another response may follow on this connection
  // The part of the body received since the last call, for endless responses: the limit then
  // applies to each piece, and to each announced length or chunk.
  std::string TakeBody();
  // Call once, in kDone.
  Response Take();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace kgpu::http
