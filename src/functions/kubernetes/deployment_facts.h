// A Deployment of a function, as its object says. Pure functions.
#pragma once

#include <boost/json/fwd.hpp>

#include <cstdint>
#include <string>

#include "src/functions/spec/function.h"
#include "src/platform/base/status.h"

namespace kgpu::functions {

struct DeploymentFacts {
  std::string uid{};
  int64_t generation = 0;
  Function function{};
  std::string function_text{};  // of the annotation
  std::string template_hash{};
  std::string deployed{};  // RFC 3339
  std::string replaced{};  // the same, of the last `replace`; may be empty
  int64_t replicas = 0;    // that it asks for
  // Why no pod could be created, such as a quota, for people; may be empty.
  std::string problem{};
  bool is_ending = false;
};

// `deployment` as TrimDeployment leaves it. Errors: as FunctionOf.
StatusOr<DeploymentFacts> DeploymentFactsOf(const boost::json::value& deployment);

// Removes what DeploymentFactsOf does not read.
void TrimDeployment(boost::json::value& deployment);

}  // namespace kgpu::functions
