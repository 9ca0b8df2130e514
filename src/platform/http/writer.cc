#include "src/platform/http/writer.h"

#include <algorithm>
#include <array>
#include <ctime>
#include <initializer_list>
#include <iterator>

#include "src/platform/base/strings.h"
#include "src/platform/http/status_code.h"

namespace kgpu::http {
namespace {

// Source: RFC 9110, section 5.6.2.
bool IsToken(std::string_view text) {
  constexpr std::string_view kMarks = "!#$%&'*+-.^_`|~";
  return !text.empty() && std::ranges::all_of(text, [&](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           kMarks.find(c) != kMarks.npos;
  });
}

void AppendField(std::string& head, std::string_view name, std::string_view value) {
  if (!IsToken(name)) {
    return;
  }
  head.append(name).append(": ");
  // Line ends and other control characters would make fields of their own.
  std::ranges::transform(value, std::back_inserter(head), [](char c) {
    return static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? ' ' : c;
  });
  head += "\r\n";
}

void AppendFields(std::string& head, const Headers& headers,
                  std::initializer_list<std::string_view> without) {
  for (const auto& [name, value] : headers.fields()) {
    const bool is_ours = std::ranges::any_of(
        without, [&](std::string_view ours) { return EqualsIgnoringCase(name, ours); });
    if (!is_ours) {
      AppendField(head, name, value);
    }
  }
}

}  // namespace

std::string HttpDate(WallTime time) {
  constexpr std::array kDays = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
  constexpr std::array kMonths = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                  "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  const std::time_t seconds = std::chrono::system_clock::to_time_t(time);
  std::tm utc{};
  if (gmtime_r(&seconds, &utc) == nullptr) {
    return "Thu, 01 Jan 1970 00:00:00 GMT";
  }
  return fmt::format("{}, {:02} {} {:04} {:02}:{:02}:{:02} GMT",
                     kDays.at(static_cast<size_t>(utc.tm_wday)), utc.tm_mday,
                     kMonths.at(static_cast<size_t>(utc.tm_mon)), utc.tm_year + 1900, utc.tm_hour,
                     utc.tm_min, utc.tm_sec);
}

std::string ResponseHead(const Response& response, Framing framing, bool keeps_alive,
                         WallTime now) {
  std::string head = fmt::format("HTTP/1.1 {} {}\r\n", response.code, ReasonPhrase(response.code));
  AppendFields(head, response.headers,
               {"Content-Length", "Transfer-Encoding", "Connection", "Date"});
  AppendField(head, "Date", HttpDate(now));
  // Source: RFC 9110, section 8.6: these have no body, and no length of one.
  const bool has_body = response.code >= 200 && response.code != 204 && response.code != 304;
  if (framing == Framing::kLength && has_body) {
    AppendField(head, "Content-Length", fmt::format("{}", response.body_size()));
  } else if (framing == Framing::kChunked) {
    AppendField(head, "Transfer-Encoding", "chunked");
  }
  // A client of HTTP/1.0 that asked for keep-alive needs the answer that it is granted.
  AppendField(head, "Connection", keeps_alive ? "keep-alive" : "close");
  head += "\r\n";
  return head;
}

StatusOr<std::string> RequestText(const Request& request, std::string_view host, bool keeps_alive) {
  const bool is_target_clean =
      !request.target.empty() && std::ranges::all_of(request.target, [](char c) {
        return static_cast<unsigned char>(c) > 0x20 && c != 0x7f;
      });
  if (!IsToken(request.method) || !is_target_clean) {
    return InvalidArgument(
        "{} {}: invalid HTTP request: percent-encode spaces and control characters",
        Printable(request.method), Printable(request.target));
  }
  std::string text = fmt::format("{} {} HTTP/1.1\r\n", request.method, request.target);
  if (!request.headers.Find("Host")) {
    AppendField(text, "Host", host);
  }
  AppendFields(text, request.headers, {"Content-Length", "Transfer-Encoding", "Connection"});
  if (!request.body.empty() || request.method == "POST" || request.method == "PUT") {
    AppendField(text, "Content-Length", fmt::format("{}", request.body.size()));
  }
  if (!keeps_alive) {
    AppendField(text, "Connection", "close");
  }
  text.append("\r\n").append(request.body);
  return text;
}

std::string Chunk(std::string_view bytes) {
  return bytes.empty() ? std::string() : fmt::format("{:x}\r\n{}\r\n", bytes.size(), bytes);
}

}  // namespace kgpu::http
