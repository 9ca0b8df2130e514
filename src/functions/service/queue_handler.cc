#include "src/functions/service/queue_handler.h"

#include <boost/json/value.hpp>

#include <chrono>
#include <utility>

#include "src/functions/service/answers.h"
#include "src/functions/service/function_call.h"

namespace kgpu::functions {

void HandleQueue(CallQueue& queue, const http::Request& request, const http::Responder& responder) {
  if (request.path == "/v1/queue") {
    if (!IsGet(request)) {
      return responder.Send(http::WrongMethod(request, "GET"));
    }
    const StatusOr<CallSelection> selection = ParseListRequest(request);
    if (!selection.ok()) {
      return SendError(responder, selection.status());
    }
    return queue.List(*selection, [responder](const StatusOr<boost::json::object>& list) {
      list.ok() ? SendJson(responder, 200, *list) : SendError(responder, list.status());
    });
  }
  const bool is_retry = request.path == "/v1/queue/retry";
  if (!is_retry && request.path != "/v1/queue/purge") {
    return responder.Send(http::UnknownPath(request));
  }
  if (request.method != "POST") {
    return responder.Send(http::WrongMethod(request, "POST"));
  }
  const StatusOr<ChangeRequest> change = ParseChangeRequest(request.body);
  if (!change.ok()) {
    return SendError(responder, change.status());
  }
  auto done = [responder, is_retry](const StatusOr<size_t>& count) {
    if (!count.ok()) {
      return SendError(responder, count.status());
    }
    SendJson(responder, 200, boost::json::object{{is_retry ? "retried" : "purged", *count}});
  };
  queue.Change(*change, is_retry, std::move(done));
}

void RefuseAsync(const http::Responder& responder, const std::string& call_id,
                 const Status& status) {
  constexpr std::chrono::seconds kSoon{1};
  constexpr std::chrono::seconds kLater{30};
  CallFault fault{503, "queue", std::string(Message(status)), kLater};
  if (status.code() == StatusCode::kInvalidArgument) {
    fault = {400, "input", fault.text};
  } else if (status.code() == StatusCode::kOutOfRange) {
    fault = {429, "overload", fault.text, kSoon};
  } else if (status.code() == StatusCode::kResourceExhausted) {
    fault = {507, "queue", fault.text, kLater};
  }
  HttpSink(responder, call_id, 0).Refuse(fault);
}

}  // namespace kgpu::functions
