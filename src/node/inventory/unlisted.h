// Whether a new probe may list GPUs that the running one does not: libraries may count GPUs at
// nvmlInit only.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "src/gpu/device/gpu.h"
#include "src/node/inventory/assemble.h"
#include "src/platform/sys/root.h"

namespace kgpu::inventory {

// Owned by the inventory, lives on the loop's thread.
class Unlisted {
 public:
  // `host` must outlive it.
  explicit Unlisted(const sys::Root& host) : host_(host) {}

  // A probe is starting.
  void OnStart() { is_change_seen_ = false; }
  // What the bus shows at that time.
  void OnStart(const HostView& view) { at_start_ = Fingerprints(view, host_); }
  // Something on the host has changed.
  void OnChange() { is_change_seen_ = true; }

  // Call after a read: `known` are the GPUs to show, of which those in `listed` were listed. A
  // probe's first read tells which GPUs it leaves out.
  bool MayListMore(const HostView& view, const std::vector<device::Gpu>& known,
                   const std::set<device::GpuUuid>& listed, bool is_first_read);

 private:
  bool HasNewGpu(const HostView& view, const std::vector<device::Gpu>& known, bool is_first_read);

  const sys::Root& host_;
  std::set<std::string> at_start_;  // fingerprints when the probe started; after its first read,
                                    // those of the GPUs that it left out
  bool is_change_seen_ = false;     // since the probe started
};

}  // namespace kgpu::inventory
