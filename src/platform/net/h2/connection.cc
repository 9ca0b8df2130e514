// The one module that knows nghttp2.
#include "src/platform/net/h2/connection.h"

#include <nghttp2/nghttp2.h>

#include <algorithm>
#include <array>
#include <map>
#include <utility>
#include <vector>

#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"
#include "src/platform/net/h2/connection_impl.h"

namespace kgpu::h2 {
namespace {

// So many frames of a header may follow one HEADERS frame. Source: CVE-2024-28182.
constexpr size_t kMaxContinuations = 8;
// Resets by the peer at once, and per second. Source: CVE-2023-44487.
constexpr uint64_t kResetBurst = 200;
constexpr uint64_t kResetRate = 50;
constexpr size_t kMaxSettings = 16;
constexpr size_t kMaxUnsentAcks = 200;
// Of the whole connection; one stream has a quarter, so that four upload at full speed.
constexpr int32_t kConnectionWindow = int32_t{4} << 20;
constexpr uint32_t kStreamWindow = uint32_t{1} << 20;

bool HasBody(int code) {
  constexpr int kNoContent = 204;
  constexpr int kNotModified = 304;
  return code != kNoContent && code != kNotModified;
}

}  // namespace

Status Connection::Impl::Open() {
  nghttp2_session_callbacks* new_callbacks = nullptr;
  nghttp2_option* new_option = nullptr;
  if (nghttp2_session_callbacks_new(&new_callbacks) != 0 || nghttp2_option_new(&new_option) != 0) {
    nghttp2_session_callbacks_del(new_callbacks);
    return ResourceExhausted("HTTP/2: no memory for a connection");
  }
  const std::unique_ptr<nghttp2_session_callbacks, CallbacksDeleter> callbacks(new_callbacks);
  const std::unique_ptr<nghttp2_option, OptionDeleter> option(new_option);
  SetCallbacks(callbacks.get());
  nghttp2_option_set_stream_reset_rate_limit(option.get(), kResetBurst, kResetRate);
  nghttp2_option_set_max_continuations(option.get(), kMaxContinuations);
  nghttp2_option_set_max_settings(option.get(), kMaxSettings);
  nghttp2_option_set_max_outbound_ack(option.get(), kMaxUnsentAcks);
  nghttp2_option_set_no_closed_streams(option.get(), 1);
  nghttp2_session* new_session = nullptr;
  if (nghttp2_session_server_new2(&new_session, callbacks.get(), this, option.get()) != 0) {
    return ResourceExhausted("HTTP/2: no memory for a connection");
  }
  session.reset(new_session);
  const std::array settings{
      nghttp2_settings_entry{NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, limits.streams},
      nghttp2_settings_entry{NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, limits.header},
      nghttp2_settings_entry{NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, kStreamWindow}};
  (void)nghttp2_submit_settings(session.get(), NGHTTP2_FLAG_NONE, settings.data(), settings.size());
  (void)nghttp2_session_set_local_window_size(session.get(), NGHTTP2_FLAG_NONE, 0,
                                              kConnectionWindow);
  return OkStatus();
}

void Connection::Impl::SetCallbacks(nghttp2_session_callbacks* callbacks) {
  nghttp2_session_callbacks_set_on_begin_headers_callback(
      callbacks, [](nghttp2_session*, const nghttp2_frame* frame, void* user) {
        if (frame->hd.type == NGHTTP2_HEADERS && frame->headers.cat == NGHTTP2_HCAT_REQUEST) {
          Of(user).streams[frame->hd.stream_id].began = Of(user).now;
        }
        return 0;
      });
  nghttp2_session_callbacks_set_on_header_callback(
      callbacks,
      [](nghttp2_session*, const nghttp2_frame* frame, const uint8_t* name, size_t name_size,
         const uint8_t* value, size_t value_size, uint8_t, void* user) {
        return Of(user).OnField(*frame, TextOf(name, name_size), TextOf(value, value_size));
      });
  nghttp2_session_callbacks_set_on_frame_recv_callback(
      callbacks, [](nghttp2_session*, const nghttp2_frame* frame, void* user) {
        Of(user).OnFrame(*frame);
        return 0;
      });
  nghttp2_session_callbacks_set_on_frame_send_callback(
      callbacks, [](nghttp2_session*, const nghttp2_frame* frame, void* user) {
        Of(user).OnSent(*frame);
        return 0;
      });
  nghttp2_session_callbacks_set_on_data_chunk_recv_callback(
      callbacks,
      [](nghttp2_session*, uint8_t, int32_t id, const uint8_t* bytes, size_t size, void* user) {
        Of(user).OnData(id, TextOf(bytes, size));
        return 0;
      });
  nghttp2_session_callbacks_set_on_stream_close_callback(
      callbacks, [](nghttp2_session*, int32_t id, uint32_t, void* user) {
        Of(user).OnStreamEnd(id);
        return 0;
      });
}

ssize_t Connection::Impl::ReadBody(nghttp2_session* session, int32_t id, uint8_t* to, size_t room,
                                   uint32_t* flags, nghttp2_data_source*, void* user) {
  StreamState* stream = Of(user).Find(id);
  if (stream == nullptr) {
    return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
  }
  const size_t count = stream->Take(reinterpret_cast<char*>(to), room);
  if (stream->pending() > 0) {
    return static_cast<ssize_t>(count);
  }
  if (!stream->has_ended) {
    stream->is_deferred = count == 0;
    return count > 0 ? static_cast<ssize_t>(count) : ssize_t{NGHTTP2_ERR_DEFERRED};
  }
  *flags |= NGHTTP2_DATA_FLAG_EOF;
  if (!stream->trailers.fields().empty()) {
    *flags |= NGHTTP2_DATA_FLAG_NO_END_STREAM;
    const Fields fields(stream->trailers);
    (void)nghttp2_submit_trailer(session, id, fields.data(), fields.size());
  }
  return static_cast<ssize_t>(count);
}

void Connection::Impl::Submit(StreamId id, const http::Response& head, bool has_body) {
  const std::string code = fmt::format("{}", head.code);
  Fields fields(head.headers);
  fields.AddFirst(":status", code);
  const nghttp2_data_provider provider{.source = {.ptr = nullptr}, .read_callback = &ReadBody};
  (void)nghttp2_submit_response(session.get(), id, fields.data(), fields.size(),
                                has_body ? &provider : nullptr);
}

Connection::Connection(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {
}
Connection::~Connection() = default;

StatusOr<std::unique_ptr<Connection>> Connection::Create(const Limits& limits, Handlers handlers) {
  auto impl = std::make_unique<Impl>(limits, std::move(handlers));
  RETURN_IF_ERROR(impl->Open());
  return std::unique_ptr<Connection>(new Connection(std::move(impl)));
}

Status Connection::Receive(std::string_view bytes, SteadyTime now) {
  impl_->now = now;
  impl_->budget.Refill(now);
  const ssize_t count =
      nghttp2_session_mem_recv(impl_->session.get(), BytesOf(bytes), bytes.size());
  for (auto& [stream, request] : std::exchange(impl_->complete, {})) {
    impl_->handlers.on_request(stream, std::move(request));
  }
  if (impl_->is_failed) {
    return OutOfRange("HTTP/2: the peer sends too many frames that ask for nothing");
  }
  if (count < 0) {
    impl_->is_failed = true;
    const bool is_flood = count == NGHTTP2_ERR_FLOODED;
    impl_->Kill(is_flood ? NGHTTP2_ENHANCE_YOUR_CALM : NGHTTP2_PROTOCOL_ERROR);
    const char* why = nghttp2_strerror(static_cast<int>(count));
    return is_flood ? OutOfRange("HTTP/2: {}", why) : InvalidArgument("HTTP/2: {}", why);
  }
  return OkStatus();
}

void Connection::Respond(StreamId stream, http::Response response, const http::Headers& trailers) {
  StreamState* state = impl_->FindWaiting(stream);
  if (state == nullptr || state->has_response) {
    return;
  }
  const bool has_body = HasBody(response.code);
  // Where trailers follow, the client knows the end by them: gRPC's has no length.
  const bool is_left_out = state->is_head && response.body_size() == 0;  // of unknown length
  if (has_body && trailers.fields().empty() && !is_left_out &&
      !response.headers.Find("content-length")) {
    response.headers.Add("content-length", fmt::format("{}", response.body_size()));
  }
  state->has_response = true;
  state->has_ended = true;
  state->trailers = trailers;
  if (has_body && !state->is_head) {
    state->output = BodyOf(response);
  }
  impl_->Submit(stream, response, !state->output.empty() || !trailers.fields().empty());
}

void Connection::Begin(StreamId stream, http::Response head) {
  StreamState* state = impl_->FindWaiting(stream);
  if (state == nullptr || state->has_response) {
    return;
  }
  state->has_response = true;
  const bool may_have_body = HasBody(head.code) && !state->is_head;
  if (may_have_body) {
    state->output = BodyOf(head);
  } else {
    state->has_ended = true;
  }
  impl_->Submit(stream, head, may_have_body);
}

bool Connection::Write(StreamId stream, std::string_view bytes) {
  StreamState* state = impl_->FindWaiting(stream);
  if (state == nullptr || !state->has_response) {
    return false;
  }
  state->Append(bytes);
  impl_->Resume(stream, *state);
  return true;
}

void Connection::End(StreamId stream, const http::Headers& trailers) {
  StreamState* state = impl_->FindWaiting(stream);
  if (state == nullptr || !state->has_response) {
    return;
  }
  state->has_ended = true;
  state->trailers = trailers;
  impl_->Resume(stream, *state);
}

void Connection::Reset(StreamId stream) {
  if (StreamState* state = impl_->Find(stream); state != nullptr) {
    state->has_ended = true;
    state->output.clear();
    state->sent = 0;
    (void)nghttp2_submit_rst_stream(impl_->session.get(), NGHTTP2_FLAG_NONE, stream,
                                    NGHTTP2_INTERNAL_ERROR);
  }
}

bool Connection::IsOpen(StreamId stream) const {
  return impl_->FindWaiting(stream) != nullptr;
}

size_t Connection::Pending(StreamId stream) const {
  const StreamState* state = impl_->Find(stream);
  return state == nullptr ? 0 : state->pending();
}

void Connection::Shutdown() {
  (void)nghttp2_submit_goaway(impl_->session.get(), NGHTTP2_FLAG_NONE,
                              nghttp2_session_get_last_proc_stream_id(impl_->session.get()),
                              NGHTTP2_NO_ERROR, nullptr, 0);
}

void Connection::ResetOlderThan(SteadyTime time) {
  for (const auto& [id, stream] : impl_->streams) {
    const bool is_coming = nghttp2_session_get_stream_remote_close(impl_->session.get(), id) == 0;
    if (is_coming && stream.began < time) {
      (void)nghttp2_submit_rst_stream(impl_->session.get(), NGHTTP2_FLAG_NONE, id, NGHTTP2_CANCEL);
    }
  }
}

void Connection::ResetStuck(SteadyTime now, std::chrono::nanoseconds limit) {
  for (auto& [id, stream] : impl_->streams) {
    if (stream.LookAtWait(now) >= limit) {
      (void)nghttp2_submit_rst_stream(impl_->session.get(), NGHTTP2_FLAG_NONE, id, NGHTTP2_CANCEL);
    }
  }
}

std::string_view Connection::Output() {
  while (impl_->output.size() - impl_->sent < impl_->limits.output) {
    const uint8_t* bytes = nullptr;
    const ssize_t count = nghttp2_session_mem_send(impl_->session.get(), &bytes);
    if (count <= 0) {
      impl_->is_failed = impl_->is_failed || count < 0;
      break;
    }
    impl_->output.append(TextOf(bytes, static_cast<size_t>(count)));
  }
  return std::string_view(impl_->output).substr(impl_->sent);
}

void Connection::Consume(size_t count) {
  impl_->sent += count;
  if (impl_->sent == impl_->output.size()) {
    impl_->output.clear();
    impl_->sent = 0;
  }
}

size_t Connection::streams() const {
  return impl_->streams.size();
}

bool Connection::is_handling() const {
  return std::ranges::any_of(impl_->streams, [](const auto& entry) {
    return entry.second.is_complete && !entry.second.has_ended;
  });
}

bool Connection::is_answering() const {
  return std::ranges::any_of(impl_->streams,
                             [](const auto& entry) { return entry.second.pending() > 0; });
}

bool Connection::has_had_request() const {
  return impl_->has_had_request;
}

bool Connection::is_finished() const {
  return impl_->is_failed || (nghttp2_session_want_read(impl_->session.get()) == 0 &&
                              nghttp2_session_want_write(impl_->session.get()) == 0);
}

}  // namespace kgpu::h2
