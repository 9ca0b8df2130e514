#include "src/setup/driver/common_steps.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "src/host/inspect/rivals.h"
#include "src/setup/driver/pages.h"

namespace kgpu::driver {
namespace {

// More numbers in one call nvidia-modprobe does not take; one of them is nvidiactl's.
constexpr size_t kMostNodes = 63;
constexpr std::string_view kPersistence = "nvidia-persistenced.service";
constexpr std::string_view kPersistenceFile = "/etc/systemd/system/nvidia-persistenced.service";

void AddNouveauOff(const HostFacts& facts, const Traits& traits, Plan& plan) {
  if (std::vector<std::string> command = InitramfsCommand(facts); !command.empty()) {
    // On the way back this is the last step: by then what nouveau was kept off with is gone.
    AddCommand(plan, "initramfs-back",
               "rebuild the initial RAM disk when the installation is undone", traits.page, {},
               std::move(command));
    LetItBuild(plan);
  }
  AddNouveauFile(traits, plan);
  if (facts.bootloader == "grubby" && IsRivalLoaded(facts)) {
    const std::string grubby = facts.Program("grubby");
    AddCommand(
        plan, "nouveau-off-at-boot", "keep nouveau out of the initial RAM disk", traits.page,
        {grubby, "--update-kernel=ALL", fmt::format("--args={}", host::kRivalsOffArgument)},
        {grubby, "--update-kernel=ALL", fmt::format("--remove-args={}", host::kRivalsOffArgument)});
    LetItBuild(plan);
  }
}

// Modules of the driver that were loaded, besides those for computing, are loaded again.
std::vector<std::string> ModulesToLoad(const HostFacts& facts) {
  // nvidia-drm is for displays, and what a display holds cannot be unloaded by an upgrade.
  std::vector<std::string> names = {"nvidia", "nvidia-uvm", "nvidia-modeset"};
  if (facts.host.kernel.loaded.contains("nvidia_drm")) {
    names.emplace_back("nvidia-drm");
  }
  if (facts.host.kernel.loaded.contains("nvidia_peermem")) {
    names.emplace_back("nvidia-peermem");
  }
  return names;
}

void NoteOthersModules(const HostFacts& facts, Plan& plan) {
  if (!NeedsUnload(facts, plan)) {
    return;
  }
  for (const char* name : {"nvidia_fs", "gdrdrv"}) {
    if (facts.host.kernel.loaded.contains(name)) {
      plan.notes.push_back(
          fmt::format("{0} is loaded and was built against the current driver: rebuild it after "
                      "this (dkms, or its packages), then run modprobe {0}",
                      name));
    }
  }
}

void AddLoading(const HostFacts& facts, Plan& plan) {
  if (!facts.kernel.is_running) {
    plan.notes.push_back(fmt::format(
        "kernel {} is not running: its modules are loaded when it boots", facts.kernel.release));
    return;
  }
  AddStep(plan, "load", "load the modules", pages::kPostInstall, LoadModules{ModulesToLoad(facts)});
  NoteOthersModules(facts, plan);
  const std::string program = ProgramOr(facts, "nvidia-modprobe", "/usr/bin/nvidia-modprobe");
  AddCommand(plan, "device-nodes", "create the device nodes", pages::kPostInstall,
             GpuNodesCommand(facts.gpus.size(), program));
  AddCommand(plan, "memory-nodes", "create the device nodes for memory shared by GPUs and CPU",
             pages::kPostInstall, UvmNodesCommand(program));
}

void AddDaemons(const HostFacts& facts, const Traits& traits, Plan& plan) {
  if (!facts.has_systemd || !facts.kernel.is_running) {
    return;
  }
  const bool has_unit =
      traits.has_persistence || std::ranges::find(facts.users, kPersistence) != facts.users.end();
  if (!has_unit) {
    AddStep(plan, "persistence-unit", "reload systemd for nvidia-persistenced", pages::kPersistence,
            WriteFile{.path = std::string(kPersistenceFile),
                      .text = PersistenceUnit("/usr/bin/nvidia-persistenced")});
  }
  AddStep(plan, "persistence", "keep the GPUs initialized while idle", pages::kPersistence,
          StartUnits{.units = {std::string(kPersistence)}, .at_boot = true});
  if (traits.has_fabric_manager) {
    AddFabric(facts, plan);
  }
  if (HasRackLinks(facts)) {
    plan.notes.emplace_back(
        "GPUs of one rack share memory across hosts through the daemon nvidia-imex of NVIDIA's "
        "repository: list the hosts in /etc/nvidia-imex/nodes_config.cfg and enable "
        "nvidia-imex.service on each");
  }
}

}  // namespace

void AddStep(Plan& plan, std::string_view id, std::string_view title, std::string_view source,
             Action action) {
  plan.steps.push_back({.id = std::string(id),
                        .title = std::string(title),
                        .source = std::string(source),
                        .action = std::move(action)});
}

void AddCommand(Plan& plan, std::string_view id, std::string_view title, std::string_view source,
                std::vector<std::string> argv, std::vector<std::string> undo) {
  RunCommand run;
  run.command.argv = std::move(argv);
  run.undo.argv = std::move(undo);
  AddStep(plan, id, title, source, std::move(run));
}

void LetItBuild(Plan& plan) {
  constexpr std::chrono::minutes kForBuilding{60};
  if (auto* run = std::get_if<RunCommand>(&plan.steps.back().action); run != nullptr) {
    run->command.deadline = kForBuilding;
    run->undo.deadline = kForBuilding;
  }
}

std::vector<std::string> InitramfsCommand(const HostFacts& facts) {
  const std::string program = facts.initramfs.empty() ? "" : facts.Program(facts.initramfs);
  if (program.empty()) {
    return {};
  }
  if (facts.initramfs == "update-initramfs") {
    return {program, "-u", "-k", facts.kernel.release};
  }
  if (facts.initramfs == "dracut") {
    return {program, "--force", "--kver", facts.kernel.release};
  }
  return {program, "-P"};
}

std::string ProgramOr(const HostFacts& facts, std::string_view name, std::string_view usual) {
  const std::string found = facts.Program(name);
  return found.empty() ? std::string(usual) : found;
}

std::vector<std::string> GpuNodesCommand(size_t gpus, std::string program) {
  // 255 is /dev/nvidiactl.
  std::vector<std::string> argv = {std::move(program), "-c", "255"};
  for (size_t minor = 0; minor < std::clamp<size_t>(gpus, 1, kMostNodes); ++minor) {
    argv.insert(argv.end(), {"-c", fmt::format("{}", minor)});
  }
  argv.emplace_back("-m");
  return argv;
}

std::vector<std::string> UvmNodesCommand(std::string program) {
  return {std::move(program), "-u", "-c", "0"};
}

std::string PersistenceUnit(std::string_view program, std::string_view lines,
                            std::string_view after) {
  const std::string order =
      after.empty() ? std::string() : fmt::format("Requires={0}\nAfter={0}\n", after);
  return fmt::format(
      "# Written by kgpu.\n"
      "[Unit]\n"
      "Description=Keep NVIDIA GPUs initialized while idle\n"
      "{}\n"
      "[Service]\n"
      "Type=forking\n"
      "{}ExecStart={}\n"
      "ExecStopPost=/bin/rm -rf /run/nvidia-persistenced\n"
      "\n"
      "[Install]\n"
      "WantedBy=multi-user.target\n",
      order, lines, program);
}

void AddNouveauFile(const Traits& traits, Plan& plan) {
  AddStep(
      plan, "nouveau-off", "keep nouveau from loading", traits.page,
      WriteFile{.path = std::string(host::kRivalsOffFile), .text = std::string(host::kRivalsOff)});
}

void AddBefore(const HostFacts& facts, const Traits& traits, Plan& plan) {
  AddNouveauOff(facts, traits, plan);
}

void AddAfter(const HostFacts& facts, const Traits& traits, Plan& plan) {
  if (traits.is_dkms) {
    AddCommand(
        plan, "build", "build the modules for the kernel", traits.page,
        {ProgramOr(facts, "dkms", "/usr/sbin/dkms"), "autoinstall", "-k", facts.kernel.release});
    LetItBuild(plan);
  }
  if (!traits.is_cleared) {
    AddClearing(facts, traits, plan);
  }
  AddLoading(facts, plan);
  AddDaemons(facts, traits, plan);
  if (NeedsUnload(facts, plan) && facts.has_systemd && !facts.users.empty()) {
    AddStep(plan, "start-users", "start the stopped services", pages::kGuide,
            StartUnits{facts.users});
  }
  AddStep(plan, "verify", "verify that the driver is complete", pages::kPostInstall,
          Verify{.version = plan.version, .kernel = facts.kernel.release});
}

}  // namespace kgpu::driver
