#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <boost/json/value.hpp>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "src/cli/base/commands.h"
#include "src/cli/base/environment.h"
#include "src/cli/base/options.h"
#include "src/cli/base/output.h"
#include "src/cli/base/progress.h"
#include "src/cli/cluster/cluster_api.h"
#include "src/cli/top/cluster_source.h"
#include "src/cli/top/cluster_view.h"
#include "src/cli/top/csv.h"
#include "src/cli/top/frame.h"
#include "src/cli/top/node_source.h"
#include "src/cli/top/node_view.h"
#include "src/cli/top/session.h"
#include "src/platform/base/duration.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"

namespace kgpu::cli {
namespace {

using std::chrono::milliseconds;

constexpr char kTopFormats[] = "table|json|csv";

struct TopOptions {
  bool is_cluster = false;
  bool is_once = false;
  std::string every;
  std::string output = "table";
  std::string by = "node";
  top::ClusterQuery query;
  ClusterAccess access;
  std::string run_dir = kRunDir;
  std::string host_root;
};

// The value of a variable of our environment, by its name and "="; empty if it is unset.
std::string Variable(std::string_view name) {
  for (const std::string& entry : Environment()) {
    if (entry.starts_with(name)) {
      return entry.substr(name.size());
    }
  }
  return "";
}

// Where standard output is no terminal that can be drawn on, a frame is printed once.
bool IsLive(const TopOptions& options) {
  const std::string terminal = Variable("TERM=");
  return !options.is_once && options.output == "table" && isatty(STDIN_FILENO) != 0 &&
         isatty(STDOUT_FILENO) != 0 && !terminal.empty() && terminal != "dumb";
}

terminal::Look OwnLook() {
  return terminal::LookOf(Environment(), TakesColor(STDOUT_FILENO));
}

// Columns of one frame: those of the terminal, else of $COLUMNS, else 80.
size_t FrameColumns() {
  constexpr size_t kUsual = 80;
  constexpr size_t kLeast = 20;
  if (const size_t width = TerminalWidth(STDOUT_FILENO); width > 0) {
    return width;
  }
  return std::clamp<size_t>(ParseUint(Variable("COLUMNS=")).value_or(kUsual), kLeast, 1000);
}

StatusOr<std::optional<milliseconds>> EveryOf(const TopOptions& options) {
  if (options.every.empty()) {
    return std::optional<milliseconds>();
  }
  ASSIGN_OR_RETURN(const milliseconds every, ParseDuration("--every", options.every));
  const milliseconds least(options.is_cluster ? 2'000 : 500);
  if (every < least) {
    return InvalidArgument("--every: {} is too often: use at least {}", options.every,
                           FormatDuration(least));
  }
  return std::optional(every);
}

StatusOr<ExitCode> RunNode(const TopOptions& options, std::optional<milliseconds> every) {
  const std::string run_dir = BelowHostRoot(options.run_dir, kRunDir, options.host_root);
  ASSIGN_OR_RETURN(const std::string text, top::FetchLive(run_dir));
  ASSIGN_OR_RETURN(const boost::json::value tree, top::ParseLiveDocument(text));
  ASSIGN_OR_RETURN(top::LiveDocument document, top::LiveDocumentOf(tree));
  if (options.output == "json") {
    return OkOr(PrintOut(Render(tree, OutputFormat::kJson)));
  }
  if (options.output == "csv") {
    return OkOr(PrintOut(top::NodeCsv(document)));
  }
  const terminal::Look look = OwnLook();
  if (!IsLive(options)) {
    return OkOr(PrintOut(top::TextOf(top::NodeView(document, {}, FrameColumns(), look), look)));
  }
  ASSIGN_OR_RETURN(const std::unique_ptr<EpollLoop> loop, EpollLoop::Create());
  top::NodeSource source(*loop,
                         {.run_dir = run_dir,
                          .host_root = options.host_root,
                          .kubeconfig = options.access.kubeconfig,
                          .context = options.access.context,
                          .every = every},
                         std::move(document));
  return OkOr(top::RunSession(*loop, source, look, {}));
}

StatusOr<ExitCode> RunCluster(const TopOptions& options, std::optional<milliseconds> every) {
  ASSIGN_OR_RETURN(const gpus::GroupBy by, gpus::ParseGroupBy("--by", options.by));
  ASSIGN_OR_RETURN(const auto api, ClusterApi::Open(options.access));
  StatusOr<gpus::Summary> summary = [&] {
    const Progress progress("asking the API server");
    return top::ReadClusterGpus(*api, options.query);
  }();
  RETURN_IF_ERROR(summary.status());
  if (options.output == "json") {
    return OkOr(PrintOut(Render(gpus::SummaryJson(*summary, by), OutputFormat::kJson)));
  }
  if (options.output == "csv") {
    return OkOr(PrintOut(top::ClusterCsv(*summary, by)));
  }
  const terminal::Look look = OwnLook();
  const top::ListState state = {.grouping = static_cast<size_t>(by)};
  top::ClusterSource source(*api,
                            {.access = options.access,
                             .query = options.query,
                             .every = every.value_or(milliseconds(10'000))},
                            *std::move(summary));
  if (!IsLive(options)) {
    return OkOr(PrintOut(top::TextOf(source.Show(state, FrameColumns(), look), look)));
  }
  return OkOr(top::RunSession(api->loop(), source, look, state));
}

StatusOr<ExitCode> RunTop(const TopOptions& options) {
  if (options.output != "table" && options.output != "json" && options.output != "csv") {
    return InvalidArgument("--output: \"{}\" must be table, json or csv",
                           Printable(options.output, 40));
  }
  ASSIGN_OR_RETURN(const std::optional<milliseconds> every, EveryOf(options));
  return options.is_cluster ? RunCluster(options, every) : RunNode(options, every);
}

struct ClusterGpusOptions {
  ClusterAccess access;
  top::ClusterQuery query;
  std::string by = "node";
  std::string output = "table";
};

StatusOr<ExitCode> RunClusterGpus(const ClusterGpusOptions& options) {
  ASSIGN_OR_RETURN(const OutputFormat format, ParseOutputFormat(options.output));
  ASSIGN_OR_RETURN(const gpus::GroupBy by, gpus::ParseGroupBy("--by", options.by));
  ASSIGN_OR_RETURN(const auto api, ClusterApi::Open(options.access));
  const StatusOr<gpus::Summary> summary = [&] {
    const Progress progress("asking the API server");
    return top::ReadClusterGpus(*api, options.query);
  }();
  RETURN_IF_ERROR(summary.status());
  for (const std::string& what : summary->unreadable) {
    PrintNote(fmt::format("kgpu cluster gpus: not read: {}", Printable(what, 400)));
  }
  return OkOr(PrintAs(format, gpus::SummaryTable(*summary, by), gpus::SummaryJson(*summary, by)));
}

constexpr char kByHelp[] = "Print one line for each of these";
constexpr char kByType[] = "node|model|pool|namespace";

void AddQueryOptions(CLI::App& command, top::ClusterQuery& query) {
  gpus::Filter& filter = query.filter;
  AddValue(command, "--node", filter.node, "NAME", "Only GPUs of this node");
  AddValue(command, "--model", filter.model, "MODEL", "Only GPUs of this model");
  AddValue(command, "--pool", filter.pool, "RESOURCE", "Only devices of this resource");
  AddValue(command, "-n,--namespace", filter.space, "NAME",
           "Only pools in which this namespace uses devices");
  command.add_flag("!--api-only", query.asks_agents,
                   "Ask no agents: counts alone, without utilization and memory");
}

}  // namespace

void AddTopCommand(CommandRegistrar& registrar) {
  auto [command, options] = registrar.Add<TopOptions>(
      registrar.app(), "top", "Watch GPUs, and the pods and processes that use them", &RunTop);
  command.footer(
      "Shows this node's GPUs, as its agent measures them; ? lists the keys. With --cluster, "
      "shows\n"
      "the free, used and unhealthy GPUs of a cluster, and what its agents say of their use. "
      "Where\n"
      "standard output is no terminal, or with --once, prints one frame.\n"
      "\n"
      "  kgpu top\n"
      "  kgpu top --once --output csv > gpus.csv\n"
      "  kgpu top --output json | jq '.gpus[] | {index, utilization}'\n"
      "  kgpu top --cluster --by namespace");
  CLI::Option* cluster =
      command.add_flag("--cluster", options.is_cluster,
                       "Show the GPUs of a cluster, from its API server and agents");
  command.add_flag("--once", options.is_once, "Print one frame and exit");
  AddValue(command, "--every", options.every, "DURATION",
           "How often to ask again (default: as often as the agent measures; 10s for a cluster)");
  AddOutputOption(command, options.output, kTopFormats);
  AddValue(command, "--by", options.by, kByType, "With --cluster: group by this")->needs(cluster);
  AddQueryOptions(command, options.query);
  for (const char* flag : {"--node", "--model", "--pool", "--namespace", "--api-only"}) {
    command.get_option(flag)->needs(cluster);
  }
  AddClusterAccess(command, options.access);
  AddRunDirOption(command, options.run_dir);
  AddHostRootOption(command, options.host_root);
}

void AddClusterGpusCommand(CommandRegistrar& registrar, CLI::App& group) {
  auto [command, options] = registrar.Add<ClusterGpusOptions>(
      group, "gpus", "Show free, used and unhealthy GPUs, and who uses them", &RunClusterGpus);
  command.footer(
      "Counts what nodes offer, what pods request, and the devices of ResourceSlices and claims.\n"
      "UNHEALTHY are unused devices that no pod can get; CORDONED, on nodes that take no pods.\n"
      "UTIL and MEMORY are what the agents say.\n"
      "\n"
      "  kgpu cluster gpus\n"
      "  kgpu cluster gpus --by model\n"
      "  kgpu cluster gpus -o json | jq '.groups[] | select(.free > 0) | .name'");
  AddValue(command, "--by", options.by, kByType, kByHelp);
  AddQueryOptions(command, options.query);
  AddClusterAccess(command, options.access);
  AddOutputOption(command, options.output);
}

}  // namespace kgpu::cli
