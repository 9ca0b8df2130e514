// `kgpu fn queue`: asynchronous calls that wait, run or have failed for good.
#include <boost/json/value.hpp>

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "src/cli/base/options.h"
#include "src/cli/base/output.h"
#include "src/cli/fn/fn.h"
#include "src/cli/fn/fn_gateway.h"
#include "src/cli/fn/fn_view.h"
#include "src/kube/api/query.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"
#include "src/platform/doc/doc.h"
#include "src/platform/doc/json_texts.h"

namespace kgpu::cli {
namespace {

struct FnQueueOptions {
  GatewayOptions gateway;
  std::string name;
  std::string state;
  std::vector<std::string> ids;
  bool means_all = false;
  bool is_dry_run = false;
  std::string output = "table";
};

int64_t CountIn(const boost::json::value& answer, std::string_view key) {
  const boost::json::value* count =
      answer.is_object() ? answer.get_object().if_contains(doc::View(key)) : nullptr;
  return count != nullptr && count->is_int64() ? count->get_int64() : 0;
}

StatusOr<ExitCode> RunFnQueueList(const FnQueueOptions& options) {
  ASSIGN_OR_RETURN(const OutputFormat format, ParseOutputFormat(options.output));
  ASSIGN_OR_RETURN(const GatewayTarget target, FindGateway(options.gateway));
  ASSIGN_OR_RETURN(
      const boost::json::value list,
      AskGatewayForJson(target, {.target = fmt::format("/v1/queue?function={}&state={}",
                                                       kube::Escape(options.name),
                                                       kube::Escape(options.state))}));
  if (const int64_t left = CountIn(list, "left"); left > 0 && format == OutputFormat::kTable) {
    PrintNote(fmt::format("{} more calls are not shown: name a function or a state", left));
  }
  return OkOr(PrintAs(format, FunctionQueueTable(list), list));
}

// What retry and purge ask for.
StatusOr<std::string> ChangeBody(const FnQueueOptions& options) {
  const bool names_some = !options.name.empty() || !options.ids.empty();
  if (names_some == options.means_all) {
    return InvalidArgument("name a function, a call with --id, or --all functions");
  }
  boost::json::object body;
  if (!options.name.empty()) {
    body["function"] = options.name;
  }
  if (!options.ids.empty()) {
    body["ids"] = doc::Texts(options.ids);
  }
  if (!options.state.empty()) {
    body["state"] = options.state;
  }
  if (options.is_dry_run) {
    body["dryRun"] = true;
  }
  return doc::PrintLine(body);
}

StatusOr<ExitCode> ChangeQueue(const FnQueueOptions& options, const std::string& path,
                               std::string_view key, std::string_view did) {
  ASSIGN_OR_RETURN(const OutputFormat format, ParseOutputFormat(options.output));
  http::Request request{.method = "POST", .target = path};
  ASSIGN_OR_RETURN(request.body, ChangeBody(options));
  ASSIGN_OR_RETURN(const GatewayTarget target, FindGateway(options.gateway));
  ASSIGN_OR_RETURN(const boost::json::value answer, AskGatewayForJson(target, request));
  const int64_t count = CountIn(answer, key);
  if (count == 0 && !options.ids.empty()) {
    return NotFound("no {} call has such an id: kgpu fn queue list shows them",
                    options.state.empty() ? "dead" : options.state);
  }
  return OkOr(PrintAs(format, fmt::format("{} {} {}\n", count, count == 1 ? "call" : "calls", did),
                      answer));
}

StatusOr<ExitCode> RunFnQueueRetry(const FnQueueOptions& options) {
  return ChangeQueue(options, "/v1/queue/retry", "retried", "due now");
}

StatusOr<ExitCode> RunFnQueuePurge(const FnQueueOptions& options) {
  return ChangeQueue(options, "/v1/queue/purge", "purged",
                     options.is_dry_run ? "would be removed" : "removed");
}

void AddQueueSelection(CLI::App& command, FnQueueOptions& options) {
  command.add_option("NAME", options.name, "Only calls of this function");
  AddValue(command, "--id", options.ids, "ID", "Only the call with this X-Call-Id (repeatable)");
  AddValue(command, "--state", options.state, "waiting|dead", "State of the calls (default: dead)");
  command.add_flag("--all", options.means_all, "Calls of all functions");
  AddOutputOption(command, options.output);
  AddGatewayOptions(command, options.gateway);
}

}  // namespace

void AddFnQueueCommands(CommandRegistrar& registrar, CLI::App& group) {
  CLI::App& queue =
      *group.add_subcommand("queue", "Show, retry and purge asynchronous calls of functions");
  queue.require_subcommand(0, 1);
  queue.footer(
      "  kgpu fn queue list\n"
      "  kgpu fn queue retry hello");
  auto [list, list_options] = registrar.Add<FnQueueOptions>(
      queue, "list", "List asynchronous calls that have not succeeded", &RunFnQueueList);
  list.footer(
      "waiting: for its turn or its next attempt. running: an attempt is under way. dead: failed\n"
      "for good; it stays until it is retried or purged.\n"
      "\n"
      "  kgpu fn queue list --state dead\n"
      "  kgpu fn queue list hello --output json | jq '.calls[].problem'");
  list.add_option("NAME", list_options.name, "Only calls of this function");
  AddValue(list, "--state", list_options.state, "waiting|running|dead", "Only calls in this state");
  AddOutputOption(list, list_options.output);
  AddGatewayOptions(list, list_options.gateway);

  auto [retry, retry_options] = registrar.Add<FnQueueOptions>(
      queue, "retry", "Make dead or waiting calls due now", &RunFnQueueRetry);
  retry.footer(
      "Resets their retries and queues them again.\n"
      "\n"
      "  kgpu fn queue retry hello\n"
      "  kgpu fn queue retry --all --state waiting");
  AddQueueSelection(retry, retry_options);

  auto [purge, purge_options] = registrar.Add<FnQueueOptions>(
      queue, "purge", "Remove dead or waiting calls", &RunFnQueuePurge);
  purge.footer(
      "Calls in progress are not removed.\n"
      "\n"
      "  kgpu fn queue purge --all --dry-run\n"
      "  kgpu fn queue purge hello --state waiting");
  AddQueueSelection(purge, purge_options);
  purge.add_flag("--dry-run", purge_options.is_dry_run, "Show how many calls would be removed");
}

}  // namespace kgpu::cli
