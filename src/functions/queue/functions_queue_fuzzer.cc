// What callers of the service and the database's columns give the queue: the first byte of the
// input says what it is. What is accepted has the form that the queue relies on.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "src/functions/queue/callback.h"
#include "src/functions/queue/header_text.h"
#include "src/functions/queue/queue_request.h"

namespace {

using namespace kgpu::functions;  // NOLINT(google-build-using-namespace): of the one module tested

void ReadHeaders(std::string_view text) {
  const auto headers = DecodeHeaders(text);
  if (!headers.ok()) {
    return;
  }
  const auto again = EncodeHeaders(*headers);
  if (!again.ok() || *again != text) {
    std::abort();
  }
}

void ReadUrl(std::string_view text) {
  const auto url = ParseCallbackUrl(text);
  if (!url.ok()) {
    return;
  }
  if (url->host.empty() || url->port == 0 || !url->target.starts_with('/') ||
      url->target.find_first_of(" \r\n") != std::string::npos) {
    std::abort();
  }
}

void ReadChange(std::string_view text) {
  const auto change = ParseChangeRequest(text);
  if (change.ok() && (!change->selection.state || change->selection.state == CallState::kRunning)) {
    std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) {
    return 0;
  }
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  switch (data[0]) {
    case 'c':
      ReadChange(text);
      break;
    case 'h':
      ReadHeaders(text);
      break;
    case 'l':
      (void)ParseListRequest({.query = std::string(text)});
      break;
    case 'u':
      ReadUrl(text);
      break;
    default:
      break;
  }
  return 0;
}
