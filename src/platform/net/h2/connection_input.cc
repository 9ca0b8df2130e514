// The receiving side of a connection: requests, and frames that ask for nothing.
#include <algorithm>
#include <optional>
#include <utility>

#include "src/platform/base/strings.h"
#include "src/platform/net/h2/connection_impl.h"
#include "src/platform/net/h2/grpc_message.h"

namespace kgpu::h2 {
namespace {

constexpr int kTooLarge = 413;
constexpr int kUnavailable = 503;
// Of a field in a header list, besides its text. Source: RFC 9113, 6.5.2.
constexpr size_t kFieldCost = 32;

}  // namespace

int Connection::Impl::OnField(const nghttp2_frame& frame, std::string_view name,
                              std::string_view value) {
  StreamState* stream = Find(frame.hd.stream_id);
  if (stream == nullptr) {
    return 0;
  }
  // nghttp2 limits the bytes of the frames; a few of those can be many when they are decompressed.
  stream->header_size += name.size() + value.size() + kFieldCost;
  if (stream->header_size > limits.header) {
    budget.Spend(1);
    return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;  // resets the stream
  }
  // A client's trailers are of no use to anybody here.
  if (frame.headers.cat == NGHTTP2_HCAT_REQUEST) {
    AddField(stream->request, name, value);
  }
  return 0;
}

void Connection::Impl::OnFrame(const nghttp2_frame& frame) {
  switch (frame.hd.type) {
    case NGHTTP2_PING:
    case NGHTTP2_SETTINGS:
    case NGHTTP2_PRIORITY:
      budget.Spend(1);
      break;
    case NGHTTP2_RST_STREAM:
      budget.Spend(2);  // the handler has begun for nothing
      break;
    case NGHTTP2_HEADERS:
    case NGHTTP2_DATA:
      if (frame.hd.length == 0) {
        budget.Spend(1);
      }
      OnRequestFrame(frame);
      break;
    default:
      break;
  }
  if (budget.is_spent()) {
    Kill(NGHTTP2_ENHANCE_YOUR_CALM);
    is_failed = true;
  }
}

void Connection::Impl::OnRequestFrame(const nghttp2_frame& frame) {
  const StreamId id = frame.hd.stream_id;
  StreamState* stream = Find(id);
  if (stream == nullptr || stream->is_complete) {
    return;
  }
  const bool is_header =
      frame.hd.type == NGHTTP2_HEADERS && frame.headers.cat == NGHTTP2_HCAT_REQUEST;
  if (is_header) {
    OnHeader(id, *stream);
  }
  if (stream->is_complete) {
    return;
  }
  if ((frame.hd.flags & NGHTTP2_FLAG_END_STREAM) != 0) {
    Complete(id, *stream);
  } else if (is_header) {
    Admit(id, *stream);
  }
}

void Connection::Impl::OnHeader(StreamId id, StreamState& stream) {
  stream.is_head = stream.request.method == "HEAD";
  if (!CompleteRequest(stream.request)) {
    (void)nghttp2_submit_rst_stream(session.get(), NGHTTP2_FLAG_NONE, id, NGHTTP2_PROTOCOL_ERROR);
    stream.is_complete = true;
    stream.has_ended = true;
    has_had_request = true;
  }
}

// A body follows: whether it may is known before any of it is there.
void Connection::Impl::Admit(StreamId id, StreamState& stream) {
  const auto length = ParseUint(stream.request.headers.Find("content-length").value_or(""));
  if (length && *length > limits.body) {
    return Refuse(id, stream, kTooLarge,
                  fmt::format("the body is larger than {} bytes", limits.body));
  }
  if (!handlers.judge) {
    return;
  }
  if (std::optional<Answer> answer = handlers.judge(stream.request)) {
    Refuse(id, stream, *std::move(answer));
  }
}

void Connection::Impl::Complete(StreamId id, StreamState& stream) {
  Release(stream);
  stream.is_complete = true;
  has_had_request = true;
  // Not from within nghttp2: a handler may respond at once, or destroy the connection.
  complete.emplace_back(id, std::move(stream.request));
}

void Connection::Impl::OnData(StreamId id, std::string_view bytes) {
  StreamState* stream = Find(id);
  if (stream == nullptr) {
    return;
  }
  stream->has_data = true;
  if (stream->is_complete) {
    StopUpload(id);
    return;
  }
  if (stream->request.body.size() + bytes.size() > limits.body) {
    return Refuse(id, *stream, kTooLarge,
                  fmt::format("the body is larger than {} bytes", limits.body));
  }
  if (bodies + bytes.size() > limits.bodies || !share.Set(bodies + bytes.size())) {
    return Refuse(id, *stream, kUnavailable, "too many large requests at a time: try again later");
  }
  stream->request.body += bytes;
  bodies += bytes.size();
}

// Before the request is complete. A gRPC client understands the reset: ResourceExhausted.
void Connection::Impl::Refuse(StreamId id, StreamState& stream, int code, std::string_view text) {
  if (!IsGrpc(stream.request)) {
    return Refuse(id, stream, {.response = http::TextResponse(code, text)});
  }
  Release(stream);
  stream.request.body = std::string();
  stream.is_complete = true;
  stream.has_ended = true;
  has_had_request = true;
  (void)nghttp2_submit_rst_stream(session.get(), NGHTTP2_FLAG_NONE, id, NGHTTP2_ENHANCE_YOUR_CALM);
}

void Connection::Impl::Refuse(StreamId id, StreamState& stream, Answer answer) {
  Release(stream);
  stream.request.body = std::string();
  stream.is_complete = true;
  stream.has_response = true;
  stream.has_ended = true;
  has_had_request = true;
  stream.trailers = std::move(answer.trailers);
  if (!stream.is_head) {
    stream.output = BodyOf(answer.response);
  }
  Submit(id, answer.response, true);
}

// The answer to an incomplete request is out: the rest of the request need not come. Source: RFC
// 9113, 8.1. A client that has sent nothing of it yet may end the stream by itself: curl 7.88 takes
// a reset before its upload for an error and drops the answer.
void Connection::Impl::StopUpload(StreamId id) {
  const bool is_answered = nghttp2_session_get_stream_local_close(session.get(), id) == 1;
  if (is_answered && nghttp2_session_get_stream_remote_close(session.get(), id) == 0) {
    (void)nghttp2_submit_rst_stream(session.get(), NGHTTP2_FLAG_NONE, id, NGHTTP2_NO_ERROR);
  }
}

void Connection::Impl::OnSent(const nghttp2_frame& frame) {
  const bool is_last = (frame.hd.type == NGHTTP2_DATA || frame.hd.type == NGHTTP2_HEADERS) &&
                       (frame.hd.flags & NGHTTP2_FLAG_END_STREAM) != 0;
  const StreamState* stream = Find(frame.hd.stream_id);
  if (is_last && stream != nullptr && stream->has_data) {
    StopUpload(frame.hd.stream_id);
  }
}

void Connection::Impl::OnStreamEnd(StreamId id) {
  const auto found = streams.find(id);
  if (found == streams.end()) {
    return;
  }
  const StreamState& stream = found->second;
  if (!stream.is_complete) {
    Release(stream);
  }
  const bool is_answered = stream.is_complete && stream.has_ended && stream.pending() == 0;
  const bool is_reset = stream.is_complete && !is_answered;
  streams.erase(found);
  std::erase_if(complete, [id](const auto& request) { return request.first == id; });
  if (is_answered) {
    budget.AddAnswer();
  }
  if (is_reset && handlers.on_reset) {
    handlers.on_reset(id);
  }
}

}  // namespace kgpu::h2
