#include "src/setup/driver_install/container_modules.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "src/host/inspect/driver_facts.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"
#include "src/platform/sys/find_program.h"
#include "src/setup/driver/common_steps.h"
#include "src/setup/driver/gpu_holders.h"
#include "src/setup/driver_install/container_options.h"

namespace kgpu::driver_install {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kFirmwarePath = "/sys/module/firmware_class/parameters/path";
constexpr std::chrono::seconds kDeadline{120};
// In the order of loading. nvidia-drm, which draws, is not for a driver that only computes.
constexpr std::array<std::string_view, 3> kLoaded = {"nvidia", "nvidia_uvm", "nvidia_modeset"};
// In the order of unloading.
constexpr std::array<std::string_view, 5> kUnloaded = {"nvidia_uvm", "nvidia_drm", "nvidia_modeset",
                                                       "nvidia_peermem", "nvidia"};

// A line of /proc/modules: how often a module is used, and by which modules.
struct Use {
  uint64_t count = 0;
  std::vector<std::string> by;
};
using Uses = std::map<std::string, Use>;

// Source: proc(5).
StatusOr<Uses> LoadedModules(const sys::Root& host) {
  ASSIGN_OR_RETURN(const std::string text, host.ReadFile("/proc/modules"));
  Uses uses;
  for (const std::string_view line : Split(text, '\n')) {
    const std::vector<std::string_view> words = Words(line);
    if (words.size() < 4) {
      continue;
    }
    Use& use = uses[std::string(words[0])];
    use.count = ParseUint(words[2]).value_or(0);
    for (const std::string_view user : Split(words[3], ',')) {
      if (!user.empty() && user != "-") {
        use.by.emplace_back(user);
      }
    }
  }
  return uses;
}

// The output of a program below `root`. Errors: FailedPrecondition (it failed).
StatusOr<std::string> RunBelow(sys::ProgramRunner& runner, const sys::Root& root,
                               const std::vector<std::string>& argv) {
  ASSIGN_OR_RETURN(const sys::RunResult result, runner.Run(sys::RequestOf(root, argv, kDeadline)));
  if (!result.IsSuccess()) {
    return FailedPrecondition("{}: {}", Join(argv, " "), sys::Describe(result));
  }
  return result.out;
}

// The same by its name. Errors: FailedPrecondition (it is not there, too).
StatusOr<std::string> RunTool(sys::ProgramRunner& runner, const sys::Root& root,
                              std::string_view tool, const std::vector<std::string>& arguments) {
  const std::string program = sys::FindProgram(root, tool);
  if (program.empty()) {
    return FailedPrecondition("{}: not found below {}: the image must have it (package kmod)", tool,
                              root.path());
  }
  return RunBelow(runner, root, Concat({program}, arguments));
}

// The host's own modules that one of ours needs: the host's modprobe knows where they are.
Status LoadNeeds(const ContainerDependencies& deps, const sys::Root& tree,
                 const std::string& path) {
  ASSIGN_OR_RETURN(const std::string text,
                   RunTool(deps.host.runner, tree, "modinfo", {"-F", "depends", path}));
  for (const std::string_view name : Split(Trim(text), ',')) {
    if (name.empty() || name.starts_with("nvidia")) {
      continue;  // ours come in their order
    }
    const auto done = RunTool(deps.host.runner, deps.host.host, "modprobe", {std::string(name)});
    RETURN_IF_ERROR(Annotate(done.status(), "module {}, which the driver needs", name));
  }
  return OkStatus();
}

// By the folder's own program, for which the path is the same wherever the folder is seen.
Status LoadOne(const ContainerDependencies& deps, const sys::Root& tree, const std::string& path,
               const std::string& options) {
  RETURN_IF_ERROR(LoadNeeds(deps, tree, path));
  std::vector<std::string> arguments = {path};
  if (!options.empty()) {
    arguments.push_back(options);  // insmod hands its arguments on as one text
  }
  return RunTool(deps.host.runner, tree, "insmod", std::move(arguments)).status();
}

void PointAtFirmware(const sys::Root& host, const std::string& folder,
                     std::vector<std::string>& notes) {
  const std::string wanted = folder + "/lib/firmware";
  const auto there = host.ReadFile(kFirmwarePath);
  const std::string now(there.ok() ? Trim(*there) : "");
  if (there.ok() && now == wanted) {
    return;
  }
  if (!now.empty()) {
    notes.push_back(
        fmt::format("the kernel loads firmware from {}, which is already configured: {} is not set",
                    now, wanted));
    return;
  }
  const auto file = host.OpenFile(kFirmwarePath, O_WRONLY | O_TRUNC);
  if (!file.ok() || write(file->get(), wanted.data(), wanted.size()) < 0) {
    notes.push_back(
        fmt::format("the kernel does not know where the driver's firmware is: {}",
                    file.ok() ? Message(ErrnoStatus(errno, "write")) : Message(file.status())));
  }
}

Status UnloadNouveau(const ContainerDependencies& deps, const Uses& loaded) {
  if (!loaded.contains("nouveau")) {
    return OkStatus();
  }
  const auto gone = RunTool(deps.host.runner, deps.container, "rmmod", {"nouveau"});
  return Annotate(gone.status(),
                  "nouveau uses the GPUs: blacklist it (\"blacklist nouveau\" in a file of "
                  "/etc/modprobe.d on the host), and restart the host");
}

// By the driver's own program, run as the host's, whose /dev it fills. Also where nodes are there:
// the numbers of nvidia-uvm are others when other modules came before it, and the program fixes
// what has a wrong one.
Status MakeNodes(const ContainerDependencies& deps, const std::string& folder,
                 const sys::Root& tree) {
  // The host's root does not hold where links of the folder lead.
  const auto program = tree.Resolve("/usr/bin/nvidia-modprobe");
  if (!program.ok()) {
    return FailedPrecondition("cannot create device nodes: {}", Message(program.status()));
  }
  const sys::Root& host = deps.host.host;
  const auto gpus = host.ListDir("/proc/driver/nvidia/gpus");
  ASSIGN_OR_RETURN(const Uses loaded, LoadedModules(host));
  std::vector<std::string> command =
      driver::GpuNodesCommand(gpus.ok() ? gpus->size() : 0, folder + *program);
  if (!loaded.contains("nvidia_modeset")) {
    std::erase(command, "-m");  // it would look for the module on the host
  }
  RETURN_IF_ERROR(RunBelow(deps.host.runner, host, command).status());
  return RunBelow(deps.host.runner, host, driver::UvmNodesCommand(folder + *program)).status();
}

// Whether any module that stays loaded uses one of the driver's. If they were unloaded one by one,
// what still runs would miss the first ones.
bool IsInUse(const Uses& loaded) {
  return std::ranges::any_of(kUnloaded, [&loaded](std::string_view name) {
    const auto found = loaded.find(std::string(name));
    if (found == loaded.end()) {
      return false;
    }
    const auto ours = std::ranges::count_if(found->second.by, [](const std::string& user) {
      return std::ranges::find(kUnloaded, user) != kUnloaded.end();
    });
    return found->second.count > static_cast<uint64_t>(ours);
  });
}

// " by python3 (12)", where that can be seen.
std::string Holders(const sys::Root& host) {
  std::vector<std::string> names;
  for (const driver::GpuHolder& holder : driver::FindGpuHolders(host)) {
    names.push_back(fmt::format("{} ({})", holder.name, holder.pid));
  }
  return names.empty() ? "" : fmt::format(" by {}", Join(names, ", "));
}

struct LoadOutcome {
  std::string version;                     // empty: none
  std::optional<driver::ModuleKind> kind;  // nothing: it does not say
};

LoadOutcome ReadLoaded(const sys::Root& host) {
  LoadOutcome loaded{.version = LoadedVersion(host), .kind = std::nullopt};
  const std::string text = host.ReadFile("/proc/driver/nvidia/version").value_or("");
  if (const auto nvrm = host::ParseNvrmVersion(text); nvrm.ok()) {
    loaded.kind =
        nvrm->is_open_module ? driver::ModuleKind::kOpen : driver::ModuleKind::kProprietary;
  }
  return loaded;
}

Status Unload(const ContainerDependencies& deps, const Uses& loaded) {
  for (const std::string_view name : kUnloaded) {
    if (loaded.contains(std::string(name))) {
      RETURN_IF_ERROR(
          RunTool(deps.host.runner, deps.container, "rmmod", {std::string(name)}).status());
    }
  }
  return OkStatus();
}

// Those of the driver's that depmod(8) has chosen, from the list that it wrote: which folder comes
// first is the distribution's choice. Paths are below the folder of the kernel's modules.
std::vector<std::string> ChosenModules(const sys::Root& root, const std::string& folder) {
  constexpr size_t kLimit = size_t{16} << 20;
  std::vector<std::string> paths;
  const std::string text =
      root.ReadFile(fmt::format("{}/modules.dep", folder), kLimit).value_or("");
  for (const std::string_view line : Split(text, '\n')) {
    const std::string_view path = line.substr(0, line.find(':'));
    if (!ModuleOf(path.substr(path.rfind('/') + 1)).empty()) {
      paths.emplace_back(path);
    }
  }
  return paths;
}

// All modules in the folder, which depmod may not know.
std::vector<std::string> AllModules(const sys::Root& root, const std::string& folder) {
  std::vector<std::string> paths;
  std::error_code error;
  const fs::path top = root.At(folder);
  for (fs::recursive_directory_iterator entry(top, error);
       !error && entry != fs::recursive_directory_iterator(); entry.increment(error)) {
    if (!ModuleOf(entry->path().filename().string()).empty()) {
      paths.push_back(entry->path().lexically_relative(top).string());
    }
  }
  return paths;
}

}  // namespace

std::string ModuleOf(std::string_view file) {
  const size_t end = file.find(".ko");
  if (!file.starts_with("nvidia") || end == std::string_view::npos) {
    return "";
  }
  std::string stem(file.substr(0, end));
  std::ranges::replace(stem, '_', '-');
  for (const std::string_view part : {"uvm", "modeset", "drm", "peermem"}) {
    if (stem.ends_with(fmt::format("-{}", part))) {
      return fmt::format("nvidia_{}", part);
    }
  }
  // Packages that keep several branches apart name them so.
  for (const std::string_view start : {"nvidia-current", "nvidia-open", "nvidia-tesla"}) {
    if (stem.starts_with(start)) {
      return "nvidia";
    }
  }
  return stem == "nvidia" ? stem : "";
}

std::map<std::string, std::string> FindModules(const sys::Root& root, std::string_view kernel) {
  std::map<std::string, std::string> modules;
  const auto folder = root.Resolve(fmt::format("/lib/modules/{}", kernel));
  if (!folder.ok()) {
    return modules;
  }
  const auto take = [&](const std::vector<std::string>& paths) {
    std::map<std::string, std::string> found;
    for (const std::string& path : paths) {
      const std::string whole = (fs::path(*folder) / path).string();
      std::string& known = found[ModuleOf(path.substr(path.rfind('/') + 1))];
      // Of two, the one in updates/ is used, as depmod(8) does by default.
      known = root.Exists(whole) ? std::max(known, whole) : known;
    }
    std::erase_if(found, [](const auto& one) { return one.second.empty(); });
    return found;
  };
  modules = take(ChosenModules(root, *folder));
  return modules.contains("nvidia") ? modules : take(AllModules(root, *folder));
}

std::string LoadedVersion(const sys::Root& host) {
  return std::string(Trim(host.ReadFile("/sys/module/nvidia/version").value_or("")));
}

StatusOr<driver::ModuleInfo> AskModule(const ContainerDependencies& deps, const sys::Root& root,
                                       const std::string& path) {
  ASSIGN_OR_RETURN(const std::string text, RunTool(deps.host.runner, root, "modinfo", {path}));
  return driver::ParseModinfo(text);
}

StatusOr<std::string> UnloadOthers(const ContainerDependencies& deps, const std::string& version,
                                   driver::ModuleKind kind, const std::string& kernel) {
  const sys::Root& host = deps.host.host;
  const LoadOutcome there = ReadLoaded(host);
  if (there.version.empty() || (there.version == version && there.kind.value_or(kind) == kind)) {
    return "";
  }
  ASSIGN_OR_RETURN(const Uses loaded, LoadedModules(host));
  const auto waits = [&] {
    return fmt::format(
        "driver {}{} is loaded and in use{}; {} ({}) is waiting to replace it: drain the node and "
        "remove its GPU monitors, or restart the node; the next run continues without building",
        there.version, there.kind ? fmt::format(" ({})", driver::ToString(*there.kind)) : "",
        Holders(host), version, driver::ToString(kind));
  };
  if (IsInUse(loaded)) {
    return waits();
  }
  const Status gone = Unload(deps, loaded);
  if (gone.ok()) {
    return "";
  }
  // Somebody opened a device after we looked. What is left would start no new job: it is made
  // whole.
  std::vector<std::string> notes;
  RETURN_IF_ERROR(Annotate(LoadFrom(deps, std::string(kDriverFolder), kernel, notes),
                           "{}; driver {} is no longer complete: restart the host", Message(gone),
                           there.version));
  return fmt::format("{} ({})", waits(), Message(gone));
}

Status LoadFrom(const ContainerDependencies& deps, const std::string& folder,
                const std::string& kernel, std::vector<std::string>& notes) {
  const sys::Root& host = deps.host.host;
  ASSIGN_OR_RETURN(const sys::Root tree, sys::Root::Open(host.At(folder)));
  const std::map<std::string, std::string> modules = FindModules(tree, kernel);
  std::map<std::string, std::string> options = ReadModuleOptions({&host, &tree, &deps.container});
  ASSIGN_OR_RETURN(const Uses loaded, LoadedModules(host));
  RETURN_IF_ERROR(UnloadNouveau(deps, loaded));
  if (!loaded.contains("nvidia")) {
    PointAtFirmware(host, folder, notes);
  }
  for (const std::string_view name : kLoaded) {
    const auto module = modules.find(std::string(name));
    if (module == modules.end() || loaded.contains(module->first)) {
      continue;
    }
    RETURN_IF_ERROR(LoadOne(deps, tree, module->second, options[module->first]));
  }
  return MakeNodes(deps, folder, tree);
}

}  // namespace kgpu::driver_install
