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

// A program of the host, below its root, with nobody to answer its questions.
sys::RunRequest QuestionOf(std::vector<std::string> argv, const sys::Root& host);
// What a command says of its failure; empty: it went well.
std::string Try(std::vector<std::string> argv, const sys::Root& host, sys::ProgramRunner& runner,
                std::vector<Finding>& findings);

// What is taken off must be to be had again, as it is: "name=version" for apt and zypper,
// "name-version" for dnf.
std::vector<std::string> KeptPackages(const HostFacts& facts, const Plan& plan, char between);
// Those can not be had any more, as `reason` tells.
void NoteNotKept(const std::string& reason, std::vector<Finding>& findings);
// Asks by `argv`, which fetches nothing.
void CheckKept(std::vector<std::string> argv, const std::vector<std::string>& specs,
               const sys::Root& host, sys::ProgramRunner& runner, std::vector<Finding>& findings);
// Finds why `what` can not be installed; an empty reason: it can.
void NoteUnresolved(const std::string& what, std::string reason, std::vector<Finding>& findings);

// Whether apt could install `names`, and fetch what the plan keeps.
void CheckApt(const HostFacts& facts, const Plan& plan, const std::vector<std::string>& names,
              const sys::Root& host, sys::ProgramRunner& runner, std::vector<Finding>& findings);

}  // namespace kgpu::driver
