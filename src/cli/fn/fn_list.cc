// `kgpu fn list` and `info`: what is deployed, and its state.
#include <boost/json/value.hpp>

#include <CLI/CLI.hpp>
#include <string>
#include <utility>
#include <vector>

#include "src/cli/base/options.h"
#include "src/cli/base/output.h"
#include "src/cli/fn/fn.h"
#include "src/cli/fn/fn_file.h"
#include "src/cli/fn/fn_gateway.h"
#include "src/cli/fn/fn_view.h"
#include "src/functions/spec/functions_file.h"
#include "src/platform/base/duration.h"
#include "src/platform/base/status_macros.h"

namespace kgpu::cli {
namespace {

struct FnListOptions {
  GatewayOptions gateway;
  std::string file;
  std::string name;
  std::string since = "24h";
  std::string output = "table";
};

StatusOr<GatewayTarget> ListTarget(const FnListOptions& options) {
  std::string gateway;
  if (!options.file.empty()) {
    ASSIGN_OR_RETURN(const functions::FunctionsFile file, ReadFunctionsFile(options.file));
    gateway = file.gateway;
  }
  return FindGateway(options.gateway, gateway);
}

StatusOr<ExitCode> RunFnList(const FnListOptions& options) {
  ASSIGN_OR_RETURN(const OutputFormat format, ParseOutputFormat(options.output));
  ASSIGN_OR_RETURN(const GatewayTarget target, ListTarget(options));
  ASSIGN_OR_RETURN(const boost::json::value list,
                   AskGatewayForJson(target, {.target = "/system/functions"}));
  return OkOr(PrintAs(format, FunctionsTable(list), list));
}

StatusOr<ExitCode> RunFnInfo(const FnListOptions& options) {
  ASSIGN_OR_RETURN(const OutputFormat format, ParseOutputFormat(options.output));
  ASSIGN_OR_RETURN(const GatewayTarget target, ListTarget(options));
  ASSIGN_OR_RETURN(const boost::json::value info,
                   AskGatewayForJson(target, {.target = "/system/function/" + options.name}));
  return OkOr(PrintAs(format, Render(info, OutputFormat::kYaml), info));
}

StatusOr<ExitCode> RunFnUsage(const FnListOptions& options) {
  ASSIGN_OR_RETURN(const OutputFormat format, ParseOutputFormat(options.output));
  RETURN_IF_ERROR(ParseSince("--since", options.since).status());
  ASSIGN_OR_RETURN(const GatewayTarget target, FindGateway(options.gateway));
  ASSIGN_OR_RETURN(const boost::json::value usage,
                   AskGatewayForJson(target, {.target = "/v1/usage?since=" + options.since}));
  return OkOr(PrintAs(format, FunctionUsageTable(usage), usage));
}

StatusOr<ExitCode> RunFnMetrics(const FnListOptions& options) {
  ASSIGN_OR_RETURN(const GatewayTarget target, FindGateway(options.gateway));
  ASSIGN_OR_RETURN(const http::Response response, AskGateway(target, {.target = "/metrics"}));
  if (response.code != 200) {
    return GatewayRefusal(response);
  }
  return OkOr(PrintOut(response.body));
}

}  // namespace

void AddFnListCommands(CommandRegistrar& registrar, CLI::App& group) {
  auto [list, list_options] =
      registrar.Add<FnListOptions>(group, "list", "List the deployed functions", &RunFnList);
  list.alias("ls");
  list.footer(
      "  kgpu fn list\n"
      "  kgpu fn list --output json | jq -r '.Functions[].Name'");
  AddFunctionsFileOption(list, list_options.file, "File whose gateway is asked");
  AddOutputOption(list, list_options.output);
  AddGatewayOptions(list, list_options.gateway);

  auto [info, info_options] = registrar.Add<FnListOptions>(
      group, "info", "Show a function: its settings, replicas and GPUs", &RunFnInfo);
  info.footer(
      "  kgpu fn info hello\n"
      "  kgpu fn info hello --output json | jq .Kgpu.replicaList");
  info.add_option("NAME", info_options.name, "Function")->required();
  AddFunctionsFileOption(info, info_options.file, "File whose gateway is asked");
  AddOutputOption(info, info_options.output);
  AddGatewayOptions(info, info_options.gateway);
}

void AddFnUsageCommands(CommandRegistrar& registrar, CLI::App& group) {
  auto [usage, usage_options] = registrar.Add<FnListOptions>(
      group, "usage", "Show calls, errors and GPU time of functions", &RunFnUsage);
  usage.footer(
      "BUSY is GPU time with a call in progress, HELD all time that GPUs were lent.\n"
      "\n"
      "  kgpu fn usage --since 7d\n"
      "  kgpu fn usage --output json | jq '.usage[] | select(.errors > 0)'");
  AddSinceOption(usage, usage_options.since, "; counted in whole hours");
  AddOutputOption(usage, usage_options.output);
  AddGatewayOptions(usage, usage_options.gateway);

  auto [metrics, metrics_options] = registrar.Add<FnListOptions>(
      group, "metrics", "Print the metrics of functions, for Prometheus", &RunFnMetrics);
  metrics.footer("  kgpu fn metrics | grep gateway_function_invocation_total");
  AddGatewayOptions(metrics, metrics_options.gateway);
}

}  // namespace kgpu::cli
