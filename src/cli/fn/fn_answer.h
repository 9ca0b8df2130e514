// A call of a function: standard input to its handler, the answer to standard output.
#pragma once

#include <string>
#include <vector>

#include "src/cli/base/exit_code.h"
#include "src/cli/fn/fn_gateway.h"
#include "src/platform/base/status.h"
#include "src/platform/net/http/message.h"

namespace kgpu::cli {

struct CallSettings {
  std::string method = "POST";
  std::string path = "/";              // and query, as the handler sees them
  std::vector<std::string> headers{};  // "NAME:VALUE"
};

// With standard input as its body, unless the method is GET. Errors: InvalidArgument (a header),
// OutOfRange (more than a call can take).
StatusOr<http::Request> CallRequest(const CallSettings& settings);

// Sends it to `target` and prints the answer as it comes. Gives kUnhealthy, after a note, if the
// handler failed. Errors: Unavailable (nothing took the call), Internal (the answer was cut off).
StatusOr<ExitCode> PrintAnswer(const std::string& name, const GatewayTarget& target,
                               const http::Request& request);

}  // namespace kgpu::cli
