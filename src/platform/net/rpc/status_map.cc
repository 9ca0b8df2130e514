#include "src/platform/net/rpc/status_map.h"

#include <string>

namespace kgpu::rpc {

Status FromGrpc(const grpc::Status& status) {
  if (status.ok()) {
    return OkStatus();
  }
  const auto code = static_cast<StatusCode>(status.error_code());
  const std::string text = status.error_message();
  return MakeStatus(code, text.empty() ? absl::StatusCodeToString(code) : text);
}

grpc::Status ToGrpc(const Status& status) {
  if (status.ok()) {
    return grpc::Status::OK;
  }
  return {static_cast<grpc::StatusCode>(status.code()), std::string(Message(status))};
}

}  // namespace kgpu::rpc
