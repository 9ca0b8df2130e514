// `kgpu fn call`: standard input to a function, its answer to standard output.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <string>
#include <utility>
#include <vector>

#include "src/cli/fn.h"
#include "src/cli/fn_gateway.h"
#include "src/cli/options.h"
#include "src/cli/output.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"

namespace kgpu::cli {
namespace {

constexpr size_t kMaxInput = size_t{16} << 20;

struct FnCallOptions {
  GatewayOptions gateway;
  std::string name;
  std::string method = "POST";
  std::string path = "/";
  std::vector<std::string> headers;
  bool is_async = false;
};

StatusOr<std::string> ReadInput() {
  std::string input;
  std::string piece(size_t{64} << 10, '\0');
  if (isatty(STDIN_FILENO) != 0) {
    PrintNote("reading the input from the terminal: end it with Ctrl-D");
  }
  for (;;) {
    const ssize_t count = read(STDIN_FILENO, piece.data(), piece.size());
    if (count == 0) {
      return input;
    }
    if (count < 0 && errno != EINTR) {
      return errno == EBADF ? StatusOr<std::string>(input) : ErrnoStatus(errno, "standard input");
    }
    input.append(piece, 0, static_cast<size_t>(std::max<ssize_t>(count, 0)));
    if (input.size() > kMaxInput) {
      return OutOfRange("standard input: larger than {} bytes, the limit of a call", kMaxInput);
    }
  }
}

StatusOr<http::Request> CallRequest(const FnCallOptions& options) {
  http::Request request{.method = options.method};
  const std::string path =
      options.path.starts_with('/') ? options.path : "/" + options.path;
  request.target = fmt::format("/{}/{}{}", options.is_async ? "async-function" : "function",
                               options.name, path);
  for (const std::string& header : options.headers) {
    const size_t colon = header.find(':');
    if (colon == std::string::npos || colon == 0) {
      return InvalidArgument("--header: {} must be NAME:VALUE", Printable(header));
    }
    request.headers.Add(header.substr(0, colon), Trim(std::string_view(header).substr(colon + 1)));
  }
  if (!request.headers.Find("Content-Type")) {
    request.headers.Add("Content-Type", "application/octet-stream");
  }
  if (options.method != "GET") {
    ASSIGN_OR_RETURN(request.body, ReadInput());
  }
  return request;
}

// Whose failure it was: the header says so, if it was one that the handler did not answer itself.
StatusOr<ExitCode> Outcome(const FnCallOptions& options, int code, const std::string& fault,
                           const std::string& text) {
  constexpr int kFirstFailure = 400;
  if (code < kFirstFailure) {
    return ExitCode::kOk;
  }
  if (fault.empty() && code == 404 && !text.empty()) {
    return GatewayRefusal({.code = code, .body = text});
  }
  if (fault.empty()) {
    PrintNote(fmt::format("{}: the handler answered with code {}", options.name, code));
    return ExitCode::kUnhealthy;
  }
  const std::string why(Trim(text));
  if (fault == "handler" || fault == "crash" || fault == "timeout" || fault == "output") {
    PrintNote(fmt::format("{}: {}: {}", options.name, fault, why));
    return ExitCode::kUnhealthy;
  }
  return fault == "input" ? InvalidArgument("{}: {}", options.name, why)
                          : Unavailable("{}: {}: {}", options.name, fault, why);
}

StatusOr<ExitCode> RunFnCall(const FnCallOptions& options) {
  ASSIGN_OR_RETURN(const std::string address, GatewayAddress(options.gateway));
  ASSIGN_OR_RETURN(const http::Request request, CallRequest(options));
  int code = 0;
  std::string fault;
  bool is_output = true;
  std::string text;  // of a failure
  const Status status = StreamFromGateway(
      address, request,
      {.on_head =
           [&](int answered, const http::Headers& headers) {
             code = answered;
             fault = headers.Find("Kgpu-Fault").value_or("");
             // An answer of the gateway itself has no call's id.
             is_output = fault.empty() && headers.Find("X-Call-Id").has_value();
           },
       .on_data =
           [&](std::string_view bytes) {
             if (is_output) {
               return PrintOut(bytes);
             }
             text += bytes;
             return OkStatus();
           }});
  if (!status.ok() && code != 0) {
    return MakeStatus(StatusCode::kInternal,
                      fmt::format("{}: the answer was cut off: {}", options.name, Message(status)));
  }
  RETURN_IF_ERROR(status);
  return Outcome(options, code, fault, text);
}

}  // namespace

void AddFnCallCommand(CommandRegistrar& registrar, CLI::App& group) {
  auto [command, options] = registrar.Add<FnCallOptions>(
      group, "call", "Call a function: standard input to standard output", &RunFnCall);
  command.alias("invoke");
  command.footer(
      "Input and output are passed on byte for byte; output appears as the handler writes it.\n"
      "Exits 0 for an answer, 7 when the handler failed, crashed, took too long or answered with a\n"
      "code from 400, 4 when no replica could take the call (the text says why), 3 when there is no\n"
      "such function, 1 when the answer was cut off.\n"
      "\n"
      "  echo hi | kgpu fn call hello\n"
      "  kgpu fn call classify --header 'Content-Type: image/png' < cat.png\n"
      "  kgpu fn call report --method GET --path '/week?n=3'");
  command.add_option("NAME", options.name, "Function")->required();
  AddValue(command, "--method", options.method, "GET|POST|PUT|PATCH|DELETE", "Method of the call");
  AddValue(command, "--path", options.path, "PATH", "Path and query that the handler sees");
  AddValue(command, "--header", options.headers, "NAME:VALUE", "Header of the call (repeatable)");
  command.add_flag("--async", options.is_async, "Do not wait for the answer");
  AddGatewayOptions(command, options.gateway);
}

}  // namespace kgpu::cli
