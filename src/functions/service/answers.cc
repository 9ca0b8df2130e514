#include "src/functions/service/answers.h"

#include <boost/json/value.hpp>

#include "src/functions/service/views.h"
#include "src/platform/doc/doc.h"
#include "src/platform/net/http/status_code.h"

namespace kgpu::functions {

void SendJson(const http::Responder& responder, int code, const boost::json::value& value) {
  responder.Send(http::JsonResponse(code, doc::PrintLine(value)));
}

void SendError(const http::Responder& responder, const Status& status) {
  // The service is right to refuse what can never run here.
  const int code = status.code() == StatusCode::kFailedPrecondition ? 422 : http::CodeOf(status);
  SendJson(responder, code, ErrorView(status));
}

bool IsGet(const http::Request& request) {
  return request.method == "GET" || request.method == "HEAD";
}

}  // namespace kgpu::functions
