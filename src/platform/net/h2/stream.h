// What a connection knows of one stream.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "src/platform/base/clock.h"
#include "src/platform/net/http/message.h"

namespace kgpu::h2 {

struct StreamState {
  http::Request request{.method = "", .target = ""};
  SteadyTime began{};
  size_t header_size = 0;     // as HTTP/2 counts it
  bool is_head = false;       // so its response has no body
  bool has_data = false;      // some of a body has come
  bool is_complete = false;   // the request has been handed out, or refused
  bool has_response = false;  // its head has been submitted
  bool has_ended = false;     // nothing will be written after `output`
  bool is_deferred = false;   // nghttp2 waits for more output
  http::Headers trailers{};
  std::string output{};
  size_t sent = 0;  // of `output`
  // Of the output as a whole: how much was taken, how much of that when somebody last looked, and
  // since when what is left waits without any more being taken.
  uint64_t taken = 0;
  uint64_t taken_before = 0;
  std::optional<SteadyTime> waits_since{};

  size_t pending() const { return output.size() - sent; }
  // Copies up to `room` bytes out.
  size_t Take(char* to, size_t room);
  // How long bytes have been waiting while none were taken, as far as these calls have seen.
  std::chrono::nanoseconds LookAtWait(SteadyTime now);
  void Append(std::string_view bytes);
};

// Takes one field of a request's header; nghttp2 has checked it.
void AddField(http::Request& request, std::string_view name, std::string_view value);
// Path and query from the target, one host, and one field for all parts of a cookie (RFC 9113,
// 8.2.3). False: the request has no target, or an invalid one, or an invalid host, or two that
// differ (8.3.1).
bool CompleteRequest(http::Request& request);

}  // namespace kgpu::h2
