// A server's answers to a peer's bytes do not depend on how they are split into pieces, and each
// answer can be parsed. The first byte is the size of the pieces.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "src/platform/net/http/server_connection.h"
#include "src/platform/net/http/writer.h"

namespace {

using kgpu::http::OutputQueue;
using kgpu::http::Phase;

constexpr kgpu::WallTime kNow{};
constexpr kgpu::http::ParserLimits kLimits{.header = 512, .body = 1024};

void TakeOutput(kgpu::http::ServerConnection& http, std::string& said) {
  while (!http.output().empty()) {
    std::array<iovec, OutputQueue::kMaxPieces> pieces{};
    const size_t count = http.output().Fill(pieces);
    size_t size = 0;
    for (size_t i = 0; i < count; ++i) {
      const std::string_view piece(static_cast<const char*>(pieces.at(i).iov_base),
                                   pieces.at(i).iov_len);
      // Whether permission for a body comes in time depends on when its bytes do.
      said += piece == kgpu::http::kContinue ? "" : piece;
      size += piece.size();
    }
    http.output().Consume(size);
  }
}

// Answers in one of three ways, with all that was understood of the request.
void Answer(kgpu::http::ServerConnection& http) {
  const kgpu::http::Request request = http.TakeRequest();
  std::string body = request.method + " " + request.path + " " + request.query + "\n";
  for (const auto& [name, value] : request.headers.fields()) {
    body += name + ":" + value + "\n";
  }
  (void)request.QueryValue("a");
  body += request.body;
  if (request.path.size() % 3 == 0) {
    http.BeginStream({.body = body}, kNow);
    http.Write(body);
    http.EndStream(kNow);
  } else {
    http.Respond({.code = request.path.size() % 3 == 1 ? 200 : 204, .body = body}, kNow);
  }
}

std::string SaidTo(std::string_view bytes, size_t step) {
  kgpu::http::ServerConnection http(kLimits);
  std::string said;
  while (!bytes.empty() && http.wants_input()) {
    http.Receive(bytes.substr(0, step), kNow);
    bytes.remove_prefix(std::min(step, bytes.size()));
    while (http.phase() == Phase::kReady) {
      Answer(http);
    }
    TakeOutput(http, said);
  }
  http.ReceiveEnd();
  if (http.phase() != Phase::kClosing) {
    std::abort();
  }
  TakeOutput(http, said);
  return said;
}

void CheckAnswer(std::string_view said) {
  if (said.empty()) {
    return;
  }
  // A HEAD request's answer reads as one whose body is missing: only the header is certain.
  kgpu::http::ResponseParser parser({.header = 4096, .body = 4096}, true);
  if (parser.Feed(said) == 0 || parser.state() != kgpu::http::ParseState::kDone) {
    std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) {
    return 0;
  }
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  const std::string whole = SaidTo(bytes, std::max<size_t>(bytes.size(), 1));
  if (SaidTo(bytes, size_t{data[0]} + 1) != whole || SaidTo(bytes, 1) != whole) {
    std::abort();
  }
  CheckAnswer(whole);
  return 0;
}
