// What shall be done to one engine, as a value: it prints as --dry-run, is compared and tested
// without root. apply.h carries it out, revert.h makes the plan of the way back.
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

// What brings a change into force, the gentlest first.
enum class Reach : uint8_t {
  kNothing,  // read again whenever it is needed
  kReload,   // SIGHUP: containers and clients notice nothing
  kRestart,
};
std::string_view ToString(Reach reach);  // "nothing", "reload", "restart"

struct FileStep : change::FileStep {
  std::optional<TextKind> kind;    // empty: the whole file is ours
  std::vector<KeyChange> changes;  // of `before`, where kind is set
  std::string source;              // of a program that is copied: a path of this process
};

// What the engine is to say of itself once the plan is in force.
struct Expected {
  std::string runtime{};       // empty: any
  std::string gone_runtime{};  // empty: any
  bool is_default = false;
  std::optional<bool> cdi;
  bool operator==(const Expected&) const = default;
};

struct Plan {
  std::string id;                // of its record: Engine::Id(), or "kgpu-runtime"
  std::optional<Engine> engine;  // empty: no engine is concerned
  std::string way;               // for people: how containers get GPUs then
  std::string adopts;            // for people: whose runtime kgpu-runtime replaces; empty: nobody's
  // Whether NVIDIA_VISIBLE_DEVICES alone gets the containers of an adopted runtime GPUs today.
  std::optional<bool> accepts_env;
  std::vector<FileStep> files;  // in the order to write them in
  std::vector<change::LinkStep> links;
  bool uses_runtime = false;     // the engine knows kgpu-runtime
  bool has_unit_change = false;  // systemd has to read its units again first
  Reach reach = Reach::kNothing;
  std::string reach_reason;  // "features.cdi is read at start only"
  Expected expected;
  std::vector<std::string> notes;

  // Whether there is a file or link to change.
  bool HasSteps() const { return !files.empty() || !links.empty(); }
};

// What an admin asks of `kgpu runtime configure`. Unset: the least invasive way decides.
struct Request {
  std::optional<bool> runtime;  // name kgpu-runtime to the engine
  bool set_default = false;
  bool adopt = false;  // kgpu-runtime may take the place of a runtime of somebody else
  std::optional<bool> cdi;
  NamedRuntime named;
  RegistrySettings registries;
  Proxies proxies;
};

// How `engine` gets what is asked: CDI where it reads that, else the named runtime. Reads its files
// below `host`, changes nothing. Errors: those of the edits (a file that is broken, with line and
// column), InvalidArgument (registries, proxies), FailedPrecondition (a file in the way that is not
// ours, a runtime of somebody else that was not said to be adopted).
StatusOr<Plan> PlanEngine(const sys::Root& host, const Engine& engine, const Request& request);

struct ShimInput {
  std::string program;  // kgpu-runtime of this installation; empty: there is none
  std::string path;     // where engines find it: NamedRuntime::path
  // /etc/kgpu/runtime.json; empty: stays as it is, and is not made.
  std::string config;
};

inline constexpr std::string_view kShimConfig = "/etc/kgpu/runtime.json";
inline constexpr std::string_view kShimId = "kgpu-runtime";
// By this name beside kgpu-runtime Docker knows that it can offer --gpus.
inline constexpr std::string_view kHookName = "nvidia-container-runtime-hook";

// kgpu-runtime, the hook's name and the configuration on the host. Errors: NotFound (no program and
// none on the host yet), FailedPrecondition (another program stands where the link is to be).
StatusOr<Plan> PlanShim(const sys::Root& host, const ShimInput& input);

// A unified diff, or in a few words why none is shown: programs, and what is for root's eyes only.
std::string DiffOf(const FileStep& file);
// For people: the diff of each file, then the steps.
std::string Print(const Plan& plan);

}  // namespace kgpu::engine
