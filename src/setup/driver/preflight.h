// What is looked at before anything of a host is touched: whether the plan can be carried out.
#pragma once

#include <string>
#include <vector>

#include "src/platform/report/finding.h"
#include "src/platform/sys/root.h"
#include "src/platform/sys/run.h"
#include "src/setup/driver/host_facts.h"
#include "src/setup/driver/plan.h"

namespace kgpu::driver {

// "space", "packages", …: what is an error keeps the plan from being carried out.
using Findings = std::vector<report::Finding>;

// Of the facts alone: space, another driver in the way, what uses the GPUs, held packages. Pure.
// `gives_up`: another driver may give way though it could not come back.
Findings CheckFacts(const HostFacts& facts, const Plan& plan, bool gives_up = false);

// Asks the host's package manager, without changing what it knows, whether the packages could be
// had, and those that are taken off could be had again; apt reads the lists of sources that the
// plan is yet to add, too. What a step adds a repository or chooses a stream for cannot be asked
// for: the distribution's own packages (headers, compilers) are, and a finding that is no error
// says what is left.
Findings CheckPackages(const HostFacts& facts, const Plan& plan, const sys::Root& host,
                       sys::ProgramRunner& runner);

// What apt, dnf or zypper says of why packages cannot be installed, in one line. Pure.
std::string ReasonOf(std::string_view output);

}  // namespace kgpu::driver
