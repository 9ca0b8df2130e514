// Questions to the host's package manager that change nothing, and what its answers come to:
// findings of preflight_packages.cc and preflight_apt.cc.
#pragma once

#include <string>
#include <vector>

#include "src/platform/sys/root.h"
#include "src/platform/sys/run.h"
#include "src/setup/driver/host_facts.h"
#include "src/setup/driver/plan.h"
#include "src/setup/driver/preflight.h"

namespace kgpu::driver {

// What is asked, and what was found. Lives for one call of CheckPackages.
struct Asking {
  const HostFacts& facts;
  const Plan& plan;
  const sys::Root& host;
  sys::ProgramRunner& runner;
  std::vector<std::string> names{};  // of the packages to be installed that can be asked for
  Findings findings{};
};

// Runs a program of the host, with nobody to answer its questions.
StatusOr<sys::RunResult> Ask(const Asking& asking, std::vector<std::string> argv);
// What a command says of its failure; empty: it succeeded, and `printed` (unless null) has what it
// printed.
std::string Try(const std::vector<std::string>& argv, Asking& asking,
                std::string* printed = nullptr);

// What is taken off must be to be had again, as it is: "name=version" for apt and zypper,
// "name-version" for dnf.
std::vector<std::string> KeptPackages(const HostFacts& facts, const Plan& plan, char between);
// Those cannot be had any more, as `reason` tells.
void NoteNotKept(const std::string& reason, Asking& asking);
// Asks by `argv`, which fetches nothing.
void CheckKept(const std::vector<std::string>& argv, Asking& asking);
// Finds why the packages cannot be installed; an empty reason: they can.
void NoteUnresolved(const std::string& reason, Asking& asking);
// Asks by `argv`, which installs nothing. Gives what it printed; empty: nothing was to be asked, or
// they cannot be installed.
std::string CheckInstall(const std::vector<std::string>& argv, Asking& asking);

// By apt, with lists and preferences of its own.
void CheckApt(Asking& asking);

}  // namespace kgpu::driver
