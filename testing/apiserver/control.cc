#include <boost/json.hpp>

#include "src/platform/base/strings.h"
#include "src/platform/net/http/status_code.h"
#include "testing/apiserver/http_service.h"

namespace kgpu::apiserver {
namespace {

namespace json = boost::json;

http::Response Done() {
  return http::JsonResponse(200, "{}");
}

http::Response AddFault(Api& api, const http::Request& request) {
  json::error_code error;
  const json::value body = json::parse(request.body, error);
  if (error || !body.is_object()) {
    return http::TextResponse(400, "the body must be a fault as a JSON object");
  }
  StatusOr<Fault> fault = ParseFault(body.get_object());
  if (!fault.ok()) {
    return http::TextResponse(400, Message(fault.status()));
  }
  const uint64_t id = api.faults().Add(*std::move(fault));
  return http::JsonResponse(200, json::serialize(json::object{{"id", id}}));
}

http::Response RemoveFaults(Api& api, std::string_view rest) {
  if (rest.empty()) {
    api.faults().Clear();
    return Done();
  }
  const auto id = ParseUint(rest.substr(1));
  if (!id) {
    return http::TextResponse(400, "a fault is named by its number");
  }
  api.faults().Remove(*id);
  return Done();
}

}  // namespace

http::Response HandleControl(Api& api, const http::Request& request) {
  static constexpr std::string_view kFaults = "/stub/faults";
  const std::string what = fmt::format("{} {}", request.method, request.path);
  if (what == "GET /stub/counters") {
    return http::JsonResponse(200, json::serialize(api.counters().ToJson()));
  }
  if (what == "GET /stub/dump") {
    return http::TextResponse(200, api.Dump());
  }
  if (what == "POST /stub/counters/reset") {
    api.counters().Reset();
    return Done();
  }
  if (what == "GET /stub/rbac") {
    return http::JsonResponse(200, json::serialize(api.rbac().ToJson()));
  }
  if (what == "POST /stub/rbac/reset") {
    api.rbac().Forget();
    return Done();
  }
  if (what == "POST /stub/faults") {
    return AddFault(api, request);
  }
  if (request.method == "DELETE" && request.path.starts_with(kFaults)) {
    return RemoveFaults(api, std::string_view(request.path).substr(kFaults.size()));
  }
  if (what == "POST /stub/compact") {
    api.Compact();
    return Done();
  }
  if (what == "POST /stub/watches/cut") {
    api.CutWatches();
    return Done();
  }
  if (what == "POST /stub/watches/end") {
    api.EndWatches();
    return Done();
  }
  return http::UnknownPath(request);
}

}  // namespace kgpu::apiserver
