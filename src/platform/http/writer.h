// HTTP/1.1 messages as bytes.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "src/platform/base/clock.h"
#include "src/platform/base/status.h"
#include "src/platform/http/message.h"

namespace kgpu::http {

enum class Framing {
  kLength,      // Content-Length: the whole body follows
  kChunked,     // pieces of the body follow as chunks
  kUntilClose,  // the body ends with the connection: for clients of HTTP/1.0
};

// Status line and fields, to the empty line. Names and values that could not stand in a message
// are left out or cleaned: nobody can write into the answer what we did not mean.
std::string ResponseHead(const Response& response, Framing framing, bool keeps_alive, WallTime now);

// Request line, fields and body. Host is added where it is missing; unless it `keeps_alive`, the
// connection is to be closed after the answer. Errors: InvalidArgument (a method or target that
// could not stand in a message).
StatusOr<std::string> RequestText(const Request& request, std::string_view host,
                                  bool keeps_alive = false);

// A chunk of a body; an empty one would end it, and gives "". The end is kLastChunk.
std::string Chunk(std::string_view bytes);
inline constexpr std::string_view kLastChunk = "0\r\n\r\n";
inline constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";

// "Sun, 06 Nov 1994 08:49:37 GMT".
std::string HttpDate(WallTime time);

}  // namespace kgpu::http
