// Any bytes of a peer leave a connection within its limits. The first byte is the size of the
// pieces, with or without the client's preface before them.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "src/platform/net/h2/connection.h"

namespace {

constexpr std::string_view kPreface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
const kgpu::h2::Limits kLimits{
    .streams = 4, .header = 1024, .body = 256, .bodies = 512, .output = 4096};

class Session {
 public:
  Session()
      : connection_(kgpu::h2::Connection::Create(
                        kLimits,
                        {.on_request =
                             [this](kgpu::h2::StreamId stream, const kgpu::http::Request& request) {
                               Answer(stream, request);
                             }})
                        .value()) {}

  void Feed(std::string_view bytes, size_t step) {
    while (!bytes.empty() && !is_over_) {
      is_over_ = !connection_->Receive(bytes.substr(0, step), kgpu::SteadyTime{}).ok();
      bytes.remove_prefix(std::min(step, bytes.size()));
      while (!connection_->Output().empty()) {
        connection_->Consume(connection_->Output().size());
      }
      if (connection_->streams() > 2 * kLimits.streams) {
        std::abort();
      }
    }
  }

 private:
  void Answer(kgpu::h2::StreamId stream, const kgpu::http::Request& request) {
    if (request.body.size() > kLimits.body) {
      std::abort();
    }
    if (request.path.size() % 2 == 0) {
      return connection_->Respond(stream, {.body = request.path}, {{"grpc-status", "0"}});
    }
    connection_->Begin(stream, {.body = request.body});
    (void)connection_->Write(stream, "more");
    connection_->End(stream);
  }

  std::unique_ptr<kgpu::h2::Connection> connection_;
  bool is_over_ = false;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) {
    return 0;
  }
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  Session session;
  if (data[0] % 2 == 0) {
    session.Feed(kPreface, kPreface.size());
  }
  session.Feed(bytes, size_t{data[0]} + 1);
  return 0;
}
