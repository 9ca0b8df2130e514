// Requests of a ResourceClaim, and devices that other claims hold. Pure functions.
#pragma once

#include <boost/json/fwd.hpp>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "src/diagnose/claim/pools.h"
#include "src/diagnose/explain/facts.h"
#include "src/kube/cel/cel.h"
#include "src/platform/base/amount.h"
#include "src/platform/base/status.h"

namespace kgpu::claim {

// A selector of a class or a request.
struct Selector {
  std::string owner{};  // "class gpu.nvidia.com", "request gpu"
  cel::Program program;
};

// One request, or an alternative of a request with firstAvailable.
struct Request {
  std::string name{};  // "gpu", "gpu/large"
  std::string device_class{};
  std::vector<Selector> class_selectors{};
  std::vector<Selector> selectors{};
  int64_t count = 1;
  bool wants_all = false;
  bool is_admin = false;  // only observes: may get a device that others have
  std::vector<explain::Toleration> tolerations{};
  Amounts capacity{};

  // "2 of gpu.nvidia.com".
  std::string Title() const;
};

struct Constraint {
  std::vector<std::string> requests{};  // empty: all
  std::string attribute{};              // full name
  bool is_distinct = false;             // all values must differ; else, be equal
};

struct ClaimSpec {
  std::vector<std::vector<Request>> requests{};  // the alternatives of each, best first
  std::vector<Constraint> constraints{};
};

// Selectors of classes by name.
using Classes = std::map<std::string, const boost::json::value*, std::less<>>;

// Errors: NotFound (a class), InvalidArgument (a selector is no CEL), Unimplemented (kgpu cannot
// evaluate it, or does not know the kind of request), naming it.
StatusOr<ClaimSpec> ReadClaimSpec(const boost::json::value& claim, const Classes& classes);

// A device as a claim has it.
struct Holding {
  std::string claim{};  // "team-a/one"
  bool is_share = false;
  Amounts consumed{};  // by the name in the result
};
using Holdings = std::map<DeviceKey, std::vector<Holding>>;

// Without administrators, who only observe.
Holdings HoldingsOf(const std::vector<const boost::json::value*>& claims);

}  // namespace kgpu::claim
