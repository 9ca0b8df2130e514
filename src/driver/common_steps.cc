#include "src/driver/common_steps.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "src/driver/pages.h"

namespace kgpu::driver {
namespace {

constexpr std::string_view kNouveauFile = "/etc/modprobe.d/kgpu-nouveau.conf";
constexpr std::string_view kNouveauText =
    "# Written by kgpu: nouveau and NVIDIA's driver can not both have a GPU.\n"
    "blacklist nouveau\n"
    "options nouveau modeset=0\n";
constexpr std::string_view kNouveauArguments = "rd.driver.blacklist=nouveau";

// The command that builds the initial RAM disk of the plan's kernel again; empty: there is none.
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

void AddNouveauOff(const HostFacts& facts, const Traits& traits, Plan& plan) {
  if (std::vector<std::string> command = InitramfsCommand(facts); !command.empty()) {
    // On the way back this is the last step: by then what nouveau was kept off with is gone.
    AddCommand(plan, "initramfs-back", "build the initial RAM disk again when all is taken back",
               traits.page, {}, std::move(command));
  }
  AddStep(plan, "nouveau-off", "keep nouveau from being loaded", traits.page,
          WriteFile{.path = std::string(kNouveauFile), .text = std::string(kNouveauText)});
  if (facts.bootloader == "grubby" && facts.doctor.driver.is_nouveau_loaded) {
    const std::string grubby = facts.Program("grubby");
    AddCommand(plan, "nouveau-off-at-boot", "keep the initial RAM disk from loading nouveau",
               traits.page,
               {grubby, "--update-kernel=ALL", fmt::format("--args={}", kNouveauArguments)},
               {grubby, "--update-kernel=ALL", fmt::format("--remove-args={}", kNouveauArguments)});
  }
}

// HGX boards with NVLink 5: the B200's and the B300's ids. Source: as GenerationOf.
bool IsHgxBlackwell(uint16_t device_id) {
  return (device_id >= 0x2900 && device_id <= 0x293f) ||
         (device_id >= 0x3180 && device_id <= 0x31bf);
}

bool NeedsUnload(const HostFacts& facts, const Plan& plan) {
  return facts.kernel.is_running && facts.doctor.driver.is_nvidia_loaded &&
         !IsVersion(facts.doctor.driver.module_version, plan.version);
}

bool NeedsReboot(const HostFacts& facts) {
  return facts.kernel.is_running && facts.doctor.driver.is_nouveau_loaded;
}

bool NeedsEnrolment(const HostFacts& facts, const Traits& traits) {
  const doctor::KernelFacts& kernel = facts.doctor.kernel;
  return facts.kernel.is_running && !traits.is_signed && kernel.secure_boot.value_or(false) &&
         !kernel.is_key_enrolled.value_or(false);
}

std::vector<std::string> LoadedModules(const HostFacts& facts) {
  std::vector<std::string> names;
  for (const char* name : {"nvidia_drm", "nvidia_modeset", "nvidia_uvm", "nvidia_peermem",
                           "nvidia_fs", "gdrdrv", "nvidia"}) {
    if (facts.doctor.kernel.loaded.contains(name)) {
      names.emplace_back(name);
    }
  }
  return names;
}

void AddSigning(const HostFacts& facts, const Traits& traits, Plan& plan) {
  if (!NeedsEnrolment(facts, traits)) {
    return;
  }
  const std::string key(traits.mok_key.empty() ? "/var/lib/dkms/mok.pub" : traits.mok_key);
  AddStep(plan, "enrol-key", "let the firmware trust the key the module is signed with",
          pages::kSecureBoot,
          AskPerson{fmt::format(
              "Secure Boot is on: only a module signed with a key that the firmware trusts is "
              "loaded. Run `mokutil --import {}`, give it a password for one use, restart the "
              "host, and at the blue screen (MokManager) choose \"Enroll MOK\" and give the "
              "password again.",
              key)});
}

void AddLoading(const HostFacts& facts, const Traits& traits, Plan& plan) {
  if (!facts.kernel.is_running) {
    plan.notes.push_back(
        fmt::format("kernel {} does not run here now: the modules are loaded when it starts",
                    facts.kernel.release));
    return;
  }
  if (NeedsReboot(facts) && !NeedsEnrolment(facts, traits)) {  // which restarts the host anyway
    AddStep(plan, "reboot", "start the host without nouveau", traits.page,
            Reboot{"nouveau has the GPUs and does not let go of them while it draws the console"});
  }
  // nvidia-drm is for displays, and what a display holds can not be unloaded by an upgrade.
  AddStep(plan, "load", "load the modules", pages::kPostInstall,
          LoadModules{{"nvidia", "nvidia-uvm", "nvidia-modeset"}});
  AddCommand(plan, "device-nodes", "make the device nodes", pages::kPostInstall,
             {ProgramOr(facts, "nvidia-modprobe", "/usr/bin/nvidia-modprobe"), "-c", "0", "-u"});
}

void AddDaemons(const HostFacts& facts, const Traits& traits, Plan& plan) {
  if (!facts.has_systemd || !facts.kernel.is_running) {
    return;
  }
  AddStep(plan, "persistence", "keep the GPUs initialised while nothing uses them",
          pages::kPersistence,
          StartUnits{.units = {"nvidia-persistenced.service"}, .at_boot = true});
  if (traits.has_fabric_manager) {
    AddStep(plan, "fabric-manager", "join the GPUs by their NVSwitches", pages::kFabricManager,
            StartUnits{.units = {"nvidia-fabricmanager.service"}, .at_boot = true});
  }
}

}  // namespace

void AddStep(Plan& plan, std::string_view id, std::string_view title, std::string_view source,
             Deed deed) {
  plan.steps.push_back({.id = std::string(id),
                        .title = std::string(title),
                        .source = std::string(source),
                        .deed = std::move(deed)});
}

void AddCommand(Plan& plan, std::string_view id, std::string_view title, std::string_view source,
                std::vector<std::string> argv, std::vector<std::string> undo) {
  RunCommand run;
  run.command.argv = std::move(argv);
  run.undo.argv = std::move(undo);
  AddStep(plan, id, title, source, std::move(run));
}

bool HasNvLink5(const HostFacts& facts) {
  const auto boards = std::ranges::count_if(
      facts.gpus, [](const GpuId& gpu) { return IsHgxBlackwell(gpu.device_id); });
  return boards >= 2;
}

bool HasFabric(const HostFacts& facts) {
  return facts.nvswitches > 0 || HasNvLink5(facts);
}

std::string ProgramOr(const HostFacts& facts, std::string_view name, std::string_view usual) {
  const std::string found = facts.Program(name);
  return found.empty() ? std::string(usual) : found;
}

void AddBefore(const HostFacts& facts, const Traits& traits, Plan& plan) {
  AddNouveauOff(facts, traits, plan);
  if (!NeedsUnload(facts, plan)) {
    return;
  }
  if (facts.has_systemd && !facts.users.empty()) {
    AddStep(plan, "stop-users", "stop what holds the GPUs", pages::kGuide, StopUnits{facts.users});
  }
  AddStep(plan, "unload", "unload the modules of the other version", pages::kGuide,
          UnloadModules{LoadedModules(facts)});
}

void AddAfter(const HostFacts& facts, const Traits& traits, Plan& plan) {
  if (traits.is_dkms) {
    AddCommand(
        plan, "build", "build the modules for the kernel", traits.page,
        {ProgramOr(facts, "dkms", "/usr/sbin/dkms"), "autoinstall", "-k", facts.kernel.release});
  }
  if (std::vector<std::string> command = InitramfsCommand(facts); !command.empty()) {
    AddCommand(plan, "initramfs", "build the initial RAM disk again, without nouveau", traits.page,
               std::move(command));
  }
  AddSigning(facts, traits, plan);
  AddLoading(facts, traits, plan);
  AddDaemons(facts, traits, plan);
  if (NeedsUnload(facts, plan) && facts.has_systemd && !facts.users.empty()) {
    AddStep(plan, "start-users", "start what was stopped", pages::kGuide, StartUnits{facts.users});
  }
  AddStep(plan, "verify", "see that the driver is there and its parts agree", pages::kPostInstall,
          Verify{.version = plan.version, .kernel = facts.kernel.release});
}

}  // namespace kgpu::driver
