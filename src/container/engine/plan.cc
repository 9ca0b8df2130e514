#include "src/container/engine/plan.h"

#include <chrono>
#include <filesystem>
#include <utility>

#include "src/container/engine/engine_files.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"

namespace kgpu::engine {
namespace {

// Whether the named runtime is to be there when nobody says so.
bool NeedsRuntime(const Engine& engine, const Request& request) {
  const bool reads_cdi =
      request.cdi.value_or(engine.cdi != CdiSupport::kAbsent && engine.cdi != CdiSupport::kUnknown);
  return request.runtime.value_or(request.set_default || !reads_cdi);
}

Status CheckWish(const Engine& engine, const Request& request) {
  if (request.cdi == true && engine.cdi == CdiSupport::kAbsent) {
    return FailedPrecondition(
        "{} {} does not read CDI (docker does from 25.0, containerd from 1.7, CRI-O from 1.23, "
        "podman from 4.1): leave --cdi out, and it gets the runtime \"{}\"",
        engine.Name(), engine.version_text, request.named.name);
  }
  if (request.set_default && request.runtime == false) {
    return InvalidArgument(
        "--set-default: the default would be the runtime that --runtime=no "
        "leaves out: give one of the two");
  }
  if (engine.kind == Kind::kPodman && !request.proxies.IsEmpty()) {
    return InvalidArgument(
        "--http-proxy: podman has no daemon: it takes the variables of the shell");
  }
  RETURN_IF_ERROR(CheckProxies(request.proxies));
  return CheckRegistries(request.registries, engine.kind == Kind::kDocker);
}

Wish WishOf(const Engine& engine, const Request& request) {
  Wish wish;
  if (NeedsRuntime(engine, request)) {
    wish.runtime = request.named;
  }
  wish.set_default = request.set_default;
  // An engine without CDI has no key to switch it off by.
  wish.cdi = engine.cdi == CdiSupport::kAbsent ? std::nullopt : request.cdi;
  const bool has_key = engine.kind == Kind::kDocker || engine.kind == Kind::kContainerd;
  // Who asks for the runtime gets that, and no restart for CDI besides.
  if (!wish.cdi && !wish.runtime && has_key && engine.cdi == CdiSupport::kOptIn) {
    wish.cdi = true;
  }
  if (engine.kind == Kind::kDocker) {
    wish.insecure_registries = request.registries.insecure;
    wish.registry_mirrors = request.registries.mirrors;
  }
  return wish;
}

void Raise(Plan& plan, Reach reach, std::string_view reason) {
  if (reach > plan.reach) {
    plan.reach = reach;
    plan.reach_reason = std::string(reason);
  }
}

// Docker reads some keys anew at SIGHUP; the others read their files at start only.
void JudgePlanReach(const Engine& engine, Plan& plan) {
  for (const FileStep& file : plan.files) {
    if (!file.kind || engine.kind == Kind::kPodman) {
      continue;
    }
    if (engine.kind != Kind::kDocker) {
      Raise(plan, Reach::kRestart,
            fmt::format("{} reads its configuration at start only", engine.Name()));
      continue;
    }
    for (const KeyChange& change : file.changes) {
      const bool is_cdi = !change.key.empty() && change.key[0] == "features";
      Raise(plan, is_cdi ? Reach::kRestart : Reach::kReload,
            is_cdi ? "dockerd looks at features.cdi at start only"
                   : "dockerd takes runtimes and registries over at SIGHUP");
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
  const bool was_seen =
      hook.ok() && engine.daemon &&
      WallTime(std::chrono::seconds(hook->st_mtim.tv_sec)) < engine.daemon->started;
  if (!was_seen) {
    Raise(plan, Reach::kRestart,
          fmt::format("dockerd looks for {} when it starts, to offer --gpus", kHookName));
  }
}

Status AddWholeFile(const sys::Root& host, const TextFile& file, mode_t mode, Plan& plan) {
  ASSIGN_OR_RETURN(const std::optional<std::string> before, ReadIfThere(host, file.path));
  if (before == file.text) {
    return OkStatus();
  }
  if (before && before->find("kgpu runtime") == std::string::npos) {
    return FailedPrecondition(
        "{}: is there already and not ours: put this into it by hand, or "
        "remove it:\n{}",
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

Status AddRegistries(const sys::Root& host, const Engine& engine, const EngineFiles& files,
                     const Request& request, Plan& plan) {
  if (request.registries.IsEmpty() || engine.kind == Kind::kDocker) {
    return OkStatus();
  }
  if (engine.kind != Kind::kContainerd) {
    return AddWholeFile(host, ContainersRegistries(request.registries), 0644, plan);
  }
  if (engine.is_template) {
    return Unimplemented(
        "--insecure-registry, --registry-mirror: {} takes them from "
        "/etc/rancher/{}/registries.yaml: write them there",
        engine.distribution, engine.distribution);
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
        "--http-proxy: {} has no systemd unit here: set HTTP_PROXY, "
        "HTTPS_PROXY and NO_PROXY where it is started",
        engine.Name());
  }
  const size_t before = plan.files.size();
  RETURN_IF_ERROR(AddWholeFile(host, ProxyDropIn(engine.unit, request.proxies),
                               request.proxies.HasSecret() ? 0600 : 0644, plan));
  if (plan.files.size() > before) {
    plan.has_unit_change = true;
    Raise(plan, Reach::kRestart, "a process keeps the environment that it was started with");
  }
  return OkStatus();
}

std::string WayOf(const Engine& engine, const Wish& wish) {
  if (wish.runtime && wish.set_default) {
    return fmt::format("containers get GPUs by the runtime {}, the default one",
                       wish.runtime->name);
  }
  if (wish.cdi == false || (wish.runtime && engine.cdi == CdiSupport::kAbsent)) {
    return wish.runtime ? fmt::format("containers get GPUs by the runtime {}", wish.runtime->name)
                        : "containers get GPUs by device nodes and mounts only";
  }
  return fmt::format("containers get GPUs by CDI{}{}",
                     engine.cdi == CdiSupport::kOptIn ? ", switched on" : "",
                     wish.runtime ? fmt::format(", or by the runtime {}", wish.runtime->name) : "");
}

}  // namespace

std::string_view ToString(Reach reach) {
  switch (reach) {
    case Reach::kNothing:
      return "nothing";
    case Reach::kReload:
      return "reload";
    case Reach::kRestart:
      return "restart";
  }
  return "nothing";
}

StatusOr<Plan> PlanEngine(const sys::Root& host, const Engine& engine, const Request& request) {
  RETURN_IF_ERROR(CheckWish(engine, request));
  ASSIGN_OR_RETURN(const EngineFiles files, ReadEngineFiles(host, engine));
  Wish wish = WishOf(engine, request);
  if (!wish.cdi && engine.cdi == CdiSupport::kDefault) {
    ASSIGN_OR_RETURN(const bool is_off, IsCdiOff(engine, files));
    wish.cdi = is_off ? std::optional(true) : std::nullopt;
  }
  Plan plan;
  plan.id = engine.Id();
  plan.engine = engine;
  ASSIGN_OR_RETURN(plan.files, Edit(engine, files, wish, plan.notes));
  plan.way = WayOf(engine, wish);
  plan.uses_runtime = wish.runtime.has_value();
  plan.expected.runtime = wish.runtime ? wish.runtime->name : "";
  plan.expected.is_default = wish.set_default;
  plan.expected.cdi = wish.cdi;
  RETURN_IF_ERROR(AddRegistries(host, engine, files, request, plan));
  JudgePlanReach(engine, plan);
  JudgeHook(host, engine, request, plan);
  RETURN_IF_ERROR(AddProxies(host, engine, request, plan));
  return plan;
}

}  // namespace kgpu::engine
