#include "src/platform/net/h2/stream.h"

#include <algorithm>
#include <cstring>

#include "src/platform/net/http/field.h"

namespace kgpu::h2 {
namespace {

// What was sent is dropped once it is so much: not at every frame.
constexpr size_t kDropSent = size_t{64} << 10;

// nghttp2 takes names in lower case only.
constexpr std::string_view kCookie = "cookie";
constexpr std::string_view kHost = "host";

void JoinCookies(http::Headers& headers) {
  if (headers.Count(kCookie) < 2) {
    return;
  }
  std::string joined;
  for (const auto& [name, value] : headers.fields()) {
    if (name == kCookie) {
      joined.append(joined.empty() ? "" : "; ").append(value);
    }
  }
  headers.EraseIf([](std::string_view name) { return name == kCookie; });
  headers.Add(kCookie, joined);
}

// False: it is none.
bool SettleHost(http::Headers& headers) {
  const auto first = headers.Find(kHost);
  if (!first) {
    return true;
  }
  const std::string host(*first);
  const bool is_same = std::ranges::all_of(headers.fields(), [&](const auto& field) {
    return field.first != kHost || http::EqualsIgnoringCase(field.second, host);
  });
  if (is_same && headers.Count(kHost) > 1) {
    headers.EraseIf([](std::string_view name) { return name == kHost; });
    headers.Add(kHost, host);
  }
  return is_same && http::IsHost(host);
}

}  // namespace

size_t StreamState::Take(char* to, size_t room) {
  const size_t count = std::min(room, pending());
  std::memcpy(to, output.data() + sent, count);
  sent += count;
  taken += count;
  if (sent == output.size()) {
    output.clear();
    sent = 0;
  } else if (sent > kDropSent && sent * 2 > output.size()) {
    output.erase(0, sent);
    sent = 0;
  }
  return count;
}

std::chrono::nanoseconds StreamState::LookAtWait(SteadyTime now) {
  if (pending() == 0) {
    waits_since.reset();
  } else if (!waits_since || taken != taken_before) {
    waits_since = now;
  }
  taken_before = taken;
  return waits_since ? now - *waits_since : std::chrono::nanoseconds(0);
}

void StreamState::Append(std::string_view bytes) {
  output.append(bytes);
}

void AddField(http::Request& request, std::string_view name, std::string_view value) {
  if (!name.starts_with(':')) {
    return request.headers.Add(name, value);
  }
  if (name == ":method") {
    request.method = value;
  } else if (name == ":path") {
    request.target = value;
  } else if (name == ":authority") {
    request.headers.Add("host", value);
  }
}

bool CompleteRequest(http::Request& request) {
  JoinCookies(request.headers);
  return !request.method.empty() && !request.target.empty() && SettleHost(request.headers) &&
         http::SplitTarget(request).ok();
}

}  // namespace kgpu::h2
