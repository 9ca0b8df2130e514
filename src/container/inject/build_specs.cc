#include "src/container/inject/build_specs.h"

#include <utility>

#include "src/container/inject/host_parts.h"
#include "src/container/inject/plan.h"
#include "src/platform/base/status_macros.h"

namespace kgpu::inject {

StatusOr<SpecSet> BuildSpecs(const device::Snapshot& snapshot, const host::DriverRoot& root,
                             const SpecOptions& options) {
  SpecSet set;
  HostPlan host;
  if (snapshot.gpus.empty()) {
    set.notes.push_back(snapshot.driver.reason.empty()
                            ? std::string("no GPU found, so no device is written")
                            : fmt::format("no device is written: {}", snapshot.driver.reason));
  } else {
    ASSIGN_OR_RETURN(const HostParts parts, FindHostParts(root, snapshot));
    host = PlanHost(snapshot, parts);
    set.notes = host.notes;
  }
  const InjectionPlan plan = PlanFor(host, options.capabilities);
  for (const std::string& kind : options.kinds) {
    set.specs.push_back(ToSpec(plan, kind));
  }
  set.index = std::move(host.index);
  return set;
}

}  // namespace kgpu::inject
