// The steps that every distribution's plan has before and after its packages, and what a
// distribution's planner is given and gives.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "src/driver/choice.h"
#include "src/driver/host_facts.h"
#include "src/driver/plan.h"

namespace kgpu::driver {

void AddStep(Plan& plan, std::string_view id, std::string_view title, std::string_view source,
             Deed deed);
void AddCommand(Plan& plan, std::string_view id, std::string_view title, std::string_view source,
                std::vector<std::string> argv, std::vector<std::string> undo = {});

// What a distribution's planner says of its packages.
struct Traits {
  std::string_view page;            // of its installation
  bool is_dkms = true;              // the module is built by DKMS, not brought built
  bool is_signed = false;           // with a key that firmware trusts already
  std::string mok_key;              // the certificate it is signed with, else
  bool has_fabric_manager = false;  // its packages are among those installed
};

// Whether this host's GPUs are joined by switches that need a fabric manager: NVSwitches on the PCI
// bus, or the boards from Blackwell on, whose switches are seen as InfiniBand devices.
bool HasFabric(const HostFacts& facts);
// The second kind, which needs a subnet manager too.
bool HasNvLink5(const HostFacts& facts);

// The path of a host's program, or where it usually is when a step before brings it.
std::string ProgramOr(const HostFacts& facts, std::string_view name, std::string_view usual);

// nouveau off, units that hold the GPUs stopped, a module of another version unloaded.
void AddBefore(const HostFacts& facts, const Traits& traits, Plan& plan);
// The module built and signed for the kernel, the initial RAM disk, a reboot where one is needed,
// modules loaded, nodes, daemons, verification.
void AddAfter(const HostFacts& facts, const Traits& traits, Plan& plan);

// Planners, one file each. They append the steps that bring the packages; the rest is AddBefore's
// and AddAfter's. Errors: Unimplemented, FailedPrecondition, with what to do instead.
struct Planning {
  const HostFacts& facts;
  const Choice& choice;
  Plan& plan;
  Traits& traits;
};
// Packages and configuration of a display, after those of any family.
void AddDisplaySteps(Planning& planning);
Status AddDebianSteps(Planning& planning);
Status AddUbuntuSteps(Planning& planning);
Status AddRhelSteps(Planning& planning);
Status AddFedoraSteps(Planning& planning);
Status AddSuseSteps(Planning& planning);
Status AddAmazonSteps(Planning& planning);
Status AddRunFileSteps(Planning& planning);
Status AddLocalRepoSteps(Planning& planning);

}  // namespace kgpu::driver
