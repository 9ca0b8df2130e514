// Checks, before anything on a host is changed, whether the plan can be carried out.
#pragma once

#include <string>
#include <vector>

#include "src/platform/report/finding.h"
#include "src/platform/sys/root.h"
#include "src/platform/sys/run.h"
#include "src/setup/driver/host_facts.h"
#include "src/setup/driver/plan.h"

namespace kgpu::driver {

// "space", "packages", …: errors prevent the plan from being carried out.
using Findings = std::vector<report::Finding>;

// Uses the facts only: space, another driver in the way, users of the GPUs, held packages. Pure.
// `gives_up`: another driver may be removed even if it could not come back.
Findings CheckFacts(const HostFacts& facts, const Plan& plan, bool gives_up = false);

// Asks the host's package manager, without changing its state, whether the packages are available,
// and whether those to be removed could be reinstalled; for apt, including sources that the plan
// has yet to add. Packages from a repository or stream that a step adds cannot be checked, only
// the distribution's own (headers, compilers); a finding that is no error says what remains
// unchecked.
Findings CheckPackages(const HostFacts& facts, const Plan& plan, const sys::Root& host,
                       sys::ProgramRunner& runner);

// Why packages cannot be installed, from the output of apt, dnf or zypper, on one line. Pure.
std::string ReasonOf(std::string_view output);

}  // namespace kgpu::driver
