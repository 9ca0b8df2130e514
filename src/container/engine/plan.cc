#include "src/container/engine/plan.h"

#include <array>
#include <chrono>
#include <filesystem>
#include <utility>

#include "src/container/engine/adopt.h"
#include "src/container/engine/config_parts.h"
#include "src/container/engine/daemon_flags.h"
#include "src/container/engine/engine_files.h"
#include "src/container/engine/k3s_runtimes.h"
#include "src/container/engine/obstacles.h"
#include "src/container/engine/runtimes.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"
#include "src/platform/base/time_text.h"

namespace kgpu::engine {
namespace {

// Whether the named runtime is added by default.
bool NeedsRuntime(const Engine& engine, const Request& request) {
  const bool reads_cdi =
      request.cdi.value_or(engine.cdi != CdiSupport::kAbsent && engine.cdi != CdiSupport::kUnknown);
  return request.runtime.value_or(request.set_default || !reads_cdi);
}

Status CheckSettings(const Engine& engine, const Request& request) {
  if (request.cdi == true && engine.cdi == CdiSupport::kAbsent) {
    return FailedPrecondition(
        "{} {} does not support CDI (docker does from 25.0, containerd from 1.7, CRI-O from 1.23, "
        "podman from 4.1): omit --cdi to get the runtime \"{}\"",
        engine.Name(), engine.version_text, request.named.name);
  }
  if (request.set_default && request.runtime == false) {
    return InvalidArgument("--set-default: cannot be combined with --runtime=no: use one of them");
  }
  if (engine.kind == Kind::kPodman && !request.proxies.IsEmpty()) {
    return InvalidArgument("--http-proxy: podman has no daemon: set the variables in the shell");
  }
  RETURN_IF_ERROR(CheckProxies(request.proxies));
  return CheckRegistries(request.registries, engine.kind == Kind::kDocker);
}

Settings RequestOf(const Engine& engine, const Request& request) {
  Settings settings;
  if (NeedsRuntime(engine, request)) {
    settings.runtime = request.named;
  }
  settings.set_default = request.set_default;
  // An engine without CDI has no key to switch it off by.
  settings.cdi = engine.cdi == CdiSupport::kAbsent ? std::nullopt : request.cdi;
  const bool has_key = engine.kind == Kind::kDocker || engine.kind == Kind::kContainerd;
  // Who asks for the runtime gets that, and no restart for CDI besides.
  if (!settings.cdi && !settings.runtime && has_key && engine.cdi == CdiSupport::kOptIn) {
    settings.cdi = true;
  }
  if (engine.kind == Kind::kDocker) {
    settings.insecure_registries = request.registries.insecure;
    settings.registry_mirrors = request.registries.mirrors;
  }
  return settings;
}

void Raise(Plan& plan, Reach reach, std::string_view reason) {
  if (reach > plan.reach) {
    plan.reach = reach;
    plan.reach_reason = std::string(reason);
  }
}

// Docker reads some keys again at SIGHUP; the others read their files at start only.
void JudgePlanReach(const Engine& engine, Plan& plan) {
  for (const FileStep& file : plan.files) {
    if (!file.kind || engine.kind == Kind::kPodman) {
      continue;
    }
    if (engine.kind != Kind::kDocker) {
      Raise(plan, Reach::kRestart,
            fmt::format("{} reads its configuration only when it starts", engine.Name()));
      continue;
    }
    for (const KeyChange& change : file.changes) {
      const bool is_cdi = !change.key.empty() && change.key[0] == "features";
      Raise(plan, is_cdi ? Reach::kRestart : Reach::kReload,
            is_cdi ? "dockerd reads features.cdi only when it starts"
                   : "dockerd reloads runtimes and registries on SIGHUP");
    }
  }
}

// Docker offers --gpus where it finds the hook's program when it starts. As the default runtime
// kgpu's is there for --gpus above all.
void JudgeHook(const sys::Root& host, const Engine& engine, const Request& request, Plan& plan) {
  if (engine.kind != Kind::kDocker || !request.set_default || plan.files.empty()) {
    return;
  }
  const std::filesystem::path folder = std::filesystem::path(request.named.path).parent_path();
  const auto hook = host.LinkStat((folder / kHookName).string());
  const bool was_seen = hook.ok() && engine.daemon &&
                        TimeAt(std::chrono::seconds(hook->st_mtim.tv_sec)) < engine.daemon->started;
  if (!was_seen) {
    Raise(plan, Reach::kRestart,
          fmt::format("dockerd looks for {} when it starts, to provide --gpus", kHookName));
  }
}

Status AddWholeFile(const sys::Root& host, const TextFile& file, mode_t mode, Plan& plan) {
  ASSIGN_OR_RETURN(const std::optional<std::string> before, ReadIfThere(host, file.path));
  if (before == file.text) {
    return OkStatus();
  }
  if (before && before->find("kgpu runtime") == std::string::npos) {
    return FailedPrecondition(
        "{}: exists and was not written by kgpu: add this manually, or remove it:\n"
        "{}",
        file.path, file.text);
  }
  FileStep step;
  step.path = file.path;
  step.before = before;
  step.after = file.text;
  step.mode = mode;
  plan.files.push_back(std::move(step));
  return OkStatus();
}

// The place from which a distribution takes its registries.
std::string RegistriesOf(const Engine& engine) {
  if (engine.distribution == "microk8s") {
    return "/var/snap/microk8s/current/args/certs.d";
  }
  return engine.is_template ? fmt::format("/etc/rancher/{}/registries.yaml", engine.distribution)
                            : fmt::format("the config_path of a file in {}", engine.drop_in_folder);
}

Status AddRegistries(const sys::Root& host, const Engine& engine, const EngineFiles& files,
                     const Request& request, Plan& plan) {
  if (request.registries.IsEmpty() || engine.kind == Kind::kDocker) {
    return OkStatus();
  }
  if (engine.kind != Kind::kContainerd) {
    return AddWholeFile(host, ContainersRegistries(request.registries), 0644, plan);
  }
  if (!engine.generated_file.empty()) {
    return Unimplemented(
        "--insecure-registry, --registry-mirror: {} reads them from {}: set them "
        "there",
        engine.distribution, RegistriesOf(engine));
  }
  ASSIGN_OR_RETURN(const std::string folder, UseRegistryFolder(engine, files, plan.files));
  for (const TextFile& file : ContainerdHosts(request.registries, folder)) {
    RETURN_IF_ERROR(AddWholeFile(host, file, 0644, plan));
  }
  return OkStatus();
}

Status AddProxies(const sys::Root& host, const Engine& engine, const Request& request, Plan& plan) {
  if (request.proxies.IsEmpty()) {
    return OkStatus();
  }
  if (engine.unit.empty()) {
    return FailedPrecondition(
        "--http-proxy: {} has no systemd unit here: set HTTP_PROXY, HTTPS_PROXY and NO_PROXY in "
        "its start script",
        engine.Name());
  }
  const size_t before = plan.files.size();
  RETURN_IF_ERROR(AddWholeFile(host, ProxyDropIn(engine.unit, request.proxies),
                               request.proxies.HasSecret() ? 0600 : 0644, plan));
  if (plan.files.size() > before) {
    plan.has_unit_change = true;
    Raise(plan, Reach::kRestart, "a running process keeps its environment");
  }
  return OkStatus();
}

// Its containers would get GPUs by other rules from one moment to the next.
Status Adopt(const sys::Root& host, const ConfiguredRuntime& foreign, const Request& request,
             EngineFiles& files, Plan& plan) {
  if (!request.adopt) {
    return FailedPrecondition(
        "{}: the runtime {} is {}: replace it with --adopt, or add another runtime with "
        "--runtime-name NAME",
        foreign.where, foreign.name, Printable(foreign.program));
  }
  plan.adopts = fmt::format("the runtime {} of {}, previously {}", foreign.name, foreign.file,
                            Printable(foreign.program));
  if (foreign.IsOfNvidia()) {
    ASSIGN_OR_RETURN(plan.accepts_env, NvidiaAcceptsEnv(host));
  }
  // CRI-O takes whole tables from the last file; a distribution's drop-ins belong to others, which
  // write them again.
  const bool can_be_last = plan.engine->kind == Kind::kCrio || plan.engine->kind == Kind::kPodman ||
                           HasOnlyDropIn(*plan.engine);
  if (can_be_last && IsLaterDropIn(foreign.file, files.drop_in_path)) {
    UseLastDropIn(files);
  }
  return OkStatus();
}

// Finds the runtime that ours would replace, or stand beside under the same name.
Status JudgeRuntimes(const sys::Root& host, const Engine& engine, const Request& request,
                     const std::vector<DaemonFlag>& flags, EngineFiles& files, Plan& plan) {
  ASSIGN_OR_RETURN(const RuntimeTables tables, RuntimeTables::Read(engine, files, flags));
  plan.real_runtime = FindRealRuntime(host, engine, tables);
  std::optional<ConfiguredRuntime> foreign = FindForeignRuntime(tables, request);
  ASSIGN_OR_RETURN(const std::optional<ConfiguredRuntime> own,
                   FindK3sRuntime(host, engine, files, request.named.name));
  if (own && !HasOnlyDropIn(engine)) {
    return TwiceError(engine, *own);
  }
  if (own && !foreign && !tables.Find(request.named.name).IsOurs()) {
    foreign = own;  // it comes at the next start
  }
  if (foreign) {
    return Adopt(host, *foreign, request, files, plan);
  }
  if (engine.kind == Kind::kPodman && request.set_default &&
      IsLaterDropIn(tables.FindDefault().file, files.drop_in_path)) {
    UseLastDropIn(files);
  }
  return OkStatus();
}

// Without its CRI plugin, containerd reads none of the keys that a change would write.
Plan LeaveAlone(const Engine& engine, const std::string& where) {
  Plan plan;
  plan.id = engine.Id();
  plan.engine = engine;
  plan.way = fmt::format("left alone: {} disables its CRI plugin, so no kubelet uses it", where);
  return plan;
}

Status CheckCri(const Engine& engine, const std::optional<std::string>& disabled,
                const Plan& plan) {
  return !disabled || plan.files.empty()
             ? OkStatus()
             : FailedPrecondition(
                   "{}: disables the CRI plugin, without which {} ignores the settings that kgpu "
                   "would write: remove the plugin from the list if a kubelet is to use this "
                   "containerd, restart it, and try again",
                   *disabled, engine.Name());
}

std::string WayOf(const Engine& engine, const Settings& settings) {
  if (settings.runtime && settings.set_default) {
    return fmt::format("containers get GPUs through the default runtime {}",
                       settings.runtime->name);
  }
  if (settings.cdi == false || (settings.runtime && engine.cdi == CdiSupport::kAbsent)) {
    return settings.runtime
               ? fmt::format("containers get GPUs through the runtime {}", settings.runtime->name)
               : "containers get GPUs only through device nodes and mounts";
  }
  return fmt::format(
      "containers get GPUs through CDI{}{}",
      engine.cdi == CdiSupport::kOptIn ? ", enabled by kgpu" : "",
      settings.runtime ? fmt::format(" or the {} runtime", settings.runtime->name) : "");
}

}  // namespace

std::string_view ToString(Reach reach) {
  static constexpr std::array<std::string_view, 3> kWords = {"nothing", "reload", "restart"};
  return kWords.at(static_cast<size_t>(reach));
}

StatusOr<Plan> PlanEngine(const sys::Root& host, const Engine& engine, const Request& request) {
  RETURN_IF_ERROR(CheckSettings(engine, request));
  ASSIGN_OR_RETURN(EngineFiles files, ReadEngineFiles(host, engine));
  ASSIGN_OR_RETURN(const std::optional<std::string> disabled, FindDisabledCri(engine, files));
  if (disabled && request.is_for_all) {
    return LeaveAlone(engine, *disabled);
  }
  const std::vector<DaemonFlag> flags = ReadDaemonFlags(host, engine);
  Settings settings = RequestOf(engine, request);
  if (!settings.cdi && engine.cdi == CdiSupport::kDefault) {
    ASSIGN_OR_RETURN(const bool is_off, IsCdiOff(engine, files));
    settings.cdi = is_off ? std::optional(true) : std::nullopt;
  }
  Plan plan;
  plan.id = engine.Id();
  plan.engine = engine;
  if (settings.runtime) {
    RETURN_IF_ERROR(JudgeRuntimes(host, engine, request, flags, files, plan));
  }
  ASSIGN_OR_RETURN(plan.files, Edit(engine, files, settings, plan.notes));
  if (engine.distribution == "k0s" && HasOnlyDropIn(engine) && !plan.files.empty()) {
    plan.notes.push_back(
        fmt::format("k0s restarts its containerd by itself seconds after a file of {} changes",
                    engine.drop_in_folder));
  }
  plan.way = WayOf(engine, settings);
  plan.uses_runtime = settings.runtime.has_value();
  plan.expected.runtime = settings.runtime ? settings.runtime->name : "";
  plan.expected.is_default = settings.set_default;
  plan.expected.cdi = settings.cdi;
  RETURN_IF_ERROR(AddRegistries(host, engine, files, request, plan));
  RETURN_IF_ERROR(CheckCri(engine, disabled, plan));
  if (!plan.files.empty()) {
    RETURN_IF_ERROR(CheckLasts(engine, files));
    RETURN_IF_ERROR(CheckFlags(engine, flags, plan));
  }
  JudgePlanReach(engine, plan);
  JudgeHook(host, engine, request, plan);
  RETURN_IF_ERROR(AddProxies(host, engine, request, plan));
  return plan;
}

}  // namespace kgpu::engine
