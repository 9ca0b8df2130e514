#include "src/container/engine/find.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <utility>

#include "src/container/engine/config_edit.h"
#include "src/container/engine/engine_socket.h"
#include "src/platform/base/strings.h"
#include "src/platform/sys/find_program.h"
#include "src/platform/sys/systemctl.h"

namespace kgpu::engine {
namespace {

using Names = std::array<std::string_view, 2>;

// Where one way to install an engine puts its parts.
struct Layout {
  Kind kind;
  std::string_view distribution;
  std::string_view daemon;    // its process's name; empty: has none
  std::string_view programs;  // a name to look up, or a path
  std::string_view config_file;
  std::string_view drop_in_folder;
  std::string_view socket;
  Names units;                   // the first that is there
  std::string_view data_folder;  // how arguments of a distribution's daemon start
};

// k3s and RKE2 share one socket: at most one of them runs. Their config.toml is made again at every
// start, from a template where there is one.
constexpr std::array<Layout, 7> kLayouts = {{
    {Kind::kDocker,
     "",
     "dockerd",
     "dockerd",
     kDockerConfig,
     "",
     "/run/docker.sock",
     {"docker.service"},
     ""},
    {Kind::kContainerd,
     "",
     "containerd",
     "containerd",
     kContainerdConfig,
     "/etc/containerd/conf.d",
     "/run/containerd/containerd.sock",
     {"containerd.service"},
     ""},
    {Kind::kContainerd,
     "k3s",
     "containerd",
     "/var/lib/rancher/k3s/data/current/bin/containerd",
     "/var/lib/rancher/k3s/agent/etc/containerd/config.toml.tmpl",
     "",
     "/run/k3s/containerd/containerd.sock",
     {"k3s.service", "k3s-agent.service"},
     "/var/lib/rancher/k3s/"},
    {Kind::kContainerd,
     "rke2",
     "containerd",
     "/var/lib/rancher/rke2/bin/containerd",
     "/var/lib/rancher/rke2/agent/etc/containerd/config.toml.tmpl",
     "",
     "/run/k3s/containerd/containerd.sock",
     {"rke2-server.service", "rke2-agent.service"},
     "/var/lib/rancher/rke2/"},
    {Kind::kContainerd,
     "k0s",
     "containerd",
     "/var/lib/k0s/bin/containerd",
     "/etc/k0s/containerd.toml",
     "/etc/k0s/containerd.d",
     "/run/k0s/containerd.sock",
     {"k0sworker.service", "k0scontroller.service"},
     "/var/lib/k0s/"},
    {Kind::kCrio,
     "",
     "crio",
     "crio",
     "/etc/crio/crio.conf",
     "/etc/crio/crio.conf.d",
     "/run/crio/crio.sock",
     {"crio.service", "cri-o.service"},
     ""},
    {Kind::kPodman,
     "",
     "",
     "podman",
     "/etc/containers/containers.conf",
     "/etc/containers/containers.conf.d",
     "",
     {},
     ""},
}};

// Docker without a separate containerd starts its own, which belongs to Docker.
constexpr std::string_view kContainerdOfDocker = "/docker/containerd/containerd.toml";

constexpr std::array<std::string_view, 4> kUnitFolders = {
    "/etc/systemd/system", "/run/systemd/system", "/usr/lib/systemd/system", "/lib/systemd/system"};

std::string FindUnit(const sys::Root& host, const Names& units) {
  for (const std::string_view unit : units) {
    if (unit.empty()) {
      break;
    }
    for (const std::string_view folder : kUnitFolders) {
      if (host.Exists(fmt::format("{}/{}", folder, unit))) {
        return std::string(unit);
      }
    }
  }
  return "";
}

std::string ConfigFlag(const host::Daemon& daemon) {
  return daemon.name == "dockerd" ? daemon.Flag({"--config-file"})
                                  : daemon.Flag({"--config", "-c"});
}

bool Mentions(const host::Daemon& daemon, std::string_view folder) {
  return daemon.program.starts_with(folder) || ConfigFlag(daemon).starts_with(folder) ||
         (!daemon.argv.empty() && daemon.argv[0].starts_with(folder));
}

bool IsOf(const Layout& layout, const host::Daemon& daemon) {
  if (!layout.data_folder.empty()) {
    return daemon.name == layout.daemon && Mentions(daemon, layout.data_folder);
  }
  if (daemon.name != layout.daemon || ConfigFlag(daemon).ends_with(kContainerdOfDocker)) {
    return false;
  }
  for (const Layout& other : kLayouts) {
    if (!other.data_folder.empty() && Mentions(daemon, other.data_folder)) {
      return false;
    }
  }
  return true;
}

// The daemon that was started with the file that the caller names, else the one with the usual
// files, else the oldest: a second one with its own files is probably an experiment.
const host::Daemon* Choose(const Layout& layout, const std::vector<host::Daemon>& daemons,
                           const std::string& config_file) {
  const host::Daemon* usual = nullptr;
  for (const host::Daemon& daemon : daemons) {
    if (!IsOf(layout, daemon)) {
      continue;
    }
    const std::string reported = ConfigFlag(daemon);
    if (!config_file.empty() && reported == config_file) {
      return &daemon;
    }
    const bool is_usual = reported.empty() || reported == layout.config_file;
    if (config_file.empty() && (usual == nullptr || (is_usual && !ConfigFlag(*usual).empty()))) {
      usual = &daemon;
    }
  }
  return usual;
}

// The text after a program's own name and "version": "1.6.20~ds1" of "containerd … 1.6.20~ds1 …".
std::string VersionWord(std::string_view text, const Version& version) {
  const std::string start = fmt::format("{}.{}", version.major, version.minor);
  for (std::string_view word : Words(text.substr(0, text.find('\n')))) {
    while (word.ends_with(',')) {
      word.remove_suffix(1);
    }
    if (word.starts_with('v')) {
      word.remove_prefix(1);
    }
    if (word.starts_with(start)) {
      return Printable(word, 60);
    }
  }
  return ToString(version);
}

void AskVersion(const sys::Root& host, sys::ProgramRunner& runner,
                std::chrono::milliseconds deadline, Engine& engine) {
  sys::RunRequest request;
  request.argv = {engine.program, "--version"};
  request.root = host.path();
  request.deadline = deadline;
  const auto result = runner.Run(request);
  if (!result.ok()) {
    engine.note = fmt::format("version unknown: {}", Message(result.status()));
    return;
  }
  engine.version = FindVersion(result->out);
  if (!result->IsSuccess() || !engine.version) {
    engine.note = fmt::format(
        "version unknown: {} --version: {}{}", engine.program, sys::Describe(*result),
        engine.is_daemon_known ? "" : fmt::format("; it may need a procfs at {}", host.At("proc")));
    engine.version.reset();
    return;
  }
  engine.version_text = VersionWord(result->out, *engine.version);
}

// containerd 2 reads version 3 files: k3s and RKE2 have a template of another name for them, and
// only those with a containerd 2 have it.
void ChooseTemplate(const sys::Root& host, Engine& engine) {
  engine.is_template = true;
  const std::filesystem::path folder = std::filesystem::path(engine.config_file).parent_path();
  const std::string newer = (folder / "config-v3.toml.tmpl").string();
  if (engine.version ? *engine.version >= Version{2, 0} : host.Exists(newer)) {
    engine.config_file = newer;
  }
}

// The folder of drop-ins that goes with a file which is not the usual one.
std::string DropInFolderBeside(const Engine& engine, const host::Daemon* daemon) {
  if (engine.drop_in_folder.empty()) {
    return "";
  }
  const std::string reported =
      engine.kind == Kind::kCrio && daemon != nullptr ? daemon->Flag({"--config-dir", "-d"}) : "";
  if (!reported.empty()) {
    return reported;
  }
  const std::filesystem::path name = std::filesystem::path(engine.drop_in_folder).filename();
  return (std::filesystem::path(engine.config_file).parent_path() / name).string();
}

// A file of k3s is edited for k3s, and not for the containerd beside it.
std::string_view WhoseFile(const FindOptions& options) {
  for (const Layout& layout : kLayouts) {
    if (!layout.data_folder.empty() && (options.config_file.starts_with(layout.data_folder) ||
                                        options.config_file == layout.config_file)) {
      return layout.distribution;
    }
  }
  return "";
}

std::string ProgramOf(const sys::Root& host, const Layout& layout, const host::Daemon* daemon) {
  if (daemon != nullptr && !daemon->program.empty() && host.Exists(daemon->program)) {
    return daemon->program;
  }
  if (!layout.programs.starts_with('/')) {
    return sys::FindProgram(host, layout.programs);
  }
  return host.Exists(layout.programs) ? std::string(layout.programs) : "";
}

std::optional<Engine> FindOne(const sys::Root& host, sys::ProgramRunner& runner,
                              const FindOptions& options, const Layout& layout,
                              const std::vector<host::Daemon>& daemons) {
  const host::Daemon* daemon = Choose(layout, daemons, options.config_file);
  Engine engine;
  engine.kind = layout.kind;
  engine.distribution = std::string(layout.distribution);
  engine.program = ProgramOf(host, layout, daemon);
  if (engine.program.empty() && daemon == nullptr) {
    return std::nullopt;
  }
  engine.config_file = std::string(layout.config_file);
  engine.drop_in_folder = std::string(layout.drop_in_folder);
  if (sys::HasSystemd(host)) {
    // A running daemon may belong to another unit than the usual one, such as a snap's.
    const std::string running = daemon == nullptr ? "" : daemon->unit.value_or("");
    engine.unit = running.empty() ? FindUnit(host, layout.units) : running;
  }
  engine.is_daemon_known = host::ShowsProcesses(host);
  if (!engine.program.empty()) {
    AskVersion(host, runner, options.deadline, engine);
  }
  engine.cdi = CdiSupportOf(engine.kind, engine.version);
  if (daemon != nullptr) {
    engine.daemon = *daemon;
  }
  const bool has_template = engine.distribution == "k3s" || engine.distribution == "rke2";
  const std::string reported = daemon == nullptr || has_template ? "" : ConfigFlag(*daemon);
  if (has_template) {
    ChooseTemplate(host, engine);
  }
  const std::string& named = options.config_file.empty() ? reported : options.config_file;
  if (!named.empty() && named != engine.config_file) {
    engine.config_file = named;
    engine.drop_in_folder = DropInFolderBeside(engine, daemon);
  }
  engine.socket = SocketOf(host, engine, std::string(layout.socket));
  if (engine.socket.empty() && !layout.socket.empty()) {
    engine.note = "listens only on the network: cannot check whether a change was applied";
  }
  return engine;
}

constexpr std::string_view kSockets = "etc/systemd/system/sockets.target.wants";

bool IsSocketActivated(const sys::Root& host, const Engine& engine) {
  const std::string stem = engine.unit.substr(0, engine.unit.rfind('.'));
  return !stem.empty() && host.LinkStat(fmt::format("{}/{}.socket", kSockets, stem)).ok();
}

// Docker has a containerd of its own, and k3s too, beside which the distribution's stays off. A
// kubelet needs one that is for pods.
void MarkSpare(const sys::Root& host, std::vector<Engine>& engines) {
  const bool has_kubelet = HasKubelet(host);
  const auto does_the_same = [&](const Engine& stopped, const Engine& other) {
    const bool runs = other.daemon || other.kind == Kind::kPodman;
    return runs && (!has_kubelet || !IsForPods(stopped.kind) || IsForPods(other.kind));
  };
  for (Engine& engine : engines) {
    engine.is_spare =
        engine.kind != Kind::kPodman && !engine.daemon &&
        (IsSocketActivated(host, engine) || std::ranges::any_of(engines, [&](const Engine& other) {
           return does_the_same(engine, other);
         }));
  }
}

}  // namespace

bool HasKubelet(const sys::Root& host) {
  return host.Exists("/var/lib/kubelet/config.yaml") ||
         !host::FindSystemDaemons(host, {"kubelet", "k3s-server", "k3s-agent", "kubelite"}).empty();
}

std::vector<Engine> FindEngines(const sys::Root& host, sys::ProgramRunner& runner,
                                const FindOptions& options) {
  const std::vector<host::Daemon> daemons =
      host::FindSystemDaemons(host, {"dockerd", "containerd", "crio"});
  std::vector<Engine> engines;
  for (const Layout& layout : kLayouts) {
    const bool is_asked =
        (!options.only || *options.only == layout.kind) &&
        (options.distribution.empty() || options.distribution == layout.distribution);
    if (is_asked && (options.config_file.empty() || layout.distribution == WhoseFile(options))) {
      if (auto engine = FindOne(host, runner, options, layout, daemons); engine) {
        engines.push_back(*std::move(engine));
      }
    }
  }
  MarkSpare(host, engines);
  return engines;
}

}  // namespace kgpu::engine
