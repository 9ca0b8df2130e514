// The messages of pb.FxWatcher and grpc.health.v1.Health, as protobuf writes them. There are four,
// of one field each that counts here: a reader of wire fields is smaller than a library. Source:
// protobuf.dev/programming-guides/encoding.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "src/platform/base/status.h"

namespace kgpu::watchdog {

// One field of a message. `bytes` is a view of the message.
struct WireField {
  uint64_t number = 0;
  std::string_view bytes{};  // of a length-delimited field
  bool has_bytes = false;
};

// Walks over the fields of a message.
class WireReader {
 public:
  explicit WireReader(std::string_view message) : rest_(message) {}
  // The next field; nothing at the end. Errors: InvalidArgument (not a message).
  StatusOr<std::optional<WireField>> Next();

 private:
  std::optional<uint64_t> Varint();
  std::optional<std::string_view> Bytes(uint64_t size);

  std::string_view rest_;
};

// The input of a pb.Request. Errors: InvalidArgument.
StatusOr<std::string> InputOf(std::string_view request);
// A pb.Reply.
std::string ReplyOf(std::string_view output);
// The service that a grpc.health.v1.HealthCheckRequest asks for. Errors: InvalidArgument.
StatusOr<std::string> HealthServiceOf(std::string_view request);
// A grpc.health.v1.HealthCheckResponse.
std::string HealthReply(bool is_serving);

}  // namespace kgpu::watchdog
