#include "src/cli/runtime/runtime_configure.h"

#include <unistd.h>

#include <boost/json/value.hpp>

#include <algorithm>
#include <array>
#include <utility>

#include "src/cli/base/confirm.h"
#include "src/cli/base/host_options.h"
#include "src/cli/base/output.h"
#include "src/cli/runtime/runtime_view.h"
#include "src/container/engine/recipes.h"
#include "src/container/engine/runtime_users.h"
#include "src/container/shim/config.h"
#include "src/container/shim/real_runtime.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"

namespace kgpu::cli {
namespace {

StatusOr<engine::Request> RequestOf(const ConfigureOptions& options) {
  engine::Request request;
  ASSIGN_OR_RETURN(request.cdi, YesOrNo("--cdi", options.cdi));
  if (engine::ParseKind(options.runtime).ok()) {
    return InvalidArgument("--runtime: \"{}\" must be yes or no: did you mean --engine {}?",
                           options.runtime, options.runtime);
  }
  ASSIGN_OR_RETURN(request.runtime, YesOrNo("--runtime", options.runtime));
  request.set_default = options.set_default;
  request.adopt = options.adopt;
  request.named.name = options.runtime_name;
  if (!options.runtime_path.empty()) {
    if (!options.runtime_path.starts_with('/')) {
      return InvalidArgument("--runtime-path: \"{}\" must be an absolute path on the host",
                             Printable(options.runtime_path, 80));
    }
    request.named.path = options.runtime_path;
  }
  request.registries = {options.insecure_registries, options.registry_mirrors};
  request.proxies = {options.http_proxy, options.https_proxy, options.no_proxy};
  return request;
}

// Where the engines find kgpu-runtime, and which program is to be copied there.
struct Program {
  std::string path;    // on the host
  std::string source;  // empty: it is there already, or nowhere
};

// A program in a home or build folder is no program for root's engines: it is copied.
StatusOr<Program> FindRuntime(const ConfigureOptions& options) {
  ASSIGN_OR_RETURN(const std::string folder, ProgramFolder());
  const std::string beside = folder + "/kgpu-runtime";
  const std::string source = access(beside.c_str(), X_OK) == 0 ? beside : "";
  if (!options.runtime_path.empty()) {
    return Program{options.runtime_path, source};
  }
  constexpr std::array<std::string_view, 4> kInstalled = {"/usr/bin", "/usr/sbin", "/usr/local/bin",
                                                          "/usr/local/sbin"};
  const bool is_installed =
      options.common.host_root == "/" && std::ranges::find(kInstalled, folder) != kInstalled.end();
  if (is_installed && !source.empty()) {
    return Program{beside, ""};
  }
  return Program{engine::NamedRuntime{}.path, source};
}

// Asks on the terminal, if there is one; without an answer it is "no".
bool AskAcceptEnv() {
  if (!HasTerminal()) {
    PrintNote(
        "containers cannot request GPUs with NVIDIA_VISIBLE_DEVICES, which images can also set; "
        "allow it with --accept-env=yes");
    return false;
  }
  return AskYesNo(
      "May containers request GPUs with the variable NVIDIA_VISIBLE_DEVICES? An image can set it\n"
      "too, and would then get GPUs that nobody gave it. docker run --gpus works without it.");
}

// What the adopted runtimes allow containers so far: they keep it. Empty if none is adopted.
std::optional<bool> AcceptedSoFar(const std::vector<engine::Plan>& plans) {
  std::optional<bool> accepted;
  for (const engine::Plan& plan : plans) {
    if (plan.accepts_env) {
      accepted = accepted.value_or(false) || *plan.accepts_env;
    }
  }
  return accepted;
}

// Whether kgpu-runtime will find one of `runtimes` on the host, and start just `path`, if given.
bool Finds(const sys::Root& root, const std::vector<std::string>& runtimes,
           const std::string& path) {
  const auto found = shim::FindRealRuntime(root, runtimes, {});
  return found.ok() && (path.empty() || *found == root.At(path));
}

// The runtimes that kgpu-runtime starts: those that the admin chose, as long as one of them is
// there; else the engines' own, by their paths where kgpu-runtime would not look for them.
Status ChooseRuntimes(const sys::Root& root, bool is_there, const std::vector<engine::Plan>& plans,
                      std::vector<std::string>& runtimes) {
  if (is_there && Finds(root, runtimes, "")) {
    return OkStatus();
  }
  ASSIGN_OR_RETURN(std::vector<std::string> own, engine::RuntimesFor(plans, runtimes));
  if (!Finds(root, runtimes, own.front())) {
    runtimes = std::move(own);
  }
  return OkStatus();
}

// The text of /etc/kgpu/runtime.json; empty: what is there stays.
StatusOr<std::string> ShimConfig(const ConfigureOptions& options, const sys::Root& root,
                                 const std::vector<engine::Plan>& plans) {
  ASSIGN_OR_RETURN(const std::optional<bool> given, YesOrNo("--accept-env", options.accept_env));
  const bool is_there = root.Exists(shim::kConfigPath);
  // Read in any case: with one that is broken no container would start.
  ASSIGN_OR_RETURN(const shim::Config before, shim::ReadConfig(root));
  shim::Config config = before;
  RETURN_IF_ERROR(ChooseRuntimes(root, is_there, plans, config.runtimes));
  const std::optional<bool> so_far = AcceptedSoFar(plans);
  if (is_there && !given && so_far == true && !config.accept_env) {
    PrintNote(
        fmt::format("{}: acceptEnv is false: containers of the adopted runtime that only set "
                    "NVIDIA_VISIBLE_DEVICES no longer get GPUs; allow it with --accept-env=yes",
                    shim::kConfigPath));
  }
  if (given) {
    config.accept_env = *given;
  } else if (!is_there) {
    config.accept_env = so_far ? *so_far : (!options.is_dry_run && AskAcceptEnv());
  }
  return is_there && config == before ? std::string() : shim::PrintConfig(config);
}

// Engines without a daemon or unit take no proxies: where all engines were meant, that is no error.
engine::Request Fitting(const engine::Request& request, const engine::Engine& engine,
                        bool is_auto) {
  engine::Request fitting = request;
  fitting.is_for_all = is_auto;
  if (is_auto && engine.kind == engine::Kind::kPodman) {
    fitting.proxies = {};
  }
  return fitting;
}

StatusOr<std::vector<engine::Plan>> PlanAll(const ConfigureOptions& options, RuntimeHost& host) {
  ASSIGN_OR_RETURN(engine::Request request, RequestOf(options));
  ASSIGN_OR_RETURN(const Program program, FindRuntime(options));
  request.named.path = program.path;
  ASSIGN_OR_RETURN(const std::vector<engine::Engine> engines, host.FindEngines());
  std::vector<engine::Plan> plans;
  for (const engine::Engine& engine : engines) {
    ASSIGN_OR_RETURN(
        engine::Plan plan,
        engine::PlanEngine(host.root(), engine, Fitting(request, engine, host.is_auto())));
    plans.push_back(std::move(plan));
  }
  if (std::ranges::any_of(plans, [](const engine::Plan& plan) { return plan.uses_runtime; })) {
    engine::ShimInput input;
    input.program = program.source;
    input.path = program.path;
    ASSIGN_OR_RETURN(input.config, ShimConfig(options, host.root(), plans));
    ASSIGN_OR_RETURN(engine::Plan shim, engine::PlanShim(host.root(), input));
    plans.insert(plans.begin(), std::move(shim));  // an engine looks for the program at once
  } else if (!options.accept_env.empty()) {
    PrintNote("--accept-env: no engine on this host uses kgpu-runtime: remove the flag");
  }
  return plans;
}

std::string NameOfPlan(const engine::Plan& plan) {
  return plan.engine ? plan.engine->Name() : plan.id;
}

Status PrintPlans(const std::vector<engine::Plan>& plans, OutputFormat format) {
  if (format != OutputFormat::kTable) {
    return PrintOut(Render(PlansJson(plans), format));
  }
  std::string text;
  for (const engine::Plan& plan : plans) {
    text +=
        plan.adopts.empty() ? "" : fmt::format("# {}: adopts {}\n", NameOfPlan(plan), plan.adopts);
  }
  for (const engine::Plan& plan : plans) {
    text += engine::Print(plan);
  }
  return PrintOut(DiffForOutput(std::move(text)));
}

Status PrintDone(const std::vector<Done>& done, OutputFormat format) {
  RETURN_IF_ERROR(PrintAs(format, DoneText(done), DoneJson(done)));
  if (format == OutputFormat::kTable) {
    for (const Done& one : done) {
      PrintNotes(one.outcome.notes, one.name + ": ");
    }
  }
  return OkStatus();
}

using ConfigureAction = StatusOr<engine::Outcome> (*)(const engine::Plan&,
                                                      const engine::ApplyOptions&,
                                                      const engine::Dependencies&);

// Whether an engine uses what is removed, such as kgpu-runtime, until it is restarted.
bool IsStillUsed(const std::vector<engine::Plan>& plans) {
  return std::ranges::any_of(plans, [](const engine::Plan& plan) {
    return plan.engine && plan.engine->daemon && plan.reach != engine::Reach::kNothing;
  });
}

// After an engine has failed: takes kgpu-runtime away again, which this run put there for it,
// unless an engine uses it. Returns what to add to the error, about what stays; empty: nothing
// does.
std::string TakeRuntimeBack(RuntimeHost& host) {
  const auto state = engine::ReadState(host.root());
  if (!state.ok()) {
    return fmt::format("; kgpu-runtime stays: {}", Message(state.status()));
  }
  const auto shim = state->find(std::string(engine::kShimId));
  if (shim == state->end()) {
    return "";
  }
  if (std::ranges::any_of(*state, [](const auto& one) { return one.second.uses_runtime; })) {
    return "; kgpu-runtime stays, since another change uses it";
  }
  const auto plan = engine::PlanRevert(host.root(), shim->first, shim->second, nullptr);
  const Status reverted =
      plan.ok() ? engine::Revert(*plan, {}, host.deps()).status() : plan.status();
  return reverted.ok() ? ""
                       : fmt::format("; kgpu-runtime stays, because removing it failed, too: {}",
                                     Message(reverted));
}

// One after the other; what was done before one that fails is reported, and stays, but for
// kgpu-runtime, if no engine is left that needs it.
Status DoAll(const std::vector<engine::Plan>& plans, bool restart, ConfigureAction action,
             OutputFormat format, RuntimeHost& host) {
  engine::ApplyOptions options;
  options.restart = restart;
  std::vector<Done> done;
  Status status;
  for (const engine::Plan& plan : plans) {
    auto outcome = action(plan, options, host.deps());
    if (!outcome.ok()) {
      status = Annotate(outcome.status(), "{}", NameOfPlan(plan));
      const bool is_put_there = action == &engine::Apply && plan.id != engine::kShimId &&
                                plans.front().id == engine::kShimId && !done.empty() &&
                                !done.front().outcome.done.empty();
      if (is_put_there) {
        const std::string stays = TakeRuntimeBack(host);
        done.erase(done.begin(), done.begin() + (stays.empty() ? 1 : 0));
        status = MakeStatus(status.code(), fmt::format("{}{}", Message(status), stays));
      }
      break;
    }
    if (!plan.adopts.empty()) {
      outcome->notes.insert(outcome->notes.begin(), "adopted " + plan.adopts);
    }
    done.push_back({NameOfPlan(plan), plan.way, *std::move(outcome)});
  }
  if (!done.empty() || status.ok()) {
    RETURN_IF_ERROR(PrintDone(done, format));
  }
  return status;
}

// Why kgpu-runtime cannot go yet; empty when it can.
std::string WhyRuntimeStays(const RuntimeHost& host, const engine::Record& shim,
                            const std::vector<engine::Plan>& plans, bool restart) {
  if (!restart && IsStillUsed(plans)) {
    return "the engine uses it until it restarts: restart the engine";
  }
  for (const engine::FileRecord& file : shim.files) {
    const auto users =
        file.kind ? std::vector<std::string>() : engine::RuntimeUsers(host.root(), file.path);
    if (!users.empty()) {
      return fmt::format("{} container{} started by it must be stopped first ({}): stop them",
                         users.size(), users.size() == 1 ? "" : "s", Printable(users.front(), 16));
    }
  }
  return "";
}

StatusOr<engine::Plan> PlanRevertOf(const RuntimeHost& host, const std::string& id,
                                    const engine::Record& record,
                                    const std::vector<engine::Engine>& found) {
  const auto match =
      std::ranges::find_if(found, [&](const engine::Engine& one) { return one.Id() == id; });
  return engine::PlanRevert(host.root(), id, record, match == found.end() ? nullptr : &*match);
}

// The engines' plans, then that of kgpu-runtime itself where no engine is left that uses it.
StatusOr<std::vector<engine::Plan>> PlanReverts(RuntimeHost& host, bool restart) {
  ASSIGN_OR_RETURN(const engine::State state, engine::ReadState(host.root()));
  const auto engines = host.FindEngines();
  const std::vector<engine::Engine> found = engines.ok() ? *engines : std::vector<engine::Engine>();
  std::vector<engine::Plan> plans;
  bool is_runtime_used = false;
  for (const auto& [id, record] : state) {
    if (host.IsAskedFor(id)) {
      ASSIGN_OR_RETURN(engine::Plan plan, PlanRevertOf(host, id, record, found));
      plans.push_back(std::move(plan));
    } else {
      is_runtime_used |= id != engine::kShimId && record.uses_runtime;
    }
  }
  const auto shim = state.find(std::string(engine::kShimId));
  if (shim == state.end() || is_runtime_used) {
    return plans;
  }
  const std::string why = WhyRuntimeStays(host, shim->second, plans, restart);
  if (!why.empty()) {
    PrintNote(fmt::format("kgpu-runtime is kept: {}, then run kgpu runtime revert again", why));
    return plans;
  }
  ASSIGN_OR_RETURN(engine::Plan plan, PlanRevertOf(host, shim->first, shim->second, found));
  plans.push_back(std::move(plan));
  return plans;
}

}  // namespace

StatusOr<std::optional<bool>> YesOrNo(std::string_view flag, const std::string& text) {
  if (text.empty() || text == "auto") {
    return std::optional<bool>();
  }
  if (text == "yes" || text == "no") {
    return std::optional(text == "yes");
  }
  // nvidia-ctk has its engine there.
  const bool is_engine = flag == "--runtime" && engine::ParseKind(text).ok();
  return InvalidArgument("{}: \"{}\" must be yes or no{}", flag, Printable(text, 40),
                         is_engine ? fmt::format(": did you mean --engine {}?", text) : "");
}

StatusOr<ExitCode> RunConfigure(const ConfigureOptions& options) {
  ASSIGN_OR_RETURN(const OutputFormat format, ParseOutputFormat(options.common.output));
  if (!options.print.empty()) {
    ASSIGN_OR_RETURN(const engine::Request request, RequestOf(options));
    engine::Settings settings;
    if (request.runtime.value_or(request.set_default)) {
      settings.runtime = request.named;
    }
    settings.set_default = request.set_default;
    settings.cdi = request.cdi;
    settings.insecure_registries = request.registries.insecure;
    settings.registry_mirrors = request.registries.mirrors;
    ASSIGN_OR_RETURN(const std::string text, engine::Recipe(options.print, settings));
    return OkOr(PrintOut(text));
  }
  ASSIGN_OR_RETURN(const std::unique_ptr<RuntimeHost> host, RuntimeHost::Open(options.common));
  if (options.is_dry_run) {
    ASSIGN_OR_RETURN(const std::vector<engine::Plan> plans, PlanAll(options, *host));
    return OkOr(PrintPlans(plans, format));
  }
  ASSIGN_OR_RETURN(const UniqueFd lock, engine::LockEngines(host->deps()));
  ASSIGN_OR_RETURN(const std::vector<engine::Plan> plans, PlanAll(options, *host));
  return OkOr(DoAll(plans, options.restart, &engine::Apply, format, *host));
}

StatusOr<ExitCode> RunRevert(const RevertOptions& options) {
  ASSIGN_OR_RETURN(const OutputFormat format, ParseOutputFormat(options.common.output));
  ASSIGN_OR_RETURN(const std::unique_ptr<RuntimeHost> host, RuntimeHost::Open(options.common));
  if (options.is_dry_run) {
    ASSIGN_OR_RETURN(const std::vector<engine::Plan> plans, PlanReverts(*host, options.restart));
    return OkOr(PrintPlans(plans, format));
  }
  ASSIGN_OR_RETURN(const UniqueFd lock, engine::LockEngines(host->deps()));
  ASSIGN_OR_RETURN(const std::vector<engine::Plan> plans, PlanReverts(*host, options.restart));
  if (plans.empty()) {
    return OkOr(PrintAs(format, "nothing to revert\n", boost::json::array()));
  }
  return OkOr(DoAll(plans, options.restart, &engine::Revert, format, *host));
}

}  // namespace kgpu::cli
