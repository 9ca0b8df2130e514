// The steps that every distribution's plan has before and after its packages.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "src/driver/host_facts.h"
#include "src/driver/plan.h"

namespace kgpu::driver {

void AddStep(Plan& plan, std::string_view id, std::string_view title, std::string_view source,
             Deed deed);
void AddCommand(Plan& plan, std::string_view id, std::string_view title, std::string_view source,
                std::vector<std::string> argv, std::vector<std::string> undo = {});

// What a distribution's planner knows of its packages.
struct Traits {
  std::string_view page;            // of its installation
  bool is_dkms = true;              // the module is built here, not brought built and signed
  std::string_view mok_key;         // the certificate that DKMS signs with
  std::string_view fabric_manager;  // package; empty: comes with others, or there is none
};

// nouveau off, units that hold the GPUs stopped, a module of another version unloaded.
void AddBefore(const HostFacts& facts, const Traits& traits, Plan& plan);
// The module built and signed for the kernel, the initial RAM disk, a reboot where one is needed,
// modules loaded, nodes, daemons, verification.
void AddAfter(const HostFacts& facts, const Traits& traits, Plan& plan);

// Planners of the families, one file each. They append their steps between AddBefore and AddAfter.
Status AddDebianSteps(const HostFacts& facts, Plan& plan, Traits& traits);

}  // namespace kgpu::driver
