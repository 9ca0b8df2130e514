#include "src/container/engine/find.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <initializer_list>
#include <utility>

#include "src/container/engine/config_edit.h"
#include "src/container/engine/config_parts.h"
#include "src/container/engine/daemon_flags.h"
#include "src/container/engine/engine_socket.h"
#include "src/container/engine/unit_command.h"
#include "src/platform/base/strings.h"
#include "src/platform/doc/json_values.h"
#include "src/platform/edit/document.h"
#include "src/platform/sys/find_program.h"
#include "src/platform/sys/systemctl.h"

namespace kgpu::engine {
namespace {

using Names = std::array<std::string_view, 2>;

// Where one way to install an engine puts its parts.
struct Layout {
  Kind kind = Kind::kContainerd;
  std::string_view distribution{};
  std::string_view daemon{};    // its process's name; empty: has none
  std::string_view programs{};  // a name to look up, or a path
  std::string_view config_file{};
  std::string_view drop_in_folder{};
  std::string_view socket{};
  Names units{};         // the first that is there
  Names data_folders{};  // how arguments of a distribution's daemon start
};

// k3s and RKE2 share one socket: at most one of them runs. Their config.toml, MicroK8s's
// containerd.toml and k0s's containerd-cri.toml are made again at every start.
constexpr std::array<Layout, 8> kLayouts = {{
    {.kind = Kind::kDocker,
     .daemon = "dockerd",
     .programs = "dockerd",
     .config_file = kDockerConfig,
     .socket = "/run/docker.sock",
     .units = {"docker.service"}},
    {.daemon = "containerd",
     .programs = "containerd",
     .config_file = kContainerdConfig,
     .drop_in_folder = "/etc/containerd/conf.d",
     .socket = "/run/containerd/containerd.sock",
     .units = {"containerd.service"}},
    {.distribution = "k3s",
     .daemon = "containerd",
     .programs = "/var/lib/rancher/k3s/data/current/bin/containerd",
     .config_file = "/var/lib/rancher/k3s/agent/etc/containerd/config.toml.tmpl",
     .socket = "/run/k3s/containerd/containerd.sock",
     .units = {"k3s.service", "k3s-agent.service"},
     .data_folders = {"/var/lib/rancher/k3s/"}},
    {.distribution = "rke2",
     .daemon = "containerd",
     .programs = "/var/lib/rancher/rke2/bin/containerd",
     .config_file = "/var/lib/rancher/rke2/agent/etc/containerd/config.toml.tmpl",
     .socket = "/run/k3s/containerd/containerd.sock",
     .units = {"rke2-server.service", "rke2-agent.service"},
     .data_folders = {"/var/lib/rancher/rke2/"}},
    {.distribution = "k0s",
     .daemon = "containerd",
     .programs = "/var/lib/k0s/bin/containerd",
     .config_file = "/etc/k0s/containerd.toml",
     .drop_in_folder = "/etc/k0s/containerd.d",
     .socket = "/run/k0s/containerd.sock",
     .units = {"k0sworker.service", "k0scontroller.service"},
     .data_folders = {"/var/lib/k0s/", "/etc/k0s/"}},
    {.distribution = "microk8s",
     .daemon = "containerd",
     .programs = "/snap/microk8s/current/bin/containerd",
     .config_file = "/var/snap/microk8s/current/args/containerd-template.toml",
     .socket = "/var/snap/microk8s/common/run/containerd.sock",
     .units = {"snap.microk8s.daemon-containerd.service"},
     .data_folders = {"/snap/microk8s/", "/var/snap/microk8s/"}},
    {.kind = Kind::kCrio,
     .daemon = "crio",
     .programs = "crio",
     .config_file = "/etc/crio/crio.conf",
     .drop_in_folder = "/etc/crio/crio.conf.d",
     .socket = "/run/crio/crio.sock",
     .units = {"crio.service", "cri-o.service"}},
    {.kind = Kind::kPodman,
     .programs = "podman",
     .config_file = "/etc/containers/containers.conf",
     .drop_in_folder = "/etc/containers/containers.conf.d"},
}};

// Docker without a separate containerd starts its own, which belongs to Docker.
constexpr std::string_view kContainerdOfDocker = "/docker/containerd/containerd.toml";

std::string FindUnit(const sys::Root& host, const Names& units) {
  for (const std::string_view unit : units) {
    if (!unit.empty() && HasUnit(host, std::string(unit))) {
      return std::string(unit);
    }
  }
  return "";
}

std::string ConfigFlag(const host::Daemon& daemon) {
  return daemon.name == "dockerd" ? daemon.Flag({"--config-file"})
                                  : daemon.Flag({"--config", "-c"});
}

// A k3s or RKE2 with --data-dir has the same files elsewhere.
constexpr std::string_view kRancherConfig = "/agent/etc/containerd/config.toml";

bool IsOfRke2(const host::Daemon& daemon) {
  return daemon.unit.value_or("").starts_with("rke2") ||
         ConfigFlag(daemon).find("/rke2/") != std::string::npos;
}

// Whether the daemon is the distribution's own: by its program or the file that it reads.
bool IsOfDistribution(const Layout& layout, const host::Daemon& daemon) {
  const std::string file = ConfigFlag(daemon);
  if (file.ends_with(kRancherConfig)) {
    return layout.distribution == (IsOfRke2(daemon) ? "rke2" : "k3s");
  }
  return std::ranges::any_of(layout.data_folders, [&](std::string_view folder) {
    return !folder.empty() && (daemon.program.starts_with(folder) || file.starts_with(folder) ||
                               (!daemon.argv.empty() && daemon.argv[0].starts_with(folder)));
  });
}

bool IsOf(const Layout& layout, const host::Daemon& daemon) {
  if (daemon.name != layout.daemon) {
    return false;
  }
  if (!layout.distribution.empty()) {
    return IsOfDistribution(layout, daemon);
  }
  return !ConfigFlag(daemon).ends_with(kContainerdOfDocker) &&
         std::ranges::none_of(kLayouts, [&](const Layout& other) {
           return !other.distribution.empty() && IsOfDistribution(other, daemon);
         });
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

std::string Beside(const std::string& path, std::string_view name) {
  return std::filesystem::path(path).replace_filename(name).string();
}

// k3s and RKE2 have a template of another name for the version 3 files of containerd 2, and fall
// back to the older one if that alone is there.
void UseTemplate(const sys::Root& host, const host::Daemon* daemon, Engine& engine) {
  engine.is_template = true;
  const std::string reported = daemon == nullptr ? "" : ConfigFlag(*daemon);
  engine.generated_file = reported.empty() ? Beside(engine.config_file, "config.toml") : reported;
  engine.config_file = Beside(engine.generated_file, "config.toml.tmpl");
  const std::string newer = Beside(engine.generated_file, "config-v3.toml.tmpl");
  const bool can_be_new = !engine.version || *engine.version >= Version{2, 0, 0};
  const bool is_alone = engine.version && !host.Exists(engine.config_file);
  if (can_be_new && (host.Exists(newer) || is_alone)) {
    engine.config_file = newer;
  }
}

// Newer ones import a folder, whose files containerd merges from 2.1 on. A template of the admin's
// own need not do so.
void UseImportedFolder(const sys::Root& host, Engine& engine) {
  const auto text = host.ReadFile(engine.generated_file);
  const auto document = edit::Document::Open(text.ok() ? *text : std::string(),
                                             engine.generated_file, edit::Syntax::kToml);
  const auto own = host.ReadFile(engine.config_file);
  if (!document.ok() || engine.version < Version{2, 1, 0}) {
    return;
  }
  for (const std::string_view name : {"config-v3.toml.d", "config.toml.d"}) {
    const std::string folder = Beside(engine.generated_file, name);
    const std::vector<std::string> imports = doc::TextsOf(document->Find({"imports"}));
    const bool is_imported = std::ranges::find(imports, folder + "/*.toml") != imports.end();
    const bool will_be = !own.ok() || HasK3sBase(*own) || own->find(folder) != std::string::npos;
    if (is_imported && will_be) {
      engine.drop_in_folder = folder;
    }
  }
}

// k0s merges the files of a folder into what it generates, as long as the main file is its own.
// Source: k0s, pkg/component/worker/containerd.
void UseManagedFolder(const sys::Root& host, Engine& engine) {
  const auto text = host.ReadFile(engine.config_file);
  const std::vector<std::string_view> lines =
      Split(text.ok() ? std::string_view(*text) : std::string_view("# k0s_managed=true"), '\n');
  if (std::ranges::find(lines, "# k0s_managed=true") != lines.end()) {
    engine.generated_file = "/run/k0s/containerd-cri.toml";
  }
}

// MicroK8s fills in the variables of a template, which is TOML itself. Source: microk8s,
// run-containerd-with-args.
void UseFilledIn(const sys::Root& host, const host::Daemon* daemon, Engine& engine) {
  const std::string reported = daemon == nullptr ? "" : ConfigFlag(*daemon);
  if (!host.Exists(engine.config_file) && !reported.empty()) {
    engine.config_file = Beside(reported, "containerd-template.toml");  // no link to this revision
  }
  engine.generated_file = Beside(engine.config_file, "containerd.toml");
}

// The folder of the distribution's own runc, by a path that outlives an update if there is one.
std::string ProgramsFolder(const sys::Root& host, const Layout& layout, const Engine& engine) {
  if (layout.distribution.empty()) {
    return "";
  }
  const std::filesystem::path used = std::filesystem::path(engine.program).parent_path();
  const std::vector<std::filesystem::path> folders = {
      std::filesystem::path(layout.programs).parent_path(),
      used.parent_path().parent_path() / "current" / "bin", used};
  for (const std::filesystem::path& folder : folders) {
    if (host.Exists((folder / "runc").string())) {
      return folder.string();
    }
  }
  return used.string();
}

// The folder of drop-ins that goes with a file which is not the usual one.
std::string DropInFolderBeside(const Engine& engine) {
  if (engine.drop_in_folder.empty()) {
    return "";
  }
  const std::filesystem::path name = std::filesystem::path(engine.drop_in_folder).filename();
  return (std::filesystem::path(engine.config_file).parent_path() / name).string();
}

// A file of k3s is edited for k3s, and not for the containerd beside it.
std::string_view WhoseFile(const FindOptions& options) {
  if (!options.distribution.empty()) {
    return options.distribution;
  }
  for (const Layout& layout : kLayouts) {
    for (const std::string_view folder : layout.data_folders) {
      if (!folder.empty() && options.config_file.starts_with(folder)) {
        return layout.distribution;
      }
    }
  }
  return "";
}

std::string ProgramOf(const sys::Root& host, const Layout& layout, const host::Daemon* daemon) {
  if (daemon != nullptr) {
    // Seen from another root, its program may have another path there.
    for (const std::string& path :
         {daemon->program, daemon->argv.empty() ? std::string() : daemon->argv.front()}) {
      if (path.starts_with('/') && host.Exists(path)) {
        return path;
      }
    }
  }
  if (!layout.programs.starts_with('/')) {
    return sys::FindProgram(host, layout.programs);
  }
  return host.Exists(layout.programs) ? std::string(layout.programs) : "";
}

// The value of a flag that the engine runs with or that its unit will start it with; empty: none.
std::string FlagOf(const sys::Root& host, const Engine& engine,
                   std::initializer_list<std::string_view> names) {
  if (!engine.distribution.empty()) {
    return "";  // the unit starts the distribution, whose flags are its own
  }
  const std::vector<DaemonFlag> found = Named(ReadDaemonFlags(host, engine), names);
  return found.empty() ? "" : found.front().value;
}

std::string ConfigFlagOfUnit(const sys::Root& host, const Engine& engine) {
  return engine.kind == Kind::kDocker ? FlagOf(host, engine, {"--config-file"})
                                      : FlagOf(host, engine, {"--config", "-c"});
}

// The file to edit, and which way it reaches the engine.
void ChooseFiles(const sys::Root& host, const FindOptions& options, const host::Daemon* daemon,
                 Engine& engine) {
  std::string reported;
  if (engine.distribution == "k3s" || engine.distribution == "rke2") {
    UseTemplate(host, daemon, engine);
    UseImportedFolder(host, engine);
  } else if (engine.distribution == "microk8s") {
    UseFilledIn(host, daemon, engine);
  } else {
    reported = daemon == nullptr ? ConfigFlagOfUnit(host, engine) : ConfigFlag(*daemon);
  }
  engine.is_config_named = !options.config_file.empty();
  const std::string& named = engine.is_config_named ? options.config_file : reported;
  if (!named.empty() && named != engine.config_file) {
    engine.config_file = named;
    engine.drop_in_folder = DropInFolderBeside(engine);
  }
  if (engine.is_config_named && engine.is_template) {
    engine.drop_in_folder.clear();  // the admin asks for the template
  }
  if (engine.kind == Kind::kCrio) {
    const std::string folder = FlagOf(host, engine, {"--config-dir", "-d"});
    engine.drop_in_folder = folder.empty() ? engine.drop_in_folder : folder;
  }
  if (engine.distribution == "k0s") {
    UseManagedFolder(host, engine);
  }
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
  ChooseFiles(host, options, daemon, engine);
  engine.programs_folder = ProgramsFolder(host, layout, engine);
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
