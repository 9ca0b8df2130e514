#include "src/functions/service/function_call.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "src/platform/base/strings.h"

namespace kgpu::functions {
namespace {

constexpr size_t kSmallAnswer = size_t{64} << 10;
constexpr int kCutOffCode = 502;

// Of one connection, not of the message. Source: RFC 9110, 7.6.1.
constexpr std::array<std::string_view, 9> kHopByHop = {
    "connection", "keep-alive",        "proxy-connection", "te",    "trailer",
    "upgrade",    "transfer-encoding", "content-length",   "expect"};

// Also those that the field Connection names.
std::vector<std::string_view> DroppedNames(const http::Headers& headers) {
  std::vector<std::string_view> names(kHopByHop.begin(), kHopByHop.end());
  for (const auto& [name, value] : headers.fields()) {
    if (http::EqualsIgnoringCase(name, "connection")) {
      for (const std::string_view word : Split(value, ',')) {
        names.push_back(Trim(word));
      }
    }
  }
  return names;
}

}  // namespace

HttpSink::~HttpSink() {
  if (small_) {
    Refuse({kCutOffCode, "crash", "the replica ended during its answer"});
  }
}

bool HttpSink::is_open() const {
  return stream_ ? stream_->is_open() : responder_.is_open();
}

void HttpSink::Refuse(const CallFault& fault) {
  small_.reset();
  http::Response response = http::TextResponse(fault.code, fault.text);
  response.headers.Add(kFaultHeader, fault.fault);
  response.headers.Add(kCallIdHeader, call_id_);
  if (fault.retry_after) {
    response.headers.Add("Retry-After", std::to_string(fault.retry_after->count()));
  }
  responder_.Send(std::move(response));
}

void HttpSink::Head(int code, const http::Headers& headers) {
  http::Response head{.code = code, .headers = EndToEnd(headers)};
  if (!head.headers.Find(kCallIdHeader)) {
    head.headers.Add(kCallIdHeader, call_id_);
  }
  const std::optional<uint64_t> length = ParseUint(headers.Find("Content-Length").value_or(""));
  if (is_head_ && length) {
    head.headers.Add("Content-Length", std::to_string(*length));
  }
  if (is_head_ || (length && *length <= kSmallAnswer)) {
    small_ = std::move(head);
  } else {
    stream_ = responder_.Begin(std::move(head));
  }
}

bool HttpSink::Data(std::string_view bytes) {
  if (small_) {
    small_->body += bytes;
    return responder_.is_open();
  }
  return stream_ && stream_->Write(bytes);
}

void HttpSink::End() {
  if (small_) {
    responder_.Send(*std::move(small_));
    small_.reset();
  } else if (stream_) {
    stream_->End();
  }
}

void HttpSink::OnDrained(std::function<void()> task) {
  if (stream_) {
    stream_->OnDrained(std::move(task));
  }
}

http::Headers EndToEnd(const http::Headers& headers) {
  const std::vector<std::string_view> dropped = DroppedNames(headers);
  http::Headers kept;
  // And for those that the caller adds.
  kept.Reserve(headers.fields().size() + 3);
  for (const auto& [name, value] : headers.fields()) {
    const bool is_dropped = std::ranges::any_of(
        dropped, [&name](std::string_view other) { return http::EqualsIgnoringCase(name, other); });
    if (!is_dropped) {
      kept.Add(name, value);
    }
  }
  return kept;
}

http::Request PassedOn(http::Request& request, std::string target, const std::string& call_id) {
  http::Request passed{.method = request.method, .target = std::move(target)};
  passed.headers = EndToEnd(request.headers);
  passed.headers.EraseIf([](std::string_view name) {
    return http::EqualsIgnoringCase(name, kCallIdHeader) ||
           http::EqualsIgnoringCase(name, kFaultHeader) ||
           http::EqualsIgnoringCase(name, kDeadlineHeader);
  });
  passed.headers.Add(kCallIdHeader, call_id);
  passed.body = std::move(request.body);
  return passed;
}

StatusOr<std::optional<std::chrono::milliseconds>> CallerPatience(const http::Request& request) {
  constexpr uint64_t kLongestMs = 86'400'000;
  const auto text = request.headers.Find(kDeadlineHeader);
  if (!text) {
    return std::nullopt;
  }
  const std::optional<uint64_t> limit = ParseUint(*text);
  if (!limit || *limit == 0 || *limit > kLongestMs) {
    return InvalidArgument("{}: {} must be a number of milliseconds from 1 to {}", kDeadlineHeader,
                           Printable(*text, 40), kLongestMs);
  }
  return std::chrono::milliseconds(*limit);
}

bool IsCallId(std::string_view id) {
  constexpr size_t kLongest = 128;
  constexpr std::string_view kLetters =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.:";
  return !id.empty() && id.size() <= kLongest &&
         id.find_first_not_of(kLetters) == std::string_view::npos;
}

}  // namespace kgpu::functions
