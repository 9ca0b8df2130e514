// `kgpu collect`: one archive for support.
#include <unistd.h>

#include <boost/json/value.hpp>

#include <CLI/CLI.hpp>

#include <fmt/ranges.h>

#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "src/cli/base/commands.h"
#include "src/cli/base/host_options.h"
#include "src/cli/base/node_api.h"
#include "src/cli/base/output.h"
#include "src/cli/base/progress.h"
#include "src/diagnose/collect/cluster.h"
#include "src/diagnose/collect/collect.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/time_text.h"
#include "src/platform/sys/atomic_file.h"

namespace kgpu::cli {
namespace {

struct CollectOptions {
  HostOptions host;
  NodeOptions cluster;
  bool is_cluster = false;
  std::string space = "kgpu";
  std::string file;  // empty: named after the host and the time
  bool is_dry_run = false;
};

std::string HostName() {
  char name[256] = {};
  return gethostname(name, sizeof(name) - 1) == 0 ? name : "host";
}

// "kgpu-n1-20261129T181500Z.tar.gz".
std::string UsualFile(const std::string& host, WallTime now) {
  std::string time = FormatTime(now);
  std::erase_if(time, [](char c) { return c == '-' || c == ':'; });
  return fmt::format("kgpu-{}-{}.tar.gz", host, time);
}

std::vector<std::string> FlagsOf(const HostOptions& host) {
  return host.host_root.empty() ? std::vector<std::string>()
                                : std::vector<std::string>{"--host-root", host.host_root};
}

Status PrintSources(const collect::Sources& sources) {
  std::string text;
  for (const collect::Command& command : sources.commands) {
    text += fmt::format("{}\n", fmt::join(command.argv, " "));
  }
  for (const std::string& file : sources.files) {
    text += fmt::format("/{}\n", file);
  }
  for (const std::string& folder : sources.folders) {
    text += fmt::format("/{}/*\n", folder);
  }
  return PrintOut(text);
}

// Shows what is collected now.
class Shown {
 public:
  void Begin(std::string_view name) {
    progress_.reset();
    progress_ = std::make_unique<Progress>(fmt::format("collecting {}", name));
  }

 private:
  std::unique_ptr<Progress> progress_;
};

StatusOr<ExitCode> Write(const collect::Bundle& bundle, const std::string& of,
                         const CollectOptions& options) {
  const WallTime now = std::chrono::system_clock::now();
  ASSIGN_OR_RETURN(const std::string archive, collect::PackBundle(bundle, of, now));
  const std::string file = options.file.empty() ? UsualFile(of, now) : options.file;
  RETURN_IF_ERROR(sys::WriteFileAtomically(file, archive, 0600, sys::Durability::kDisk));
  for (const std::string& problem : bundle.problems) {
    PrintNote(problem);
  }
  return OkOr(PrintOut(fmt::format("{}\n", file)));
}

StatusOr<ExitCode> RunForCluster(const CollectOptions& options) {
  NodeOptions cluster = options.cluster;
  cluster.reads_much = true;
  ASSIGN_OR_RETURN(const std::unique_ptr<NodeApi> api, NodeApi::Open(cluster));
  collect::Bundle bundle;
  {
    Shown shown;
    bundle = collect::CollectCluster(
        {.ask = [&](kube::ApiRequest request) { return api->Send(std::move(request)); },
         .read_text = [&](kube::ApiRequest request,
                          size_t limit) { return api->ReadText(request, limit); },
         .space = options.space,
         .begin = [&](std::string_view name) { shown.Begin(name); }});
  }
  if (bundle.files.empty() && !bundle.problems.empty()) {
    return Unavailable("the cluster says nothing: {}", bundle.problems.front());
  }
  return Write(bundle, "cluster", options);
}

StatusOr<ExitCode> RunCollect(const CollectOptions& options) {
  if (options.is_cluster) {
    return RunForCluster(options);
  }
  const collect::Sources sources = collect::UsualSources();
  if (options.is_dry_run) {
    return OkOr(PrintSources(sources));
  }
  ASSIGN_OR_RETURN(const host::DriverRoot root, OpenRoots(options.host));
  ASSIGN_OR_RETURN(const std::string folder, ProgramFolder());
  sys::RealRunner runner;
  collect::Bundle bundle;
  {
    Shown shown;
    bundle =
        collect::Collect(sources, {.host = root.host,
                                   .runner = runner,
                                   .program = folder + "/kgpu",
                                   .flags = FlagsOf(options.host),
                                   .begin = [&](std::string_view name) { shown.Begin(name); }});
  }
  return Write(bundle, HostName(), options);
}

}  // namespace

void AddCollectCommand(CommandRegistrar& registrar) {
  auto [command, options] = registrar.Add<CollectOptions>(
      registrar.app(), "collect", "Collect what support needs into one archive", &RunCollect);
  command.footer(
      "Runs kgpu's own checks, and adds logs and the files that decide how the host uses GPUs.\n"
      "Tokens, passwords and keys are removed; removed.txt in the archive says where. Works on a\n"
      "host that is broken: what cannot be collected is listed. At most 32 MiB, unpacked.\n"
      "\n"
      "  kgpu collect\n"
      "  kgpu collect --file /tmp/n1.tar.gz\n"
      "  kgpu collect --dry-run          what would be collected\n"
      "  kgpu collect --cluster          nodes, objects, events and logs of kgpu, from the API "
      "server");
  AsPath(AddValue(command, "--file", options.file, "FILE",
                  "Archive to write (default: kgpu-HOST-TIME.tar.gz)"));
  AddRootOptions(command, options.host);
  command.add_flag("--cluster", options.is_cluster,
                   "Collect from a cluster instead of this host: what its API server has of kgpu, "
                   "logs, and what the agents show");
  AddClusterOptions(command, options.cluster);
  AddValue(command, "-n,--namespace", options.space, "NAME",
           "Namespace in which kgpu is installed (default: kgpu)");
  command.add_flag("--dry-run", options.is_dry_run, "List what would be collected")
      ->excludes("--cluster");
}

}  // namespace kgpu::cli
