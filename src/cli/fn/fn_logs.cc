// `kgpu fn logs`: what the handlers of a function have printed.
#include <CLI/CLI.hpp>
#include <string>
#include <utility>

#include "src/cli/base/options.h"
#include "src/cli/base/output.h"
#include "src/cli/fn/fn.h"
#include "src/cli/fn/fn_gateway.h"
#include "src/platform/base/duration.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"

namespace kgpu::cli {
namespace {

struct FnLogsOptions {
  GatewayOptions gateway;
  std::string name;
  std::string since;
  std::string tail;
  bool follows = false;
};

StatusOr<std::string> LogQuery(const FnLogsOptions& options) {
  std::string query = options.follows ? "?follow=true" : "?follow=false";
  if (!options.since.empty()) {
    RETURN_IF_ERROR(ParseSince("--since", options.since).status());
    query += "&since=" + options.since;
  }
  if (!options.tail.empty()) {
    if (!ParseUint(options.tail)) {
      return InvalidArgument("--tail: \"{}\" must be a number of lines", Printable(options.tail));
    }
    query += "&tail=" + options.tail;
  }
  return query;
}

StatusOr<ExitCode> RunFnLogs(const FnLogsOptions& options) {
  ASSIGN_OR_RETURN(const GatewayTarget target, FindGateway(options.gateway));
  ASSIGN_OR_RETURN(const std::string query, LogQuery(options));
  http::Request request{.target = fmt::format("/system/function-log/{}{}", options.name, query)};
  request.headers.Add("Accept", "text/plain");
  http::Response refusal{.code = 0};
  RETURN_IF_ERROR(
      StreamFromGateway(target, request,
                        {.on_head = [&](int code, const http::Headers&) { refusal.code = code; },
                         .on_data =
                             [&](std::string_view bytes) {
                               if (refusal.code == 200) {
                                 return PrintOut(bytes);
                               }
                               refusal.body += bytes;
                               return OkStatus();
                             }}));
  return refusal.code == 200 ? StatusOr<ExitCode>(ExitCode::kOk) : GatewayRefusal(refusal);
}

}  // namespace

void AddFnLogsCommand(CommandRegistrar& registrar, CLI::App& group) {
  auto [command, options] =
      registrar.Add<FnLogsOptions>(group, "logs", "Print a function's logs", &RunFnLogs);
  command.alias("log");
  command.footer(
      "Merges the logs of all replicas by time, including those that have exited.\n"
      "\n"
      "  kgpu fn logs hello --tail 20\n"
      "  kgpu fn logs hello --since 10m --follow");
  command.add_option("NAME", options.name, "Function")->required();
  command.add_flag("-f,--follow", options.follows, "Follow the logs");
  AddValue(command, "--since", options.since, "TIME", "Not older than 90m, 24h or 7d");
  AddValue(command, "--tail", options.tail, "LINES", "Only the last lines");
  AddGatewayOptions(command, options.gateway);
}

}  // namespace kgpu::cli
