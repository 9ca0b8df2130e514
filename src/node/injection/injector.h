// Keeps what containers get in step with the inventory: the plan, and the CDI specs and injection
// index made from it.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "src/container/cdi/publisher.h"
#include "src/container/inject/capability.h"
#include "src/container/inject/plan.h"
#include "src/gpu/device/snapshot.h"
#include "src/host/inspect/driver_root.h"
#include "src/platform/base/clock.h"
#include "src/platform/base/status.h"
#include "src/platform/sys/root.h"

namespace kgpu::injection {

struct Injection {
  // Null if the parts of the driver were not found.
  std::shared_ptr<const inject::InjectionPlan> plan;
  Status plan_status;  // why there is no plan
  Status cdi;          // whether the specs are in their folder
  std::string cdi_kind;
};

// Reads files and writes three; takes a few milliseconds on the loop's thread.
class Injector {
 public:
  // `root` and `clock` must outlive the injector. Errors: NotFound (no engine root).
  static StatusOr<std::unique_ptr<Injector>> Create(const host::DriverRoot& root,
                                                    const Clock& clock, std::string cdi_folder);

  // Finds, plans and publishes for `snapshot`. Logs new notes.
  Injection Update(const device::Snapshot& snapshot, inject::CapabilitySet capabilities);
  const std::string& cdi_folder() const { return cdi_folder_; }

 private:
  Injector(const host::DriverRoot& root, const Clock& clock, sys::Root engine,
           std::string cdi_folder);
  // Adds its own problems to the notes that are logged.
  Status Publish(const std::vector<cdi::Spec>& specs, std::vector<std::string> notes);
  // Returns a note if the index could not be written: kubelets and CDI engines do not need it.
  std::vector<std::string> WriteIndex(const inject::InjectionIndex& index) const;
  void LogChanges(const std::vector<std::string>& notes);

  const host::DriverRoot& root_;
  sys::Root engine_;
  std::string cdi_folder_;
  cdi::Publisher publisher_;
  std::vector<std::string> notes_;  // as logged last
};

// Whether a container would get the same from both: compares everything except health and versions.
bool InjectsAlike(const device::Snapshot& a, const device::Snapshot& b);

}  // namespace kgpu::injection
