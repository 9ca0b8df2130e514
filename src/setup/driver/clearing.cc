// Making the GPUs free for another driver, and giving back what was taken from them.
#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "src/setup/driver/common_steps.h"
#include "src/setup/driver/pages.h"

namespace kgpu::driver {
namespace {

std::vector<std::string> LoadedModules(const HostFacts& facts) {
  constexpr std::array<const char*, 7> kUsersFirst = {
      "nvidia_drm", "nvidia_modeset", "nvidia_uvm", "nvidia_peermem",
      "nvidia_fs",  "gdrdrv",         "nvidia"};
  std::vector<std::string> names;
  for (const char* name : kUsersFirst) {
    if (facts.host.kernel.loaded.contains(name)) {
      names.emplace_back(name);
    }
  }
  return names;
}

std::string KeyOf(const Traits& traits) {
  return traits.mok_key.empty() ? "/var/lib/dkms/mok.pub" : traits.mok_key;
}

void AddEnrolment(const HostFacts& facts, const Traits& traits, Plan& plan) {
  if (!NeedsEnrolment(facts, traits)) {
    return;
  }
  const std::string key = KeyOf(traits);
  AddStep(
      plan, "enrol-key", "enroll the key that signs the module", pages::kSecureBoot,
      AskPerson{
          .text = fmt::format(
              "Secure Boot is enabled, so the kernel loads only modules signed with a key that the "
              "firmware trusts. Run `mokutil --import {}`, set a one-time password, restart the "
              "host, choose \"Enroll MOK\" on the blue screen (MokManager) and enter the password.",
              key),
          .key = key});
}

void AddUnloading(const HostFacts& facts, Plan& plan) {
  if (!NeedsUnload(facts, plan)) {
    return;
  }
  if (facts.has_systemd && !facts.users.empty()) {
    AddStep(plan, "stop-users", "stop the services that use the GPUs", pages::kGuide,
            StopUnits{facts.users});
  }
  AddStep(plan, "unload", "unload the modules of the other version", pages::kGuide,
          UnloadModules{LoadedModules(facts)});
}

}  // namespace

bool IsRivalLoaded(const HostFacts& facts) {
  return !facts.host.RivalInTheWay().empty();
}

bool NeedsUnload(const HostFacts& facts, const Plan& plan) {
  const host::DriverFacts& driver = facts.host.driver;
  // Libraries that are newer than the loaded module: an upgrade that was not finished.
  const bool agrees =
      driver.library_versions.empty() || driver.library_versions.back() == driver.module_version;
  const bool is_same = agrees && IsVersion(driver.module_version, plan.version) &&
                       driver.is_open_module == (plan.kind == ModuleKind::kOpen);
  return facts.kernel.is_running && driver.is_nvidia_loaded && !is_same;
}

bool NeedsEnrolment(const HostFacts& facts, const Traits& traits) {
  const host::KernelFacts& kernel = facts.host.kernel;
  const bool is_enrolled = kernel.is_key_enrolled.value_or(false) &&
                           (traits.mok_key.empty() || traits.mok_key == kernel.key_file);
  return facts.kernel.is_running && !traits.is_signed && kernel.secure_boot.value_or(false) &&
         !is_enrolled;
}

void AddClearing(const HostFacts& facts, const Traits& traits, Plan& plan) {
  if (std::vector<std::string> command = InitramfsCommand(facts); !command.empty()) {
    AddCommand(plan, "initramfs", "rebuild the initial RAM disk without nouveau", traits.page,
               std::move(command));
    LetItBuild(plan);
  }
  if (!traits.asks_first) {
    AddEnrolment(facts, traits, plan);
  }
  if (!facts.kernel.is_running) {
    return;
  }
  if (IsRivalLoaded(facts) && !NeedsEnrolment(facts, traits)) {  // which restarts the host anyway
    AddStep(plan, "reboot", "reboot the host without nouveau", traits.page,
            Reboot{"nouveau uses the GPUs and cannot be unloaded while it draws the console"});
  }
  AddUnloading(facts, plan);
}

void AskForKeyFirst(Planning& planning) {
  const std::vector<Step>& steps = planning.plan.steps;
  const bool is_brought = std::ranges::find(steps, "signing-key", &Step::id) != steps.end();
  const bool is_known = is_brought || planning.facts.host.kernel.key_file == KeyOf(planning.traits);
  // Where nouveau has the GPUs the restart after it is to come late, when nouveau is kept out.
  if (is_known && !IsRivalLoaded(planning.facts) && !planning.traits.asks_first) {
    AddEnrolment(planning.facts, planning.traits, planning.plan);
    planning.traits.asks_first = true;
  }
}

}  // namespace kgpu::driver
