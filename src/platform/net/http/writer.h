// Writes HTTP/1.1 messages.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "src/platform/base/clock.h"
#include "src/platform/base/status.h"
#include "src/platform/net/http/message.h"

namespace kgpu::http {

enum class Framing {
  kLength,      // Content-Length: the whole body follows
  kGiven,       // no body follows; the length is that of the headers, if they have one: HEAD
  kChunked,     // pieces of the body follow as chunks
  kUntilClose,  // the body ends with the connection: for HTTP/1.0 clients
};

// Status line and fields, up to and with the empty line. Invalid names and values are dropped or
// cleaned, so that nobody can inject fields or lines into a response.
std::string ResponseHead(const Response& response, Framing framing, bool keeps_alive, WallTime now);

// Request line and fields, up to and with the empty line. Adds Host if it is missing; unless
// `keeps_alive`, asks the server to close the connection after the response. Errors:
// InvalidArgument (the method, the target, or a header is not valid in a message).
StatusOr<std::string> RequestHead(const Request& request, std::string_view host,
                                  bool keeps_alive = false);
// The same, and the body.
StatusOr<std::string> RequestText(const Request& request, std::string_view host,
                                  bool keeps_alive = false);

// One chunk of a body; "" for no bytes, since an empty chunk ends the body. The end is kLastChunk.
std::string Chunk(std::string_view bytes);
inline constexpr std::string_view kLastChunk = "0\r\n\r\n";
inline constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";

// "Sun, 06 Nov 1994 08:49:37 GMT".
std::string HttpDate(WallTime time);

}  // namespace kgpu::http
