// The devices that the scheduler has given to a claim: read from a ResourceClaim, those of this
// driver.
#pragma once

#include <boost/json/fwd.hpp>

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "src/node/dra/parameters.h"
#include "src/platform/base/bytes.h"
#include "src/platform/base/status.h"

namespace kgpu::dra {

struct AllocatedDevice {
  std::string request{};   // without an alternative's name: "r" of "r/a"
  std::string pool{};      // of the slices
  std::string device{};    // "gpu-0"
  std::string share_id{};  // of a device that several claims share; else empty
  // Beside the claims that have the device: it must not be changed for this one.
  bool is_admin = false;
  std::map<std::string, std::string> consumed{};  // of a shared device's capacities: quantities
  Parameters parameters{};
};

struct Allocation {
  std::string space{};
  std::string name{};
  std::string uid{};
  std::vector<AllocatedDevice> devices{};  // of this driver, in the scheduler's order
};

// Errors: NotFound (the claim is another one by now, or is not allocated any more: nothing must be
// prepared for it), InvalidArgument (its parameters).
StatusOr<Allocation> ReadAllocation(const boost::json::value& claim, std::string_view uid);

}  // namespace kgpu::dra
