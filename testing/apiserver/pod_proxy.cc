#include "testing/apiserver/pod_proxy.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "src/platform/base/strings.h"
#include "testing/apiserver/failure.h"
#include "testing/apiserver/server_state.h"

namespace kgpu::apiserver {

StatusOr<PodPort> PodPortOf(const std::string& text) {
  const size_t colon = text.find(':');
  if (colon == std::string::npos) {
    return PodPort{.name = text};
  }
  PodPort pod{.name = text.substr(0, colon), .port = text.substr(colon + 1)};
  const auto port = ParseUint(pod.port);
  if (pod.name.empty() || !port || *port == 0 || *port > 65535) {
    return BadRequest(fmt::format("invalid pod request \"{}\"", text));
  }
  return pod;
}

void PodProxy::Forward(const std::string& address, const http::Request& request,
                       const std::string& target, const std::shared_ptr<Sink>& sink) {
  const auto call = calls_.insert(calls_.end(), nullptr);
  http::Request sent{.method = request.method, .target = target, .body = request.body};
  *call = http::Call::Start(
      loop_, address, sent, [this, call, address, sink](const StatusOr<http::Response>& response) {
        if (response.ok()) {
          sink->Answer(*response);
        } else {
          sink->Answer(FailureResponse(Failure(
              503, "ServiceUnavailable",
              fmt::format("error trying to reach service: {}", Message(response.status())))));
        }
        calls_.erase(call);
      });
}

}  // namespace kgpu::apiserver
