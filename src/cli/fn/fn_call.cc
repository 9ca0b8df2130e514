// `kgpu fn call`: standard input to a function, its answer to standard output.
#include <CLI/CLI.hpp>
#include <string>

#include "src/cli/base/options.h"
#include "src/cli/fn/fn.h"
#include "src/cli/fn/fn_answer.h"
#include "src/cli/fn/fn_gateway.h"
#include "src/functions/spec/checks.h"
#include "src/platform/base/status_macros.h"

namespace kgpu::cli {
namespace {

struct FnCallOptions {
  GatewayOptions gateway;
  CallSettings call;
  std::string name;
  bool is_async = false;
};

StatusOr<ExitCode> RunFnCall(const FnCallOptions& options) {
  RETURN_IF_ERROR(functions::CheckFunctionName(options.name));
  ASSIGN_OR_RETURN(const GatewayTarget target, FindGateway(options.gateway));
  CallSettings settings = options.call;
  settings.path =
      fmt::format("/{}/{}{}{}", options.is_async ? "async-function" : "function", options.name,
                  settings.path.starts_with('/') ? "" : "/", settings.path);
  ASSIGN_OR_RETURN(const http::Request request, CallRequest(settings));
  return PrintAnswer(options.name, target, request);
}

}  // namespace

void AddFnCallCommand(CommandRegistrar& registrar, CLI::App& group) {
  auto [command, options] = registrar.Add<FnCallOptions>(
      group, "call", "Call a function: standard input to standard output", &RunFnCall);
  command.alias("invoke");
  command.footer(
      "Input and output are passed on byte for byte; output appears as the handler writes it.\n"
      "Exits 0 for an answer, 7 when the handler failed, crashed, took too long or answered with\n"
      "a code from 400, 4 when no replica could take the call (the text says why), 3 when there\n"
      "is no such function, 1 when the answer was cut off.\n"
      "\n"
      "  echo hi | kgpu fn call hello\n"
      "  kgpu fn call classify --header 'Content-Type: image/png' < cat.png\n"
      "  kgpu fn call report --method GET --path '/week?n=3'");
  command.add_option("NAME", options.name, "Function")->required();
  AddValue(command, "--method", options.call.method, "GET|POST|PUT|PATCH|DELETE",
           "Method of the call");
  AddValue(command, "--path", options.call.path, "PATH", "Path and query that the handler sees");
  AddValue(command, "--header", options.call.headers, "NAME:VALUE",
           "Header of the call (repeatable)");
  command.add_flag("--async", options.is_async, "Do not wait for the answer");
  AddGatewayOptions(command, options.gateway);
}

}  // namespace kgpu::cli
