#include "src/diagnose/doctor/kubelet_facts.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "src/kube/gates/history.h"
#include "src/platform/base/strings.h"
#include "src/platform/base/time_text.h"
#include "src/platform/sys/find_program.h"
#include "src/platform/sys/unix_socket.h"

namespace kgpu::doctor {
namespace {

constexpr std::string_view kRoot = "/var/lib/kubelet";
// Does not follow --root-dir. Source: the kubelet's pkg/apis/deviceplugin/v1beta1/constants.go.
constexpr std::string_view kDevicePlugins = "/var/lib/kubelet/device-plugins";
constexpr std::string_view kCheckpoint =
    "/var/lib/kubelet/device-plugins/kubelet_internal_checkpoint";
constexpr size_t kCheckpointLimit = size_t{16} << 20;

// Where kubeadm and the distributions' packages put flags, and who reads them: the unit.
constexpr std::array<std::string_view, 3> kFlagFiles = {
    "/var/lib/kubelet/kubeadm-flags.env", "/etc/default/kubelet", "/etc/sysconfig/kubelet"};
constexpr std::array<std::string_view, 3> kDropIns = {"/etc/systemd/system/kubelet.service.d",
                                                      "/usr/lib/systemd/system/kubelet.service.d",
                                                      "/lib/systemd/system/kubelet.service.d"};

void ReadProcess(host::Sight& sight, sys::ProgramRunner& runner, KubeletFacts& facts) {
  const std::vector<host::Daemon> daemons =
      host::FindSystemDaemons(sight.host(), {"kubelet", "k3s-server", "k3s-agent", "kubelite"});
  if (!daemons.empty()) {
    facts.daemon = daemons.front();
  }
  facts.program = sys::FindProgram(sight.host(), "kubelet");
  const bool is_kubelet = !facts.daemon || facts.daemon->name == "kubelet";
  if (is_kubelet && facts.program.empty() && facts.daemon) {
    facts.program = facts.daemon->program;
  }
  const std::string program = is_kubelet ? facts.program : sys::FindProgram(sight.host(), "k3s");
  if (program.empty()) {
    facts.version_reason = "its program was not found";
    return;
  }
  const StatusOr<sys::RunResult> result =
      runner.Run({.argv = {program, "--version"}, .root = sight.host().path()});
  if (result.ok() && result->IsSuccess()) {
    facts.version = engine::FindVersion(result->out);
  }
  if (!facts.version) {
    facts.version_reason =
        fmt::format("{} --version: {}", program,
                    result.ok() ? sys::Describe(*result) : std::string(Message(result.status())));
  }
}

// The process' own flags, and those that k3s hands on: "--kubelet-arg=feature-gates=A=true".
std::string CommandLine(const host::Daemon& daemon) {
  std::string text = Join(daemon.argv, " ");
  for (const std::string& argument : daemon.Flags({"--kubelet-arg"})) {
    text += fmt::format(" --{}", argument);
  }
  return text;
}

bool IsNamed(const std::vector<KubeletSetting>& settings, std::string_view name) {
  return std::ranges::find(settings, name, &KubeletSetting::name) != settings.end();
}

// A setting that is in a file and on the command line is reported for the file: it can be fixed
// there.
void NoteFlags(const std::string& text, const std::string& path, KubeletFacts& facts) {
  for (const std::string& value : FlagValues(text, "--feature-gates")) {
    for (const auto& [name, is_on] : ParseGates(value)) {
      if (!path.empty() || !IsNamed(facts.gates, name)) {
        facts.gates.push_back({.name = name, .is_on = is_on, .path = path});
      }
    }
  }
  // A flag goes before the configuration's field.
  if (const std::vector<std::string> said = FlagValues(text, "--fail-cgroupv1"); !said.empty()) {
    facts.fails_on_cgroup_v1 = said.back() != "false";
  }
  for (const gates::FlagHistory& history : gates::GoneFlags()) {
    const std::string flag(history.flag);
    if (!FlagValues(text, flag).empty() && (!path.empty() || !IsNamed(facts.flags, flag))) {
      facts.flags.push_back({.name = flag, .is_on = true, .path = path});
    }
  }
}

void ReadFlagFile(host::Sight& sight, const std::string& path, KubeletFacts& facts) {
  if (std::optional<std::string> text = sight.Text(path)) {
    NoteFlags(*text, path, facts);
    facts.files[path] = {.text = *std::move(text), .is_config = false};
  }
}

void ReadFlags(host::Sight& sight, KubeletFacts& facts) {
  for (const std::string_view path : kFlagFiles) {
    ReadFlagFile(sight, std::string(path), facts);
  }
  for (const HandedFlags& handed : facts.handed) {
    NoteFlags(handed.flags, handed.path, facts);
  }
  std::set<std::string> names;  // a file of /etc hides one of the same name elsewhere
  for (const std::string_view folder : kDropIns) {
    for (const std::string& name : sight.Names(folder)) {
      if (name.ends_with(".conf") && names.insert(name).second) {
        ReadFlagFile(sight, fmt::format("{}/{}", folder, name), facts);
      }
    }
  }
}

void NoteConfig(const KubeletConfig& config, const std::string& path, KubeletFacts& facts) {
  facts.cgroup_driver = config.cgroup_driver.empty() ? facts.cgroup_driver : config.cgroup_driver;
  facts.engine_endpoint =
      config.engine_endpoint.empty() ? facts.engine_endpoint : config.engine_endpoint;
  if (config.fails_on_cgroup_v1) {
    facts.fails_on_cgroup_v1 = config.fails_on_cgroup_v1;
  }
  for (const auto& [name, is_on] : config.gates) {
    // A later file decides, an earlier one still names the gate.
    for (KubeletSetting& gate : facts.gates) {
      gate.is_on = gate.name == name ? is_on : gate.is_on;
    }
    facts.gates.push_back({.name = name, .is_on = is_on, .path = path});
  }
}

// Parts of the configuration in --config-dir, in the order of their names. Source: KEP 3983.
void ReadConfigDropIns(host::Sight& sight, KubeletFacts& facts) {
  const std::string folder = facts.daemon ? facts.daemon->Flag({"--config-dir"}) : "";
  if (folder.empty()) {
    return;
  }
  for (const std::string& name : sight.Names(folder)) {
    const std::string path = fmt::format("{}/{}", folder, name);
    const std::optional<std::string> text =
        name.ends_with(".conf") ? sight.Text(path) : std::nullopt;
    if (!text) {
      continue;
    }
    const StatusOr<KubeletConfig> config = ParseKubeletConfig(*text, path);
    if (config.ok()) {
      NoteConfig(*config, path, facts);
      facts.files[path] = {.text = *text, .is_config = true};
    } else {
      facts.config_problem = std::string(Message(config.status()));
    }
  }
}

void ReadConfig(host::Sight& sight, KubeletFacts& facts) {
  std::string path = facts.daemon ? facts.daemon->Flag({"--config"}) : "";
  path = path.empty() ? fmt::format("{}/config.yaml", facts.root) : path;
  std::optional<std::string> text = sight.Text(path);
  if (!text) {
    return;
  }
  facts.config_path = path;
  StatusOr<KubeletConfig> config = ParseKubeletConfig(*text, path);
  if (!config.ok()) {
    facts.config_problem = std::string(Message(config.status()));
    return;
  }
  NoteConfig(*config, path, facts);
  const StatusOr<struct stat> info = sight.host().Stat(path);
  facts.is_config_newer =
      info.ok() && facts.daemon &&
      TimeAt(std::chrono::seconds(info->st_mtim.tv_sec)) > facts.daemon->started;
  facts.files[path] = {.text = *std::move(text), .is_config = true};
}

SocketState StateOf(host::Sight& sight, const std::string& path) {
  const StatusOr<struct stat> info = sight.host().Stat(path);
  if (!info.ok()) {
    sight.Note(info.status());
    return info.status().code() == StatusCode::kNotFound ? SocketState::kAbsent
                                                         : SocketState::kUnknown;
  }
  if (!S_ISSOCK(info->st_mode)) {
    return SocketState::kAbsent;
  }
  const StatusOr<UniqueFd> fd = sys::ConnectUnix(sight.host().At(path));
  if (fd.ok()) {
    return SocketState::kAnswers;
  }
  if (fd.status().code() == StatusCode::kPermissionDenied) {
    sight.Note(fd.status());
    return SocketState::kUnknown;
  }
  return SocketState::kSilent;
}

// "gpu.nvidia.com-reg.sock": what the kubelet finds there has a socket as a device plugin or as a
// driver of claims.
void ReadRegistry(host::Sight& sight, KubeletFacts& facts) {
  for (const std::string& name : sight.Names(fmt::format("{}/plugins_registry", facts.root))) {
    const bool is_gpus =
        name.find("nvidia.com") != std::string::npos || name.find("kgpu") != std::string::npos;
    facts.has_claims_driver |= is_gpus && name.ends_with(".sock");
  }
}

void ReadSockets(host::Sight& sight, KubeletFacts& facts) {
  facts.registration = StateOf(sight, fmt::format("{}/kubelet.sock", kDevicePlugins));
  facts.pod_resources = StateOf(sight, fmt::format("{}/pod-resources/kubelet.sock", facts.root));
  const StatusOr<struct stat> registry =
      sight.host().Stat(fmt::format("{}/plugins_registry", facts.root));
  if (registry.ok() || registry.status().code() == StatusCode::kNotFound) {
    facts.has_plugins_registry = registry.ok();
  }
  if (registry.ok()) {
    ReadRegistry(sight, facts);
  }
  for (const std::string& name : sight.Names(kDevicePlugins)) {
    const bool is_gpus = name.starts_with("nvidia") || name.starts_with("kgpu");
    if (is_gpus && name.ends_with(".sock")) {
      facts.plugins.push_back(
          {.name = name, .state = StateOf(sight, fmt::format("{}/{}", kDevicePlugins, name))});
    }
  }
}

void ReadCheckpoint(host::Sight& sight, KubeletFacts& facts) {
  const std::optional<std::string> text = sight.Text(kCheckpoint, kCheckpointLimit);
  if (!text) {
    return;
  }
  StatusOr<DeviceCheckpoint> checkpoint = ParseDeviceCheckpoint(*text, kCheckpoint);
  if (checkpoint.ok()) {
    facts.checkpoint = *std::move(checkpoint);
  } else {
    sight.Note(checkpoint.status());
  }
}

// The value that counts of a flag: of the process, else of the file that is handed on to it.
std::string LastFlag(const KubeletFacts& facts, std::string_view flag, const std::string& other) {
  std::string value = other;
  for (const HandedFlags& handed : facts.handed) {
    const std::vector<std::string> values = FlagValues(handed.flags, flag);
    value = values.empty() || values.back().empty() ? value : values.back();
  }
  if (facts.daemon) {
    const std::vector<std::string> values = FlagValues(CommandLine(*facts.daemon), flag);
    value = values.empty() || values.back().empty() ? value : values.back();
  }
  return value;
}

std::vector<host::Daemon> FindAgents(host::Sight& sight) {
  std::vector<host::Daemon> agents;
  for (host::Daemon& daemon : host::FindSystemDaemons(sight.host(), {"kgpu"})) {
    if (std::ranges::find(daemon.argv, "agent") != daemon.argv.end()) {
      agents.push_back(std::move(daemon));
    }
  }
  return agents;
}

}  // namespace

KubeletFacts ReadKubeletFacts(host::Sight& sight, sys::ProgramRunner& runner) {
  KubeletFacts facts;
  ReadProcess(sight, runner, facts);
  facts.root = std::string(kRoot);
  facts.handed = facts.daemon ? ReadHandedFlags(sight) : std::vector<HandedFlags>();
  facts.root = LastFlag(facts, "--root-dir", facts.root);
  ReadConfig(sight, facts);
  ReadConfigDropIns(sight, facts);
  ReadFlags(sight, facts);
  facts.cgroup_driver = LastFlag(facts, "--cgroup-driver", facts.cgroup_driver);
  facts.engine_endpoint = LastFlag(facts, "--container-runtime-endpoint", facts.engine_endpoint);
  if (facts.daemon) {
    NoteFlags(CommandLine(*facts.daemon), "", facts);
  }
  if (facts.is_here() && !facts.version) {
    sight.Say(fmt::format("the kubelet's version: {}", facts.version_reason));
  }
  if (facts.is_here()) {
    ReadSockets(sight, facts);
    ReadCheckpoint(sight, facts);
  }
  facts.agents = FindAgents(sight);
  return facts;
}

}  // namespace kgpu::doctor
