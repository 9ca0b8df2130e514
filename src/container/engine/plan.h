// What to do to one engine, as a value: it prints as --dry-run, and is compared and tested without
// root. apply.h carries it out, revert.h plans the way back.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "src/container/engine/config_edit.h"
#include "src/container/engine/engine.h"
#include "src/container/engine/proxies.h"
#include "src/container/engine/registries.h"
#include "src/host/change/steps.h"
#include "src/platform/base/status.h"
#include "src/platform/sys/root.h"

namespace kgpu::engine {

// What makes a change take effect, least disruptive first.
enum class Reach : uint8_t {
  kNothing,  // read whenever it is needed
  kReload,   // SIGHUP: containers and clients are not affected
  kRestart,
};
std::string_view ToString(Reach reach);  // "nothing", "reload", "restart"

struct FileStep : change::FileStep {
  std::optional<TextKind> kind;    // empty: the whole file is ours
  std::vector<KeyChange> changes;  // of `before`, if kind is set
  std::string source;              // a program to copy: a path of this process
};

// The runtime that an engine's containers run with, and that kgpu-runtime must start: that of its
// default runtime, else the one that it uses without any configuration. Runtimes that isolate
// otherwise, as kata's, and NVIDIA's do not count.
struct RealRuntime {
  std::string path;                 // below the host's root; empty: none was found
  std::vector<std::string> wanted;  // the names and paths that were looked for, the best first
};

// What the engine should report once the plan is in effect.
struct Expected {
  std::string runtime{};       // empty: do not check
  std::string gone_runtime{};  // empty: do not check
  bool is_default = false;
  std::optional<bool> cdi;
  bool operator==(const Expected&) const = default;
};

struct Plan {
  std::string id;                // of its record: Engine::Id(), or "kgpu-runtime"
  std::optional<Engine> engine;  // empty: no engine is involved
  std::string way;               // for people: how containers get GPUs after it
  std::string adopts;            // for people: whose runtime kgpu-runtime replaces; empty: none
  // Whether NVIDIA_VISIBLE_DEVICES alone currently gives GPUs to the adopted runtime's containers.
  std::optional<bool> accepts_env;
  std::vector<FileStep> files;  // in the order in which to write them
  std::vector<change::LinkStep> links;
  bool uses_runtime = false;     // the engine knows kgpu-runtime
  RealRuntime real_runtime;      // that kgpu-runtime starts for this engine, if it uses it
  bool has_unit_change = false;  // systemd must re-read its units first
  Reach reach = Reach::kNothing;
  std::string reach_reason;  // "features.cdi is read at start only"
  Expected expected;
  std::vector<std::string> notes;

  // Whether there is a file or link to change.
  bool HasSteps() const { return !files.empty() || !links.empty(); }
};

// An admin's request to `kgpu runtime configure`. Unset: the least invasive way.
struct Request {
  std::optional<bool> runtime;  // register kgpu-runtime with the engine
  bool set_default = false;
  bool adopt = false;  // kgpu-runtime may replace another runtime
  // Every engine of the host is requested: one that the change would not help is left alone.
  bool is_for_all = false;
  std::optional<bool> cdi;
  NamedRuntime named;
  RegistrySettings registries;
  Proxies proxies;
};

// Plans the request for `engine`: CDI if it reads that, else the named runtime. Reads its files
// below `host`, changes nothing. Errors: those of the edits (an invalid file, with line and
// column), InvalidArgument (registries, proxies), FailedPrecondition (a file in the way that is not
// ours, another runtime that the admin did not ask to adopt, a change that would not last or with
// which the engine would not start: see obstacles.h).
StatusOr<Plan> PlanEngine(const sys::Root& host, const Engine& engine, const Request& request);

struct ShimInput {
  std::string program;  // kgpu-runtime of this installation; empty: none
  std::string path;     // where engines find it: NamedRuntime::path
  // /etc/kgpu/runtime.json; empty: it stays as it is, and is not created.
  std::string config;
};

inline constexpr std::string_view kShimConfig = "/etc/kgpu/runtime.json";
inline constexpr std::string_view kShimId = "kgpu-runtime";
// If a program of this name is beside kgpu-runtime, Docker offers --gpus.
inline constexpr std::string_view kHookName = "nvidia-container-runtime-hook";

// The runtimes for /etc/kgpu/runtime.json, the best first: those of the plans' engines, then
// `known`. Errors: FailedPrecondition: an engine that would use kgpu-runtime has none.
StatusOr<std::vector<std::string>> RuntimesFor(const std::vector<Plan>& plans,
                                               const std::vector<std::string>& known);

// kgpu-runtime, the hook's name and the configuration on the host. Errors: NotFound (no program
// here and none on the host yet), FailedPrecondition (another program is where the link should be).
StatusOr<Plan> PlanShim(const sys::Root& host, const ShimInput& input);

// A unified diff, or a short reason why none is shown: programs, and what only root may read.
std::string DiffOf(const FileStep& file);
// For people: the diff of each file, then the steps.
std::string Print(const Plan& plan);

}  // namespace kgpu::engine
