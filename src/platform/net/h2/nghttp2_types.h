// nghttp2's objects with owners, and our headers as nghttp2 takes them. Private to connection.cc.
#pragma once

#include <nghttp2/nghttp2.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "src/platform/base/strings.h"
#include "src/platform/net/http/message.h"

namespace kgpu::h2 {

struct SessionDeleter {
  void operator()(nghttp2_session* session) const { nghttp2_session_del(session); }
};
struct CallbacksDeleter {
  void operator()(nghttp2_session_callbacks* callbacks) const {
    nghttp2_session_callbacks_del(callbacks);
  }
};
struct OptionDeleter {
  void operator()(nghttp2_option* option) const { nghttp2_option_del(option); }
};

inline uint8_t* BytesOf(std::string_view text) {
  // nghttp2 copies them and never writes.
  return reinterpret_cast<uint8_t*>(const_cast<char*>(text.data()));
}

inline std::string_view TextOf(const uint8_t* bytes, size_t size) {
  return {reinterpret_cast<const char*>(bytes), size};
}

// HTTP/1's fields for connections are errors in HTTP/2.
inline bool IsForStreams(std::string_view name) {
  static constexpr std::array<std::string_view, 5> kOfConnections{
      "connection", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade"};
  return std::ranges::find(kOfConnections, name) == kOfConnections.end();
}

// Owns lower-case names for as long as nghttp2 looks at them.
class Fields {
 public:
  explicit Fields(const http::Headers& headers) {
    names_.reserve(headers.fields().size());
    for (const auto& [name, value] : headers.fields()) {
      names_.push_back(ToLower(name));
      if (IsForStreams(names_.back())) {
        Add(names_.back(), value);
      }
    }
  }
  void AddFirst(std::string_view name, std::string_view value) {
    values_.insert(values_.begin(), Pair(name, value));
  }
  const nghttp2_nv* data() const { return values_.data(); }
  size_t size() const { return values_.size(); }

 private:
  static nghttp2_nv Pair(std::string_view name, std::string_view value) {
    return {.name = BytesOf(name),
            .value = BytesOf(value),
            .namelen = name.size(),
            .valuelen = value.size(),
            .flags = NGHTTP2_NV_FLAG_NONE};
  }
  void Add(std::string_view name, std::string_view value) { values_.push_back(Pair(name, value)); }

  std::vector<std::string> names_;
  std::vector<nghttp2_nv> values_;
};

}  // namespace kgpu::h2
