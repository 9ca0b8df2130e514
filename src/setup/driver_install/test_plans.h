// Plans for tests, one of them with every kind of action.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "src/setup/driver/plan.h"

namespace kgpu::driver_install {

inline driver::Step StepOf(std::string id, driver::Action action) {
  return {.id = std::move(id),
          .title = "a step",
          .source = "https://a.example/page",
          .action = std::move(action)};
}

inline driver::RunCommand CommandOf(std::vector<std::string> argv, std::vector<std::string> undo) {
  driver::RunCommand run;
  run.command.argv = std::move(argv);
  run.undo.argv = std::move(undo);
  return run;
}

inline driver::Plan PlanOf(std::vector<driver::Action> actions) {
  driver::Plan plan;
  plan.version = "535";
  for (size_t i = 0; i < actions.size(); ++i) {
    plan.steps.push_back(StepOf(fmt::format("s{}", i), std::move(actions[i])));
  }
  return plan;
}

inline driver::Action FailingCommand() {
  return CommandOf({"/usr/bin/fails"}, {});
}

// Replaces /etc/modprobe.d/old.conf, creates a folder for a new file, removes a file and a link.
inline driver::Plan PlanOfAllActions() {
  driver::Plan plan;
  plan.version = "535";
  plan.kind = driver::ModuleKind::kProprietary;
  plan.kernel = "6.1.0-56-amd64";
  plan.why = {"it fits"};
  plan.notes = {"a note with \"quotes\""};
  plan.steps = {
      StepOf("initramfs-back", CommandOf({}, {"/usr/sbin/update-initramfs", "-u"})),
      StepOf("replaced", driver::WriteFile{"/etc/modprobe.d/old.conf", "ours\n", 0600}),
      StepOf("new", driver::WriteFile{"/etc/new/deep/file.conf", "new\n", 0644}),
      StepOf("file-off", driver::RemoveFile{"/etc/removed.conf"}),
      StepOf("link-off", driver::RemoveFile{"/etc/link.conf"}),
      StepOf("lists", CommandOf({"/usr/bin/apt-get", "update"}, {})),
      StepOf("stop", driver::StopUnits{{"display-manager.service", "idle.service"}}),
      StepOf("unload", driver::UnloadModules{{"nouveau", "absent"}}),
      StepOf("other-version", driver::RemovePackages{.names = {"absent", "old-driver"}}),
      StepOf("packages", driver::InstallPackages{{"nvidia-driver", "kept=2"}}),
      StepOf("switch", CommandOf({"/usr/bin/switch", "on"}, {"/usr/bin/switch", "off"})),
      StepOf("key", driver::AskPerson{"enrol the key"}),
      StepOf("reboot", driver::Reboot{"nouveau has the GPUs"}),
      StepOf("load", driver::LoadModules{{"nvidia", "nvidia-uvm"}}),
      StepOf("persistence",
             driver::StartUnits{.units = {"nvidia-persistenced.service"}, .at_boot = true}),
      StepOf("start", driver::StartUnits{.units = {"display-manager.service", "idle.service"}}),
      StepOf("verify", driver::Verify{.version = "535", .kernel = "6.1.0-56-amd64"}),
  };
  return plan;
}

// Replaces a running driver, from packages, by another version.
inline driver::Plan UpgradePlan() {
  const driver::StopUnits users{{"nvidia-persistenced.service", "idle.service"}};
  driver::Plan plan;
  plan.version = "535";
  plan.steps = {
      StepOf("other-version", driver::RemovePackages{.names = {"old-driver"}}),
      StepOf("packages", driver::InstallPackages{{"nvidia-driver"}}),
      StepOf("stop-users", users),
      StepOf("unload", driver::UnloadModules{{"nvidia"}}),
      StepOf("load", driver::LoadModules{{"nvidia"}}),
      StepOf("persistence",
             driver::StartUnits{.units = {"nvidia-persistenced.service"}, .at_boot = true}),
      StepOf("start-users", driver::StartUnits{.units = users.units}),
      StepOf("verify", driver::Verify{.version = "535", .kernel = "6.1.0-56-amd64"}),
  };
  return plan;
}

}  // namespace kgpu::driver_install
