#include "src/platform/net/http/writer.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <ctime>
#include <initializer_list>

#include "src/platform/base/strings.h"
#include "src/platform/net/http/field.h"
#include "src/platform/net/http/status_code.h"

namespace kgpu::http {
namespace {

// Enough for the head of most messages, so that it grows in one step.
constexpr size_t kUsualHead = 512;
// Of a field, in an error.
constexpr size_t kShownField = 80;

void AppendField(std::string& head, std::string_view name, std::string_view value) {
  if (!IsToken(name)) {
    return;
  }
  head.append(name).append(": ");
  const size_t begin = head.size();
  head.append(value);
  // Line ends and other control characters would make fields of their own.
  std::ranges::replace_if(
      head.begin() + static_cast<std::ptrdiff_t>(begin), head.end(),
      [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }, ' ');
  head += "\r\n";
}

void AppendTwoDigits(std::string& text, int number) {
  text += static_cast<char>('0' + number / 10 % 10);
  text += static_cast<char>('0' + number % 10);
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
  // By hand: every response has a date, and a format string costs as much as the rest of its head.
  std::string text;
  text.reserve(std::string_view("Sun, 06 Nov 1994 08:49:37 GMT").size());
  text.append(kDays.at(static_cast<size_t>(utc.tm_wday))).append(", ");
  AppendTwoDigits(text, utc.tm_mday);
  text.append(" ").append(kMonths.at(static_cast<size_t>(utc.tm_mon))).append(" ");
  AppendTwoDigits(text, (utc.tm_year + 1900) / 100);
  AppendTwoDigits(text, utc.tm_year + 1900);
  text += ' ';
  AppendTwoDigits(text, utc.tm_hour);
  text += ':';
  AppendTwoDigits(text, utc.tm_min);
  text += ':';
  AppendTwoDigits(text, utc.tm_sec);
  text += " GMT";
  return text;
}

std::string ResponseHead(const Response& response, Framing framing, bool keeps_alive,
                         WallTime now) {
  std::string head;
  head.reserve(kUsualHead);
  head.append("HTTP/1.1 ").append(std::to_string(response.code)).append(" ");
  head.append(ReasonPhrase(response.code)).append("\r\n");
  AppendFields(head, response.headers,
               {"Content-Length", "Transfer-Encoding", "Connection", "Date"});
  AppendField(head, "Date", HttpDate(now));
  // Source: RFC 9110, section 8.6: these have no body, and no length of one.
  const bool has_body = response.code >= 200 && response.code != 204 && response.code != 304;
  if (framing == Framing::kLength && has_body) {
    AppendField(head, "Content-Length", std::to_string(response.body_size()));
  } else if (const auto given = response.headers.Find("Content-Length");
             framing == Framing::kGiven && has_body && given) {
    AppendField(head, "Content-Length", *given);
  } else if (framing == Framing::kChunked) {
    AppendField(head, "Transfer-Encoding", "chunked");
  }
  // A client of HTTP/1.0 that asked for keep-alive needs the answer that it is granted.
  AppendField(head, "Connection", keeps_alive ? "keep-alive" : "close");
  head += "\r\n";
  return head;
}

StatusOr<std::string> RequestHead(const Request& request, std::string_view host, bool keeps_alive) {
  const bool is_target_clean =
      !request.target.empty() && std::ranges::all_of(request.target, [](char c) {
        return static_cast<unsigned char>(c) > 0x20 && c != 0x7f;
      });
  if (!IsToken(request.method) || !is_target_clean) {
    return InvalidArgument(
        "{} {}: invalid HTTP request: percent-encode spaces and control characters",
        Printable(request.method), Printable(request.target));
  }
  for (const auto& [name, value] : request.headers.fields()) {
    if (!IsToken(name) || !IsFieldValue(Trim(value))) {
      return InvalidArgument(
          "header \"{}: {}\": invalid in an HTTP request: a name is letters, digits and "
          "!#$%&'*+-.^_`|~, a value has no line end or control character",
          Printable(name, kShownField), Printable(value, kShownField));
    }
  }
  std::string text;
  text.reserve(kUsualHead + request.target.size());
  text.append(request.method).append(" ").append(request.target).append(" HTTP/1.1\r\n");
  if (!request.headers.Find("Host")) {
    AppendField(text, "Host", host);
  }
  AppendFields(text, request.headers, {"Content-Length", "Transfer-Encoding", "Connection"});
  if (!request.body.empty() || request.method == "POST" || request.method == "PUT") {
    AppendField(text, "Content-Length", std::to_string(request.body.size()));
  }
  if (!keeps_alive) {
    AppendField(text, "Connection", "close");
  }
  return text += "\r\n";
}

StatusOr<std::string> RequestText(const Request& request, std::string_view host, bool keeps_alive) {
  StatusOr<std::string> text = RequestHead(request, host, keeps_alive);
  if (text.ok()) {
    text->append(request.body);
  }
  return text;
}

std::string Chunk(std::string_view bytes) {
  return bytes.empty() ? std::string() : fmt::format("{:x}\r\n{}\r\n", bytes.size(), bytes);
}

}  // namespace kgpu::http
