#include "src/functions/gateway/caller.h"

#include <boost/json/value.hpp>

#include "src/functions/gateway/fx_gateway.h"
#include "src/platform/doc/doc.h"
#include "src/platform/doc/json_texts.h"
#include "src/platform/net/http/status_code.h"

namespace kgpu::gateway {
namespace {

constexpr int kTooManyRequests = 429;
constexpr int kUnavailable = 503;
constexpr int kFirstError = 400;
// Of a gRPC answer, which is kept until it is complete. Answers by HTTP have no such limit here.
constexpr size_t kMaxGrpcAnswer = size_t{16} << 20;
constexpr char kAllowOrigin[] = "Access-Control-Allow-Origin";

void SendGrpcStatus(const h2::Responder& responder, h2::GrpcCode code, std::string_view text) {
  responder.Send(h2::GrpcHead(), h2::GrpcTrailers(code, text));
}

}  // namespace

http::Response Allowing(http::Response response, bool allows_any_origin) {
  if (allows_any_origin && !response.headers.Find(kAllowOrigin)) {
    response.headers.Add(kAllowOrigin, "*");
  }
  return response;
}

http::Response ErrorResponse(int code, std::string_view text) {
  const Status status = http::StatusOf(code, text);
  http::Response response = http::JsonResponse(
      code, doc::PrintLine(boost::json::object{{"code", static_cast<int>(status.code())},
                                               {"message", doc::View(text)},
                                               {"details", boost::json::array()}}));
  if (code == kTooManyRequests || code == kUnavailable) {
    response.headers.Add("Retry-After", "1");
  }
  return response;
}

void Http1Caller::Send(http::Response response) {
  responder_.Send(Allowing(std::move(response), allows_any_origin_));
}

void Http1Caller::Begin(http::Response head) {
  stream_ = responder_.Begin(Allowing(std::move(head), allows_any_origin_));
}

void Http1Caller::OnDrained(std::function<void()> task) {
  if (stream_) {
    stream_->OnDrained(std::move(task));
  }
}

void Http1Caller::End() {
  if (stream_) {
    stream_->End();
  }
}

void Http1Caller::Fail(int code, std::string_view text) {
  if (!stream_) {
    Send(ErrorResponse(code, text));
  }
}

void Http2Caller::Send(http::Response response) {
  responder_.Send(Allowing(std::move(response), allows_any_origin_));
}

void Http2Caller::Begin(http::Response head) {
  has_begun_ = true;
  responder_.Begin(Allowing(std::move(head), allows_any_origin_));
}

void Http2Caller::Fail(int code, std::string_view text) {
  if (!has_begun_) {
    Send(ErrorResponse(code, text));
  }
}

void GrpcCaller::Send(http::Response response) {
  if (response.code >= kFirstError) {
    const GrpcStatus status = StatusOfAnswer(response);
    return SendGrpcStatus(responder_, status.code, status.text);
  }
  const StatusOr<std::string> message = ReplyMessage(method_, response.body);
  if (!message.ok()) {
    // absl's codes are gRPC's.
    return SendGrpcStatus(responder_, static_cast<h2::GrpcCode>(message.status().code()),
                          Message(message.status()));
  }
  http::Response answer = h2::GrpcHead();
  answer.body = h2::FrameGrpcMessage(*message);
  responder_.Send(std::move(answer), h2::GrpcTrailers(h2::GrpcCode::kOk, ""));
}

bool GrpcCaller::Write(std::string_view bytes) {
  if (answer_.body.size() + bytes.size() > kMaxGrpcAnswer) {
    SendGrpcStatus(
        responder_, h2::GrpcCode::kResourceExhausted,
        fmt::format("the answer is larger than {} bytes, the limit of gRPC: call by HTTP",
                    kMaxGrpcAnswer));
    return false;
  }
  answer_.body += bytes;
  return responder_.is_open();
}

}  // namespace kgpu::gateway
