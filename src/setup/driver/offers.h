// What each package source offers for a host.
#pragma once

#include <vector>

#include "src/setup/driver/branches.h"
#include "src/setup/driver/host_facts.h"
#include "src/setup/driver/plan.h"

namespace kgpu::driver {

struct Offer {
  unsigned branch = 0;
  bool has_open = false;
  bool has_closed = false;
  // Its modules come prebuilt and signed with a key that firmware trusts.
  bool is_signed = false;
};

// Empty: this source has nothing for this host. Files and their content are no offers.
std::vector<Offer> OffersOf(const HostFacts& facts, SourceKind source);

// Whether Ubuntu's archive has modules built and signed for the kernel: as apt knows the packages
// of this host's sources, else by the numbers and the flavour of Ubuntu's own kernels.
bool HasUbuntuModules(const HostFacts& facts);

}  // namespace kgpu::driver
