#include <CLI/CLI.hpp>

#include <memory>
#include <utility>

#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"
#include "testing/kubelet/ask.h"
#include "testing/kubelet/cli.h"
#include "testing/kubelet/json_fields.h"
#include "testing/kubelet/pod.h"
#include "testing/kubelet/pod_json.h"
#include "testing/kubelet/pod_store.h"
#include "testing/kubelet/runc_runtime.h"
#include "testing/kubelet/view.h"
#include "testing/simhost/cli_style.h"
#include "testing/simhost/settings.h"

namespace kgpu::kubelet {
namespace {

namespace json = boost::json;

std::chrono::milliseconds LimitOf(double seconds) {
  constexpr double kSlack = 20;
  return std::chrono::milliseconds(static_cast<int64_t>((seconds + kSlack) * 1000));
}

struct PodFlags {
  std::string name;
  std::vector<std::string> resources;
  std::vector<std::string> init;
  std::vector<std::string> sidecars;
  std::vector<std::string> env;
  std::string command;
  std::string restart = "Always";
  std::optional<int> exits_with;
  bool is_bound = false;
  bool is_image_missing = false;
  double timeout = 30;
  std::string output = "table";
};

// "nvidia.com/gpu=2,example.com/x=1".
Status AddLimits(const std::string& flag, const std::string& text,
                 std::map<std::string, int64_t>& limits) {
  for (const std::string_view part : Split(text, ',')) {
    const size_t equals = part.find('=');
    const auto count =
        equals == std::string_view::npos ? std::nullopt : ParseUint(part.substr(equals + 1));
    if (!count || *count > INT32_MAX) {
      return InvalidArgument("{}: \"{}\" must be RESOURCE=COUNT, e.g. nvidia.com/gpu=1", flag,
                             Printable(part));
    }
    limits[std::string(part.substr(0, equals))] = static_cast<int64_t>(*count);
  }
  return OkStatus();
}

Status AddContainers(const PodFlags& flags, PodSpec& spec) {
  for (size_t i = 0; i < flags.init.size(); ++i) {
    ContainerSpec& container = spec.containers.emplace_back();
    container.name = fmt::format("init-{}", i);
    container.kind = ContainerKind::kInit;
    RETURN_IF_ERROR(AddLimits("--init", flags.init[i], container.limits));
  }
  for (size_t i = 0; i < flags.sidecars.size(); ++i) {
    ContainerSpec& container = spec.containers.emplace_back();
    container.name = fmt::format("sidecar-{}", i);
    container.kind = ContainerKind::kSidecar;
    RETURN_IF_ERROR(AddLimits("--sidecar", flags.sidecars[i], container.limits));
  }
  ContainerSpec& main = spec.containers.emplace_back();
  main.name = "main";
  for (const std::string& resource : flags.resources) {
    RETURN_IF_ERROR(AddLimits("--resource", resource, main.limits));
  }
  main.env = flags.env;
  main.exits_with = flags.exits_with;
  if (!flags.command.empty()) {
    main.command = {"/bin/sh", "-c", flags.command};
  }
  return OkStatus();
}

StatusOr<PodSpec> SpecOf(const PodFlags& flags) {
  PodSpec spec;
  const size_t slash = flags.name.find('/');
  spec.name = slash == std::string::npos ? flags.name : flags.name.substr(slash + 1);
  if (slash != std::string::npos) {
    spec.name_space = flags.name.substr(0, slash);
  }
  spec.restart_policy = flags.restart == "Never"       ? RestartPolicy::kNever
                        : flags.restart == "OnFailure" ? RestartPolicy::kOnFailure
                                                       : RestartPolicy::kAlways;
  spec.is_image_missing = flags.is_image_missing;
  spec.waits_for_resources = !flags.is_bound;
  RETURN_IF_ERROR(AddContainers(flags, spec));
  return spec;
}

Status AddPod(const PodFlags& flags, const std::string& folder,
              const simhost::CliContext& context) {
  ASSIGN_OR_RETURN(const PodSpec spec, SpecOf(flags));
  ASSIGN_OR_RETURN(
      const json::value pod,
      Ask(folder, {{"command", "pod"}, {"spec", ToJson(spec)}, {"timeout", flags.timeout}},
          LimitOf(flags.timeout)));
  ASSIGN_OR_RETURN(const std::string text,
                   simhost::InFormat(flags.output, pod, [&] { return PodText(pod); }));
  context.print(text);
  ASSIGN_OR_RETURN(const Pod got, PodFromJson(pod, "answer"));
  return got.status.phase == PodPhase::kFailed
             ? FailedPrecondition("pod {}: {}", flags.name,
                                  got.status.reason.empty() ? "Failed" : got.status.reason)
             : OkStatus();
}

void AddPodVerb(CLI::App& kubelet, simhost::CliContext& context) {
  auto flags = std::make_shared<PodFlags>();
  CLI::App* verb = AddFolderVerb(
      kubelet, context, "pod", "Add a pod and print its devices",
      [flags, &context](const std::string& folder) { return AddPod(*flags, folder, context); });
  verb->add_option("POD", flags->name, "Name, or namespace/name")->required();
  verb->add_option("--resource", flags->resources,
                   "Resource requests of the main container: nvidia.com/gpu=2 (repeatable)")
      ->allow_extra_args(false);
  verb->add_option("--init", flags->init,
                   "Init container with the requests RESOURCE=COUNT (repeatable)")
      ->allow_extra_args(false);
  verb->add_option("--sidecar", flags->sidecars,
                   "Restartable init container, likewise (repeatable)")
      ->allow_extra_args(false);
  verb->add_option("--command", flags->command, "Shell command of the main container");
  verb->add_option("--env", flags->env, "Environment variable NAME=value of the pod (repeatable)")
      ->allow_extra_args(false);
  verb->add_option("--restart", flags->restart, "Always, OnFailure, Never")
      ->check(CLI::IsMember({"Always", "OnFailure", "Never"}))
      ->capture_default_str();
  verb->add_option("--exits-with", flags->exits_with,
                   "The main container exits immediately with this code (without real containers)");
  verb->add_flag(
      "--bind", flags->is_bound,
      "Bind the pod to the node immediately even if it does not fit, as without a scheduler");
  verb->add_flag("--image-missing", flags->is_image_missing,
                 "Simulate that the image cannot be pulled");
  verb->add_option("--timeout", flags->timeout,
                   "Seconds to wait until the pod runs or fails; 0: do not wait")
      ->capture_default_str();
  simhost::AddOutputOption(*verb, flags->output);
}

struct DeleteFlags {
  std::string name;
  bool is_forced = false;
  double timeout = 60;
};

void AddDelete(CLI::App& kubelet, simhost::CliContext& context) {
  auto flags = std::make_shared<DeleteFlags>();
  CLI::App* verb =
      AddFolderVerb(kubelet, context, "delete", "Stop a pod's containers and remove the pod",
                    [flags, &context](const std::string& folder) -> Status {
                      RETURN_IF_ERROR(Ask(folder,
                                          {{"command", "delete"},
                                           {"pod", flags->name},
                                           {"force", flags->is_forced},
                                           {"timeout", flags->timeout}},
                                          LimitOf(flags->timeout))
                                          .status());
                      context.print(fmt::format("pod {}: deleted", flags->name));
                      return OkStatus();
                    });
  verb->add_option("POD", flags->name, "Name, or namespace/name")->required();
  verb->add_flag("--force", flags->is_forced, "Remove it immediately, its containers later");
  verb->add_option("--timeout", flags->timeout,
                   "Seconds to wait until it is removed; 0: do not wait")
      ->capture_default_str();
}

struct ExitFlags {
  std::string name;
  std::string container = "main";
  int code = 0;
};

void AddExit(CLI::App& kubelet, simhost::CliContext& context) {
  auto flags = std::make_shared<ExitFlags>();
  CLI::App* verb = AddFolderVerb(
      kubelet, context, "exit", "Stop a container (without real containers)",
      [flags, &context](const std::string& folder) -> Status {
        RETURN_IF_ERROR(Ask(folder, {{"command", "exit"},
                                     {"pod", flags->name},
                                     {"container", flags->container},
                                     {"exitCode", flags->code}})
                            .status());
        context.print(fmt::format("pod {}: container {} stopped", flags->name, flags->container));
        return OkStatus();
      });
  verb->add_option("POD", flags->name, "Name, or namespace/name")->required();
  verb->add_option("--container", flags->container, "Container name")->capture_default_str();
  verb->add_option("--code", flags->code, "Exit code")->capture_default_str();
}

struct LogsFlags {
  std::string name;
  std::string container = "main";
};

Status PrintLog(const LogsFlags& flags, const std::string& folder,
                const simhost::CliContext& context) {
  ASSIGN_OR_RETURN(const json::value status, Ask(folder, {{"command", "status"}}));
  const JsonFields fields(status, "status");
  ASSIGN_OR_RETURN(const JsonFields pods, fields.Field("pods"));
  std::string id;
  RETURN_IF_ERROR(pods.ForEachItem([&](const JsonFields& item) -> Status {
    ASSIGN_OR_RETURN(const Pod pod, PodFromJson(item.value(), item.where()));
    for (const ContainerStatus& container : pod.status.containers) {
      if (PodKey(pod.spec.name_space, pod.spec.name) == flags.name &&
          container.name == flags.container) {
        id = container.id;
      }
    }
    return OkStatus();
  }));
  const StatusOr<std::string> log =
      ContainerLog(fmt::format("{}/{}", folder, simhost::kOwnFolder), id);
  if (id.empty() || !log.ok()) {
    return NotFound("pod {}: container {} has no output (only real containers do)", flags.name,
                    flags.container);
  }
  context.print(std::string(Trim(*log)));
  return OkStatus();
}

void AddLogs(CLI::App& kubelet, simhost::CliContext& context) {
  auto flags = std::make_shared<LogsFlags>();
  CLI::App* verb = AddFolderVerb(
      kubelet, context, "logs", "Print the output of a real container's last run",
      [flags, &context](const std::string& folder) { return PrintLog(*flags, folder, context); });
  verb->add_option("POD", flags->name, "Name, or namespace/name")->required();
  verb->add_option("--container", flags->container, "Container name")->capture_default_str();
}

}  // namespace

void AddPodVerbs(CLI::App& kubelet, simhost::CliContext& context) {
  AddPodVerb(kubelet, context);
  AddDelete(kubelet, context);
  AddLogs(kubelet, context);
  AddExit(kubelet, context);
}

}  // namespace kgpu::kubelet
