// A connection's state, for its sources. They alone know nghttp2.
#pragma once

#include <nghttp2/nghttp2.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "src/platform/net/h2/connection.h"
#include "src/platform/net/h2/nghttp2_types.h"
#include "src/platform/net/h2/peer_budget.h"
#include "src/platform/net/h2/stream.h"

namespace kgpu::h2 {

inline std::string BodyOf(http::Response& response) {
  return response.shared_front ? *response.shared_front + response.body : std::move(response.body);
}

struct Connection::Impl {
  Impl(const Limits& connection_limits, Handlers connection_handlers)
      : limits(connection_limits),
        handlers(std::move(connection_handlers)),
        share(limits.all_bodies) {}

  Status Open();
  StreamState* Find(StreamId id) {
    const auto found = streams.find(id);
    return found == streams.end() ? nullptr : &found->second;
  }
  StreamState* FindWaiting(StreamId id) {
    StreamState* stream = Find(id);
    return stream != nullptr && stream->is_complete && !stream->has_ended ? stream : nullptr;
  }
  void Submit(StreamId id, const http::Response& head, bool has_body);
  void Resume(StreamId id, StreamState& stream) {
    if (std::exchange(stream.is_deferred, false)) {
      (void)nghttp2_session_resume_data(session.get(), id);
    }
  }
  void Kill(uint32_t code) { (void)nghttp2_session_terminate_session(session.get(), code); }
  void Complete(StreamId id, StreamState& stream);
  int OnField(const nghttp2_frame& frame, std::string_view name, std::string_view value);
  void OnFrame(const nghttp2_frame& frame);
  void OnData(StreamId id, std::string_view bytes);
  void OnRequestFrame(const nghttp2_frame& frame);
  void OnHeader(StreamId id, StreamState& stream);
  void Admit(StreamId id, StreamState& stream);
  void Refuse(StreamId id, StreamState& stream, int code, std::string_view text);
  void Refuse(StreamId id, StreamState& stream, Answer answer);
  void StopUpload(StreamId id);
  void OnSent(const nghttp2_frame& frame);
  // Frees the share of a request that is no longer incomplete.
  void Release(const StreamState& stream) {
    bodies -= stream.request.body.size();
    (void)share.Set(bodies);
  }
  void OnStreamEnd(StreamId id);

  static Impl& Of(void* user) { return *static_cast<Impl*>(user); }
  static void SetCallbacks(nghttp2_session_callbacks* callbacks);
  static ssize_t ReadBody(nghttp2_session* session, int32_t id, uint8_t* to, size_t room,
                          uint32_t* flags, nghttp2_data_source*, void* user);

  const Limits limits;
  const Handlers handlers;
  std::unique_ptr<nghttp2_session, SessionDeleter> session;
  std::map<StreamId, StreamState> streams;
  PeerBudget budget;
  SteadyTime now{};
  size_t bodies = 0;  // bytes of incomplete requests
  http::BodyBudget::Share share;
  bool has_had_request = false;
  bool is_failed = false;
  std::vector<std::pair<StreamId, http::Request>> complete;  // to be handed out
  std::string output;
  size_t sent = 0;  // of `output`
};

}  // namespace kgpu::h2
