// A gRPC call of pb.FxGateway, its method before the first line end: whatever the message holds,
// the request that it means goes to the route of its method, and a reply can be made of any answer.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "src/functions/gateway/caller.h"
#include "src/functions/gateway/fx_gateway.h"
#include "src/functions/gateway/routes.h"
#include "src/platform/net/http/writer.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace kgpu::gateway;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::string_view method = text.substr(0, text.find('\n'));
  const std::string_view message = text.substr(std::min(text.size(), method.size() + 1));
  if (const auto request = RestRequest(method, message); request.ok()) {
    const RouteMatch match = FindRoute(request->method, request->path);
    const bool is_as_written = request->path == request->target && request->query.empty();
    if (match.route == nullptr || !is_as_written ||
        !kgpu::http::RequestText(*request, "localhost").ok()) {
      std::abort();
    }
  }
  // The same bytes as an answer of the service.
  (void)ReplyMessage(method, message);
  kgpu::http::Response answer = kgpu::http::TextResponse(500, message);
  if (StatusOfAnswer(answer).code == kgpu::h2::GrpcCode::kOk) {
    std::abort();
  }
  return 0;
}
