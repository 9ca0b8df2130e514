// `kgpu run job|shell|jupyter`: starts something that needs GPUs.
#include <unistd.h>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <CLI/CLI.hpp>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "src/cli/base/commands.h"
#include "src/cli/base/confirm.h"
#include "src/cli/base/environment.h"
#include "src/cli/base/options.h"
#include "src/cli/base/output.h"
#include "src/cli/base/progress.h"
#include "src/cli/run/run_cluster.h"
#include "src/cli/run/run_shell.h"
#include "src/cluster/run/images.h"
#include "src/cluster/run/start.h"
#include "src/cluster/run/view.h"
#include "src/kube/api/resource.h"
#include "src/platform/base/duration.h"
#include "src/platform/base/random_text.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"

namespace kgpu::cli {
namespace {

namespace json = boost::json;
using run::RunInfo;
using run::RunKind;

struct RunOptions {
  NodeOptions common;
  std::string space;
  run::RunRequest request;
  std::vector<std::string> models;
  std::string memory;
  std::vector<std::string> variables;
  std::vector<std::string> volumes;
  std::string timeout = "0";
  bool is_detached = false;
  bool is_kept = false;
  bool has_no_volume = false;
};

std::string PathVariable() {
  constexpr std::string_view kName = "PATH=";
  for (const std::string& variable : Environment()) {
    if (variable.starts_with(kName)) {
      return variable.substr(kName.size());
    }
  }
  return "";
}

StatusOr<run::RunRequest> RequestFrom(const RunOptions& options, RunKind kind,
                                      const RunCluster& cluster) {
  run::RunRequest request = options.request;
  request.kind = kind;
  request.space = cluster.SpaceOr(options.space);
  if (request.name.empty()) {
    ASSIGN_OR_RETURN(const std::string end, RandomHex(3));
    request.name = fmt::format("{}-{}", run::ToString(kind), end);
  }
  if (const run::BuiltinImage* image = run::DefaultImage(kind);
      request.image.empty() && image != nullptr) {
    request.image = image->image;
  }
  for (const std::string& list : options.models) {
    for (const std::string_view model : Split(list, ',')) {
      request.models.emplace_back(Trim(model));
    }
  }
  if (!options.memory.empty()) {
    ASSIGN_OR_RETURN(request.memory_mib, run::ParseGpuMemory("--memory", options.memory));
  }
  for (const std::string& variable : options.variables) {
    ASSIGN_OR_RETURN(auto parsed, run::ParseVariable(variable));
    request.environment.insert_or_assign(std::move(parsed.first), std::move(parsed.second));
  }
  for (const std::string& volume : options.volumes) {
    ASSIGN_OR_RETURN(run::Mount mount,
                     run::ParseMount(volume, kind == RunKind::kJupyter ? "/work" : ""));
    request.mounts.push_back(std::move(mount));
  }
  request.has_own_claim =
      kind == RunKind::kJupyter && request.mounts.empty() && !options.has_no_volume;
  ASSIGN_OR_RETURN(request.token, RandomHex(24));
  return request;
}

StatusOr<ExitCode> PrintManifest(const RunOptions& options, const run::Prepared& prepared) {
  ASSIGN_OR_RETURN(const OutputFormat format, ParseOutputFormat(options.common.output));
  json::array items;
  for (const json::value& object : prepared.objects) {
    items.push_back(object);
  }
  return OkOr(
      PrintAs(format, run::ManifestText(prepared.objects),
              json::object{{"apiVersion", "v1"}, {"kind", "List"}, {"items", std::move(items)}}));
}

// A run that has begun, with what it was begun with.
struct Begun {
  std::unique_ptr<RunCluster> cluster;
  run::RunRequest request;
  std::optional<RunInfo> info;  // nothing: a dry run
};

// Creates the run and waits until it is running. If that fails, nothing is left of it.
StatusOr<Begun> Begin(const RunOptions& options, RunKind kind) {
  ASSIGN_OR_RETURN(const auto timeout, ParseDuration("--timeout", options.timeout));
  Begun begun;
  ASSIGN_OR_RETURN(begun.cluster, RunCluster::Open(options.common));
  ASSIGN_OR_RETURN(begun.request, RequestFrom(options, kind, *begun.cluster));
  Progress progress(fmt::format("starting {}", begun.request.name));
  const run::StartDeps deps =
      begun.cluster->Deps([&progress](std::string_view text) { progress.Note(text); });
  ASSIGN_OR_RETURN(const run::Prepared prepared, run::Prepare(deps, begun.request));
  if (options.common.is_dry_run) {
    RETURN_IF_ERROR(run::Create(deps, begun.request, prepared, true));
    RETURN_IF_ERROR(PrintManifest(options, prepared).status());
    return begun;
  }
  if (prepared.judgement.prospect == run::Prospect::kBusy) {
    progress.Note(prepared.judgement.own.empty()
                      ? "every node that qualifies is busy or not ready: waiting"
                      : fmt::format("{}: waiting", prepared.judgement.own));
  }
  RETURN_IF_ERROR(run::Create(deps, begun.request, prepared, false));
  progress.Note(fmt::format("created {} in namespace {}: kgpu run stop {} -n {} removes it",
                            begun.request.name, begun.request.space, begun.request.name,
                            begun.request.space));
  StatusOr<RunInfo> info = run::WaitUntilRunning(deps, begun.request, timeout);
  if (!info.ok()) {
    const Status removed = run::RemoveRun(deps, begun.request.space, begun.request.name);
    return removed.ok() ? info.status()
                        : MakeStatus(info.status().code(),
                                     fmt::format("{}; it could not be removed: {}",
                                                 Message(info.status()), Message(removed)));
  }
  begun.info = *std::move(info);
  return begun;
}

StatusOr<ExitCode> PrintRun(const RunOptions& options, const Begun& begun, std::string_view text,
                            const std::string& url = "") {
  ASSIGN_OR_RETURN(const OutputFormat format, ParseOutputFormat(options.common.output));
  const RunInfo info = begun.info.value_or(RunInfo());
  return OkOr(PrintAs(format, text, run::RunsJson({{.run = info, .url = url}})));
}

Status CheckJobOutput(const RunOptions& options) {
  const bool prints_log = !options.is_detached && !options.common.is_dry_run;
  if (prints_log && options.common.output != "table") {
    return InvalidArgument(
        "--output {}: a job prints its own output: add --detach to print the run instead",
        options.common.output);
  }
  return OkStatus();
}

StatusOr<ExitCode> RunJob(const RunOptions& options) {
  RETURN_IF_ERROR(CheckJobOutput(options));
  ASSIGN_OR_RETURN(const Begun begun, Begin(options, RunKind::kJob));
  if (!begun.info) {
    return ExitCode::kOk;
  }
  const RunInfo& info = *begun.info;
  if (options.is_detached) {
    return PrintRun(options, begun,
                    fmt::format("{}: {} on {}\n", info.name, run::ToString(info.state), info.node));
  }
  const Status printed = begun.cluster->ReadText(
      {.path = kube::kPods.Object(info.space, info.pod, "log"), .query = {{"follow", "true"}}},
      [](std::string_view text) { PrintOut(text).IgnoreError(); });
  if (!printed.ok()) {
    PrintNote(fmt::format("{}: its output could not be read to the end: {}", info.name,
                          Message(printed)));
  }
  const run::StartDeps deps = begun.cluster->Deps([](std::string_view text) { PrintNote(text); });
  ASSIGN_OR_RETURN(const RunInfo ended, run::WaitUntilEnded(deps, begun.request));
  PrintNote(fmt::format("{}: {}{}", ended.name, run::ToString(ended.state),
                        ended.problem.empty() ? "" : fmt::format(": {}", ended.problem)));
  return ended.state == run::RunState::kSucceeded ? ExitCode::kOk : ExitCode::kUnhealthy;
}

StatusOr<ExitCode> RunShell(const RunOptions& options) {
  RunOptions pod_options = options;
  pod_options.request.command.clear();  // it is for the shell, not for the pod
  ASSIGN_OR_RETURN(const Begun begun, Begin(pod_options, RunKind::kShell));
  if (!begun.info) {
    return ExitCode::kOk;
  }
  const std::string kubectl = FindKubectl(PathVariable());
  if (kubectl.empty() || options.is_detached) {
    if (kubectl.empty()) {
      PrintNote("kubectl, which opens the shell, is not in PATH: run this where it is");
    }
    return PrintRun(
        options, begun,
        fmt::format("{}\n", ExecLine(options.common, *begun.info, options.request.command)));
  }
  std::vector<std::string> argv =
      ExecCommand(options.common, *begun.info, options.request.command, HasTerminal());
  argv[0] = kubectl;
  const StatusOr<int> code = RunInForeground(std::move(argv));
  if (options.is_kept) {
    PrintNote(fmt::format("{} stays: kgpu run stop {} -n {}", begun.info->name, begun.info->name,
                          begun.info->space));
  } else {
    const run::StartDeps deps = begun.cluster->Deps([](std::string_view text) { PrintNote(text); });
    RETURN_IF_ERROR(run::RemoveRun(deps, begun.info->space, begun.info->name));
  }
  RETURN_IF_ERROR(code.status());
  return *code == 0 ? ExitCode::kOk : ExitCode::kFailed;
}

StatusOr<ExitCode> RunJupyter(const RunOptions& options) {
  ASSIGN_OR_RETURN(const Begun begun, Begin(options, RunKind::kJupyter));
  if (!begun.info) {
    return ExitCode::kOk;
  }
  ASSIGN_OR_RETURN(const std::string url,
                   run::UrlOf(begun.cluster->client(), *begun.info, begun.request.token));
  return PrintRun(options, begun, fmt::format("{}\n", url), url);
}

void AddRequestFlags(CLI::App& command, RunOptions& options) {
  run::RunRequest& request = options.request;
  CLI::Option* claim = AddValue(command, "--claim", request.claim, "NAME",
                                "ResourceClaim that has the GPUs, instead of the next five");
  claim->excludes(command.add_option("--gpus", request.gpus, "Number of GPUs")
                      ->type_name("N")
                      ->capture_default_str());
  claim->excludes(
      AddValue(command, "--model", options.models, "MODEL,…",
               "GPU model, as kgpu devices shows it; of several, the first is preferred"));
  claim->excludes(
      AddValue(command, "--memory", options.memory, "SIZE", "Least memory of each GPU: 40Gi, 80G"));
  claim->excludes(AddValue(command, "--resource", request.resource, "NAME",
                           "Resource to request (default: what the nodes offer)"));
  claim->excludes(
      AddValue(command, "--cuda", request.cuda, "V",
               "CUDA version that the image needs (default: found out where possible)"));
  AddValue(command, "--name", request.name, "NAME", "Name of the run (default: random)");
  AddValue(command, "-n,--namespace", options.space, "NAME", "Namespace (default: the context's)");
  AddValue(command, "--env", options.variables, "NAME=VALUE", "Environment variable (repeatable)");
  AddValue(command, "--timeout", options.timeout, "TIME",
           "How long to wait for GPUs, as 90s, 5m or 2h; 0: without limit");
  command.add_flag("--image-user", request.has_image_user,
                   "Run as the user that the image names, which may be root, instead of user 1000");
  AddClusterOptions(command, options.common);
  command.add_flag("--dry-run", options.common.is_dry_run,
                   "Print the manifest; the server validates it but writes nothing");
  AddOutputOption(command, options.common.output);
}

void AddVolumeFlag(CLI::App& command, RunOptions& options) {
  AddValue(command, "--volume", options.volumes, "CLAIM:PATH",
           "PersistentVolumeClaim to mount (repeatable)");
}

void AddCommandWords(CLI::App& command, RunOptions& options, const char* help) {
  command.add_option("COMMAND", options.request.command, help);
}

void AddJob(CommandRegistrar& registrar, CLI::App& group) {
  auto [command, options] =
      registrar.Add<RunOptions>(group, "job", "Run a command on GPUs to completion", &RunJob);
  command.footer(
      "Waits for GPUs, says what keeps the job from running, then prints the job's output. Ctrl-C\n"
      "ends the printing, not the job. COMMAND is given to the image's entrypoint.\n"
      "Exits 0 when the job succeeded, 7 when it failed, 6 when no node can ever run it, 4 after\n"
      "--timeout; then nothing is left of it.\n"
      "\n"
      "  kgpu run job docker.io/nvidia/cuda:12.4.1-base-ubuntu22.04 --cuda 12.4 -- nvidia-smi -L\n"
      "  kgpu run job app:1 --gpus 2 --model A100-SXM4-80GB,H100-SXM5-80GB --memory 40Gi\n"
      "  kgpu run job app:1 --volume data:/data --env EPOCHS=3 --detach\n"
      "  kgpu run job app:1 --dry-run > job.yaml");
  command.add_option("IMAGE", options.request.image, "Image to run")->required();
  AddCommandWords(command, options, "Command and its arguments, after --");
  AddVolumeFlag(command, options);
  command.add_flag("--detach", options.is_detached, "Return once the job runs");
  AddRequestFlags(command, options);
}

void AddShell(CommandRegistrar& registrar, CLI::App& group) {
  auto [command, options] =
      registrar.Add<RunOptions>(group, "shell", "Open a shell in a pod with GPUs", &RunShell);
  command.footer(
      "Starts a pod and opens a shell in it with kubectl, which must be in PATH; otherwise prints\n"
      "the command. The pod is removed when the shell ends.\n"
      "\n"
      "  kgpu run shell\n"
      "  kgpu run shell --gpus 2 --model A100-SXM4-80GB\n"
      "  kgpu run shell app:1 --keep -- python3");
  command.add_option("IMAGE", options.request.image, "Image to run (default: a CUDA image)");
  AddCommandWords(command, options, "What to run in the pod instead of a shell, after --");
  AddVolumeFlag(command, options);
  command.add_flag("--detach", options.is_detached, "Print the command that opens the shell");
  command.add_flag("--keep", options.is_kept, "Do not remove the pod when the shell ends");
  AddRequestFlags(command, options);
}

void AddJupyter(CommandRegistrar& registrar, CLI::App& group) {
  auto [command, options] = registrar.Add<RunOptions>(
      group, "jupyter", "Start a Jupyter server with TensorFlow on GPUs", &RunJupyter);
  command.footer(
      "Creates a Deployment, a Service with a port on every node, a Secret with a random token\n"
      "and a volume, waits until the server answers, and prints its URL.\n"
      "\n"
      "  kgpu run jupyter\n"
      "  kgpu run jupyter --name lab --volume notebooks --node-port 0\n"
      "  kgpu run stop lab");
  AddValue(command, "--image", options.request.image, "IMAGE",
           "Image with Jupyter (default: TensorFlow's)");
  AddCommandWords(command, options, "Arguments for the image's entrypoint, after --");
  CLI::Option* volume =
      AddValue(command, "--volume", options.volumes, "CLAIM[:PATH]",
               "PersistentVolumeClaim to mount (default: a new one; path: /work)");
  CLI::Option* storage =
      AddValue(command, "--storage", options.request.storage, "SIZE", "Size of the new volume");
  command
      .add_flag("--no-volume", options.has_no_volume, "Keep files only as long as the pod lives")
      ->excludes(volume)
      ->excludes(storage);
  volume->excludes(storage);
  command
      .add_option("--node-port", options.request.node_port,
                  "Port on every node; 0: the cluster chooses")
      ->type_name("PORT")
      ->capture_default_str();
  AddRequestFlags(command, options);
}

}  // namespace

void AddRunCommands(CommandRegistrar& registrar) {
  CLI::App& group = registrar.AddGroup("run", "Run a job, shell or notebook on cluster GPUs");
  group.footer(
      "  kgpu run shell\n"
      "  kgpu run job app:1 --gpus 2\n"
      "  kgpu run jupyter\n"
      "  kgpu run list");
  AddJob(registrar, group);
  AddShell(registrar, group);
  AddJupyter(registrar, group);
  AddRunManageCommands(registrar, group);
}

}  // namespace kgpu::cli
