#include "src/cli/base/commands.h"
#include "src/platform/base/time_text.h"

#include <unistd.h>

#include <boost/json/value.hpp>

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "src/cli/base/config_file.h"
#include "src/cli/base/find_pods.h"
#include "src/cli/base/kinds_view.h"
#include "src/cli/base/node_api.h"
#include "src/cli/base/options.h"
#include "src/cli/base/output.h"
#include "src/cli/base/progress.h"
#include "src/diagnose/claim/explain_claim.h"
#include "src/diagnose/explain/explain.h"
#include "src/diagnose/explain/gather.h"
#include "src/diagnose/explain/reason.h"
#include "src/diagnose/explain/view.h"
#include "src/platform/base/clock.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"
#include "src/platform/doc/doc.h"
#include "src/platform/sys/atomic_file.h"
#include "src/platform/sys/root.h"

namespace kgpu::cli {
namespace {

constexpr size_t kNodesShown = 10;

struct ExplainOptions {
  NodeOptions common;
  std::string name;
  std::string space;
  std::string from;
  std::string save;
  std::string host_root;
  std::string kubelet_dir = kKubeletDir;
  bool shows_all_nodes = false;
};

struct ObjectName {
  std::string space;
  std::string name;
};

// "team-a/train", or "train" in `given`, the value of --namespace, or else in `space`. `noun`: pod,
// claim.
StatusOr<ObjectName> ParseObjectName(std::string_view noun, const std::string& text,
                                     const std::string& given, std::string space) {
  const size_t slash = text.find('/');
  if (!given.empty() && slash != std::string::npos && text.substr(0, slash) != given) {
    return InvalidArgument("{}: --namespace is {}: leave it out, or name the {} without namespace",
                           Printable(text, 300), Printable(given, 60), noun);
  }
  if (!given.empty()) {
    space = given;
  }
  ObjectName name = slash == std::string::npos
                        ? ObjectName{space, text}
                        : ObjectName{text.substr(0, slash), text.substr(slash + 1)};
  if (name.name.empty() || name.space.empty() || name.name.find('/') != std::string::npos) {
    return InvalidArgument("{}: name the {} as NAMESPACE/NAME, or NAME with --namespace",
                           Printable(text, 300), noun);
  }
  return name;
}

// Which devices the kubelet of this host gave to the pod, where it runs here.
void AddHeld(const ExplainOptions& options, const ObjectName& pod, explain::Dump& dump) {
  const explain::Facts facts = explain::FactsOf(dump, pod.space, pod.name);
  const StatusOr<std::string> here = NodeNameOf(options.common);
  if (!facts.pod || !here.ok() || facts.pod->node != *here) {
    return;
  }
  const StatusOr<sys::Root> root =
      sys::Root::Open(options.host_root.empty() ? "/" : options.host_root);
  const StatusOr<pods::PodMapPtr> map =
      root.ok()
          ? FindPods(*root, BelowHostRoot(options.kubelet_dir, kKubeletDir, options.host_root),
                     nullptr)
          : StatusOr<pods::PodMapPtr>(root.status());
  if (!map.ok()) {
    dump.unreadable.push_back(fmt::format("devices of the pod: {}", Message(map.status())));
    return;
  }
  if (!(*map)->problem.empty()) {
    dump.unreadable.push_back(fmt::format("devices of the pod: {}", (*map)->problem));
  }
  for (const pods::DeviceUse& use : (*map)->devices) {
    if (use.user.pod_namespace == pod.space && use.user.pod == pod.name) {
      dump.held.push_back(
          {.container = use.user.container, .resource = use.resource, .id = use.device_id});
    }
  }
}

// How a kind of object is explained.
struct Subject {
  std::string_view noun;
  decltype(&explain::Gather) gather = nullptr;
  std::string explain::Dump::* named = nullptr;  // the name in a dump
  explain::Report (*explain)(const explain::Dump& dump, std::string_view space,
                             std::string_view name) = nullptr;
};

constexpr Subject kPod = {
    "pod", &explain::Gather, &explain::Dump::pod,
    [](const explain::Dump& dump, std::string_view space, std::string_view name) {
      return explain::Explain(explain::FactsOf(dump, space, name));
    }};
constexpr Subject kClaim = {"claim", &explain::GatherClaim, &explain::Dump::claim,
                            &claim::ExplainClaim};

StatusOr<explain::Dump> ReadCluster(const Subject& subject, const ExplainOptions& options,
                                    ObjectName& name) {
  const Progress progress("asking the cluster");
  NodeOptions common = options.common;
  common.reads_much = true;
  ASSIGN_OR_RETURN(const std::unique_ptr<NodeApi> api, NodeApi::Open(common));
  ASSIGN_OR_RETURN(name, ParseObjectName(subject.noun, options.name, options.space, api->Space()));
  const explain::Ask ask = [&](kube::ApiRequest request) { return api->Send(std::move(request)); };
  ASSIGN_OR_RETURN(explain::Dump dump, subject.gather(ask, name.space, name.name));
  dump.taken = FormatTime(RealClock().WallNow());
  if (&subject == &kPod) {
    AddHeld(options, name, dump);
  }
  return dump;
}

StatusOr<explain::Dump> ReadSaved(const Subject& subject, const ExplainOptions& options,
                                  ObjectName& name) {
  ASSIGN_OR_RETURN(const TextFile file, ReadTextFile(options.from, explain::kMaxJsonDump));
  ASSIGN_OR_RETURN(explain::Dump dump, explain::ReadDump(file.text, file.name));
  const std::string& named = options.name.empty() ? dump.*subject.named : options.name;
  if (named.empty()) {
    return InvalidArgument("{}: does not say which {} to explain: add NAMESPACE/NAME", file.name,
                           subject.noun);
  }
  ASSIGN_OR_RETURN(name, ParseObjectName(subject.noun, named, options.space, "default"));
  return dump;
}

StatusOr<ExitCode> RunExplain(const Subject& subject, const ExplainOptions& options) {
  ASSIGN_OR_RETURN(const OutputFormat format, ParseOutputFormat(options.common.output));
  ObjectName name;
  if (options.name.empty() && options.from.empty()) {
    return InvalidArgument("the {0} is missing: kgpu explain {0} NAMESPACE/NAME", subject.noun);
  }
  ASSIGN_OR_RETURN(explain::Dump dump, options.from.empty() ? ReadCluster(subject, options, name)
                                                            : ReadSaved(subject, options, name));
  const explain::Report report = subject.explain(dump, name.space, name.name);
  if (!options.save.empty()) {
    const auto file_format = doc::FormatOfPath(options.save);
    dump.*subject.named = fmt::format("{}/{}", name.space, name.name);
    // On a shared host other users must not see what a cluster runs.
    RETURN_IF_ERROR(sys::WriteFileAtomically(
        options.save,
        doc::Print(explain::DumpJson(std::move(dump)), file_format.value_or(doc::Format::kJson)),
        0600));
  }
  RETURN_IF_ERROR(
      PrintAs(format,
              explain::ReportText(report, options.shows_all_nodes ? SIZE_MAX : kNodesShown,
                                  TakesColor(STDOUT_FILENO)),
              explain::ReportJson(report)));
  if (report.state == explain::State::kAbsent) {
    return ExitCode::kNotFound;
  }
  return explain::IsHealthy(report) ? ExitCode::kOk : ExitCode::kUnhealthy;
}

StatusOr<ExitCode> RunPod(const ExplainOptions& options) {
  return RunExplain(kPod, options);
}

StatusOr<ExitCode> RunClaim(const ExplainOptions& options) {
  return RunExplain(kClaim, options);
}

StatusOr<ExitCode> RunDump(const ExplainOptions& options) {
  if (options.common.output == "table") {
    return InvalidArgument("--output: \"table\" must be json or yaml");
  }
  ASSIGN_OR_RETURN(const OutputFormat format, ParseOutputFormat(options.common.output));
  ObjectName pod;
  ASSIGN_OR_RETURN(explain::Dump dump, ReadCluster(kPod, options, pod));
  return OkOr(PrintOut(Render(explain::DumpJson(std::move(dump)), format)));
}

void AddNamespaceOption(CLI::App& command, ExplainOptions& options) {
  AddValue(command, "-n,--namespace", options.space, "NAME",
           "Namespace of the object (default: the context's)");
  AddClusterOptions(command, options.common);
}

void AddLiveOptions(CLI::App& command, ExplainOptions& options) {
  AddNamespaceOption(command, options);
  AddValue(command, "--kubelet-dir", options.kubelet_dir, "DIR",
           "The kubelet's folder, to find the devices of a pod on this host");
  AddHostRootOption(command, options.host_root);
}

// Where the input comes from, and what is printed.
CLI::Option* AddReportOptions(CLI::App& command, ExplainOptions& options) {
  CLI::Option* from =
      command.add_option("--from", options.from,
                         "Read a file written by --save or `kgpu explain dump`, or a "
                         "list printed by kubectl; - for standard input");
  from->type_name("FILE");
  AddValue(command, "--save", options.save, "FILE", "Save the input as JSON or (*.yaml) YAML");
  command.add_flag("--all-nodes", options.shows_all_nodes, "Show all nodes, not only the best ten");
  return from;
}

void AddPod(CommandRegistrar& registrar, CLI::App& group) {
  auto [command, options] = registrar.Add<ExplainOptions>(
      group, "pod", "Explain why a pod did or did not get a GPU", &RunPod);
  command.footer(
      "Prints the verdict in one line, then what is wrong with the pod itself, then the GPU "
      "nodes,\n"
      "best match first, with the reasons why the pod does not fit and the commands that fix "
      "them.\n"
      "Checks the scheduler's filters that concern GPUs, and lists what it did not check. Changes\n"
      "nothing and never reads secrets.\n"
      "Exits 0 when the pod has what it requests, 7 when it does not, 3 when there is no such "
      "pod.\n"
      "\n"
      "  kgpu explain pod team-a/train\n"
      "  kgpu explain pod train -n team-a --output json | jq -r .verdict\n"
      "  kgpu explain pod team-a/train --save train.json    save the input for somebody else\n"
      "  kgpu explain pod --from train.json                 without a cluster\n"
      "  kubectl get pods,nodes,events -A -o json | kgpu explain pod team-a/train --from -");
  command.add_option("POD", options.name, "NAMESPACE/NAME, or NAME with --namespace");
  CLI::Option* from = AddReportOptions(command, options);
  AddLiveOptions(command, options);
  from->excludes("--kubeconfig")->excludes("--context")->excludes("--kubelet-dir");
  AddOutputOption(command, options.common.output);
}

void AddClaim(CommandRegistrar& registrar, CLI::App& group) {
  auto [command, options] = registrar.Add<ExplainOptions>(
      group, "claim", "Explain why a resource claim did or did not get its devices", &RunClaim);
  command.footer(
      "Looks for devices as the scheduler does, and prints for each node how many are refused for\n"
      "which reason: selectors (CEL) with what the devices have, taints, other claims, "
      "capacities,\n"
      "shared counters, constraints. Changes nothing.\n"
      "Exits 0 when the claim is allocated, 7 when it is not, 3 when there is no such claim.\n"
      "\n"
      "  kgpu explain claim team-a/gpu\n"
      "  kgpu explain claim gpu -n team-a --output json | jq -r .verdict\n"
      "  kubectl get resourceclaims,deviceclasses,resourceslices,nodes -A -o json |\n"
      "    kgpu explain claim team-a/gpu --from -");
  command.add_option("CLAIM", options.name, "NAMESPACE/NAME, or NAME with --namespace");
  CLI::Option* from = AddReportOptions(command, options);
  AddNamespaceOption(command, options);
  from->excludes("--kubeconfig")->excludes("--context");
  AddOutputOption(command, options.common.output);
}

void AddDump(CommandRegistrar& registrar, CLI::App& group) {
  auto [command, options] = registrar.Add<ExplainOptions>(
      group, "dump", "Print the input of an explanation, for kgpu explain pod --from", &RunDump);
  options.common.output = "json";
  command.footer(
      "Contains the relevant fields of pods, nodes, events, quotas and resource claims: no "
      "secrets,\n"
      "no commands, and only the environment variables that select GPUs and CUDA versions.\n"
      "\n"
      "  kgpu explain dump team-a/train > train.json");
  command.add_option("POD", options.name, "NAMESPACE/NAME, or NAME with --namespace")->required();
  AddLiveOptions(command, options);
  AddOutputOption(command, options.common.output, "json|yaml");
}

struct ReasonsOptions {
  std::string output = "table";
};

StatusOr<ExitCode> RunReasons(const ReasonsOptions& options) {
  return PrintKinds(
      options.output,
      {.kinds = explain::ReasonKinds(), .name = "reasons", .extra = "ABOUT", .extra_key = "about"},
      explain::ReasonsMarkdown());
}

void AddReasons(CommandRegistrar& registrar, CLI::App& group) {
  auto [command, options] = registrar.Add<ReasonsOptions>(
      group, "reasons", "List all reasons that kgpu explain knows", &RunReasons);
  command.footer(
      "  kgpu explain reasons | less\n"
      "  kgpu explain reasons --output json | jq -r '.reasons[].id'");
  AddOutputOption(command, options.output, kKindsFormats);
}

}  // namespace

void AddExplainCommands(CommandRegistrar& registrar) {
  CLI::App& group =
      registrar.AddGroup("explain", "Explain why a pod or claim did or did not get a GPU");
  group.footer("  kgpu explain pod team-a/train\n  kgpu explain claim team-a/gpu");
  AddPod(registrar, group);
  AddClaim(registrar, group);
  AddDump(registrar, group);
  AddReasons(registrar, group);
}

}  // namespace kgpu::cli
