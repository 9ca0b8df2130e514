// What is read of a gRPC message is framed as the same bytes; texts in trailers are printable.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "src/platform/net/h2/grpc_message.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto message = kgpu::h2::GrpcMessageIn(bytes, 1024);
  if (message.ok() && (kgpu::h2::FrameGrpcMessage(*message) != bytes || message->size() > 1024)) {
    std::abort();
  }
  const auto timeout = kgpu::h2::ParseGrpcTimeout(bytes);
  if (timeout.ok() && timeout->count() < 0) {
    std::abort();
  }
  const kgpu::http::Headers trailers = kgpu::h2::GrpcTrailers(kgpu::h2::GrpcCode::kUnknown, bytes);
  for (const auto& [name, value] : trailers.fields()) {
    for (const char c : value) {
      if (c < ' ' || c > '~') {
        std::abort();
      }
    }
  }
  return 0;
}
