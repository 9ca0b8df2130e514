#include "src/platform/net/h2/grpc_message.h"

#include <algorithm>

#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"

namespace kgpu::h2 {
namespace {

constexpr size_t kPrefix = 5;
constexpr std::string_view kContentType = "application/grpc";
constexpr size_t kMaxTimeoutDigits = 8;
// Of a text in a trailer: clients limit their headers, often to 8 KiB.
constexpr size_t kMaxTrailerText = 4096;

std::string PercentEncoded(std::string_view text) {
  std::string out;
  for (const char c : text.substr(0, kMaxTrailerText)) {
    if (c >= ' ' && c <= '~' && c != '%') {
      out += c;
    } else {
      fmt::format_to(std::back_inserter(out), "%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return out;
}

}  // namespace

bool IsGrpc(const http::Request& request) {
  const std::string type = ToLower(request.headers.Find("content-type").value_or(""));
  const std::string_view rest =
      std::string_view(type).substr(std::min(type.size(), kContentType.size()));
  return request.method == "POST" && type.starts_with(kContentType) &&
         (rest.empty() || rest.front() == '+' || rest.front() == ';');
}

StatusOr<std::string_view> GrpcMessageIn(std::string_view body, size_t limit) {
  if (body.size() < kPrefix) {
    return InvalidArgument("the request has no complete message");
  }
  size_t size = 0;
  for (const char c : body.substr(1, kPrefix - 1)) {
    size = size << 8 | static_cast<unsigned char>(c);
  }
  if (body.front() != '\0') {
    return body.front() == '\1' ? Unimplemented("the message is compressed: send it as it is")
                                : InvalidArgument("the message's first byte must be 0");
  }
  if (size > limit) {
    return OutOfRange("the message has {} bytes: at most {} are allowed", size, limit);
  }
  if (body.size() != kPrefix + size) {
    return InvalidArgument(
        "the request must have exactly one message: its prefix says {} bytes, {} came", size,
        body.size() - kPrefix);
  }
  return body.substr(kPrefix);
}

std::string FrameGrpcMessage(std::string_view message) {
  std::string out(1, '\0');
  out.reserve(kPrefix + message.size());
  for (int shift = 24; shift >= 0; shift -= 8) {
    out += static_cast<char>(message.size() >> shift);
  }
  out += message;
  return out;
}

http::Headers GrpcTrailers(GrpcCode code, std::string_view message) {
  http::Headers trailers;
  trailers.Add("grpc-status", fmt::format("{}", static_cast<int>(code)));
  if (!message.empty()) {
    trailers.Add("grpc-message", PercentEncoded(message));
  }
  return trailers;
}

http::Response GrpcHead() {
  return {.code = 200, .headers = {{"content-type", std::string(kContentType)}}};
}

StatusOr<std::chrono::nanoseconds> ParseGrpcTimeout(std::string_view text) {
  const auto invalid = [text] {
    return InvalidArgument(
        "grpc-timeout: \"{}\" must be 1 to {} digits and a unit, H, M, S, m, u or n: 100m",
        Printable(text, 40), kMaxTimeoutDigits);
  };
  const std::string_view digits = text.substr(0, text.empty() ? 0 : text.size() - 1);
  const bool is_number = !digits.empty() && digits.size() <= kMaxTimeoutDigits &&
                         digits.find_first_not_of("0123456789") == std::string_view::npos;
  const std::optional<uint64_t> number = is_number ? ParseUint(digits) : std::nullopt;
  if (!number) {
    return invalid();
  }
  const auto count = static_cast<int64_t>(*number);
  switch (text.back()) {
    case 'H':
      // More than a year is as good as no deadline, and must not overflow.
      return std::chrono::hours(std::min<int64_t>(count, 24 * 365));
    case 'M':
      return std::chrono::minutes(std::min<int64_t>(count, 60 * 24 * 365));
    case 'S':
      return std::chrono::seconds(count);
    case 'm':
      return std::chrono::milliseconds(count);
    case 'u':
      return std::chrono::microseconds(count);
    case 'n':
      return std::chrono::nanoseconds(count);
    default:
      return invalid();
  }
}

StatusOr<std::optional<std::chrono::nanoseconds>> GrpcTimeoutOf(const http::Request& request) {
  const auto text = request.headers.Find("grpc-timeout");
  if (!text) {
    return std::nullopt;
  }
  ASSIGN_OR_RETURN(const std::chrono::nanoseconds timeout, ParseGrpcTimeout(*text));
  return timeout;
}

}  // namespace kgpu::h2
