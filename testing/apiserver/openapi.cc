#include "testing/apiserver/failure.h"
#include "testing/apiserver/server_state.h"

namespace kgpu::apiserver {

StatusOr<Reply> ShowOpenApi(const ServerState& /*state*/, const Route& /*route*/,
                            const http::Request& /*request*/) {
  return Failure(404, "NotFound", "the server could not find the requested resource");
}

}  // namespace kgpu::apiserver
