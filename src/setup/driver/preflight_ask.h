// Queries to the host's package manager that change nothing, and their evaluation: the findings of
// preflight_packages.cc and preflight_apt.cc.
#pragma once

#include <string>
#include <vector>

#include "src/platform/sys/root.h"
#include "src/platform/sys/run.h"
#include "src/setup/driver/host_facts.h"
#include "src/setup/driver/plan.h"
#include "src/setup/driver/preflight.h"

namespace kgpu::driver {

// The queries and their findings. Lives for one call of CheckPackages.
struct Asking {
  const HostFacts& facts;
  const Plan& plan;
  const sys::Root& host;
  sys::ProgramRunner& runner;
  std::vector<std::string> names{};  // of the packages to install that can be checked
  Findings findings{};
};

// Runs a program of the host, with nobody to answer its questions.
StatusOr<sys::RunResult> Ask(const Asking& asking, std::vector<std::string> argv);
// A command's error output; empty: it succeeded, and `printed` (unless null) has its
// output.
std::string Try(const std::vector<std::string>& argv, Asking& asking,
                std::string* printed = nullptr);

// Packages to be removed that must be available again in their version: "name=version" for apt and
// zypper, "name-version" for dnf.
std::vector<std::string> KeptPackages(const HostFacts& facts, const Plan& plan, char between);
// Records that they are no longer available, with `reason`.
void NoteNotKept(const std::string& reason, Asking& asking);
// Checks them with `argv`, which downloads nothing.
void CheckKept(const std::vector<std::string>& argv, Asking& asking);
// Finds out why the packages cannot be installed; an empty reason: they can be.
void NoteUnresolved(const std::string& reason, Asking& asking);
// Checks with `argv`, which installs nothing. Returns its output; empty: there was nothing to
// check, or they cannot be installed.
std::string CheckInstall(const std::vector<std::string>& argv, Asking& asking);

// Uses apt, with separate lists and preferences.
void CheckApt(Asking& asking);

}  // namespace kgpu::driver
