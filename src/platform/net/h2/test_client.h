// An HTTP/2 client for tests, by nghttp2: requests in, bytes out; bytes in, answers out.
#pragma once

#include <nghttp2/nghttp2.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "src/platform/net/h2/connection.h"
#include "src/platform/net/http/message.h"

namespace kgpu::h2 {

// A frame as it is on the wire. Source: RFC 9113, 4.1.
inline std::string FrameOf(uint8_t type, uint8_t flags, uint32_t stream, std::string_view payload) {
  std::string frame;
  for (int shift = 16; shift >= 0; shift -= 8) {
    frame += static_cast<char>(payload.size() >> shift);
  }
  frame += static_cast<char>(type);
  frame += static_cast<char>(flags);
  for (int shift = 24; shift >= 0; shift -= 8) {
    frame += static_cast<char>(stream >> shift);
  }
  return frame.append(payload);
}

class TestClient {
 public:
  struct Answer {
    std::map<std::string, std::string> fields;  // of head and trailers
    std::string body;
    std::optional<uint32_t> closed;  // with this error code
  };

  TestClient() {
    nghttp2_session_callbacks* callbacks = nullptr;
    nghttp2_session_callbacks_new(&callbacks);
    nghttp2_session_callbacks_set_on_header_callback(
        callbacks,
        [](nghttp2_session*, const nghttp2_frame* frame, const uint8_t* name, size_t name_size,
           const uint8_t* value, size_t value_size, uint8_t, void* user) {
          Of(user).answers[frame->hd.stream_id].fields[Text(name, name_size)] =
              Text(value, value_size);
          return 0;
        });
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(
        callbacks, [](nghttp2_session*, uint8_t, int32_t stream, const uint8_t* bytes, size_t size,
                      void* user) {
          Of(user).answers[stream].body += Text(bytes, size);
          return 0;
        });
    nghttp2_session_callbacks_set_on_stream_close_callback(
        callbacks, [](nghttp2_session*, int32_t stream, uint32_t code, void* user) {
          Of(user).answers[stream].closed = code;
          return 0;
        });
    nghttp2_session_callbacks_set_on_frame_recv_callback(
        callbacks, [](nghttp2_session*, const nghttp2_frame* frame, void* user) {
          if (frame->hd.type == NGHTTP2_GOAWAY) {
            Of(user).goaway = frame->goaway.error_code;
          }
          return 0;
        });
    nghttp2_session_client_new(&session_, callbacks, this);
    nghttp2_session_callbacks_del(callbacks);
    nghttp2_submit_settings(session_, NGHTTP2_FLAG_NONE, nullptr, 0);
  }
  ~TestClient() { nghttp2_session_del(session_); }
  TestClient(const TestClient&) = delete;
  TestClient& operator=(const TestClient&) = delete;

  StreamId Request(const std::string& path, std::string body = "",
                   const http::Headers& headers = {}, const std::string& method = "POST") {
    bodies_.push_back(std::make_unique<std::string>(std::move(body)));
    std::vector<nghttp2_nv> fields{Field(":method", method), Field(":path", path),
                                   Field(":scheme", "http"), Field(":authority", "host")};
    for (const auto& [name, value] : headers.fields()) {
      fields.push_back(Field(name, value));
    }
    nghttp2_data_provider provider{};
    provider.source.ptr = bodies_.back().get();
    provider.read_callback = [](nghttp2_session*, int32_t, uint8_t* to, size_t room,
                                uint32_t* flags, nghttp2_data_source* source, void*) {
      auto& rest = *static_cast<std::string*>(source->ptr);
      const size_t count = std::min(room, rest.size());
      rest.copy(reinterpret_cast<char*>(to), count);
      rest.erase(0, count);
      *flags |= rest.empty() ? uint32_t{NGHTTP2_DATA_FLAG_EOF} : 0U;
      return static_cast<ssize_t>(count);
    };
    return nghttp2_submit_request(session_, nullptr, fields.data(), fields.size(), &provider,
                                  nullptr);
  }
  void Cancel(StreamId stream) {
    nghttp2_submit_rst_stream(session_, NGHTTP2_FLAG_NONE, stream, NGHTTP2_CANCEL);
  }

  std::string Send() {
    std::string bytes;
    const uint8_t* part = nullptr;
    for (ssize_t size = nghttp2_session_mem_send(session_, &part); size > 0;
         size = nghttp2_session_mem_send(session_, &part)) {
      bytes += Text(part, static_cast<size_t>(size));
    }
    return bytes;
  }
  void Receive(std::string_view bytes) {
    nghttp2_session_mem_recv(session_, reinterpret_cast<const uint8_t*>(bytes.data()),
                             bytes.size());
  }

  std::map<StreamId, Answer> answers;
  std::optional<uint32_t> goaway;  // the server ends the connection, with this error code

 private:
  static TestClient& Of(void* user) { return *static_cast<TestClient*>(user); }
  static std::string Text(const uint8_t* bytes, size_t size) {
    return {reinterpret_cast<const char*>(bytes), size};
  }
  static nghttp2_nv Field(std::string_view name, std::string_view value) {
    return {.name = reinterpret_cast<uint8_t*>(const_cast<char*>(name.data())),
            .value = reinterpret_cast<uint8_t*>(const_cast<char*>(value.data())),
            .namelen = name.size(),
            .valuelen = value.size(),
            .flags = NGHTTP2_NV_FLAG_NONE};
  }

  nghttp2_session* session_ = nullptr;
  std::vector<std::unique_ptr<std::string>> bodies_;
};

}  // namespace kgpu::h2
