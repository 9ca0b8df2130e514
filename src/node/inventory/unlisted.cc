#include "src/node/inventory/unlisted.h"

#include <algorithm>
#include <utility>

namespace kgpu::inventory {

using device::Gpu;

// On the bus is a GPU for the driver that was not there when the probe started, and the driver does
// not list it. Later, what the first read left out is known: another card may have come to the
// place of one that was listed.
bool Unlisted::HasNewGpu(const HostView& view, const std::vector<Gpu>& known, bool is_first_read) {
  HostView others = view;
  std::erase_if(others.pci, [&](const host::PciDevice& pci) {
    return pci.kernel_driver != "nvidia" ||
           std::ranges::find(known, pci.id, &Gpu::pci) != known.end();
  });
  std::set<std::string> left_out = Fingerprints(others, host_);
  const bool has_new = !std::ranges::includes(at_start_, left_out);
  if (is_first_read) {
    at_start_ = std::move(left_out);
  }
  return has_new;
}

bool Unlisted::MayListMore(const HostView& view, const std::vector<Gpu>& known,
                           const std::set<device::GpuUuid>& listed, bool is_first_read) {
  if (HasNewGpu(view, known, is_first_read)) {
    return true;
  }
  // Where the bus has a GPU that the driver no longer lists, there may be another card by now that
  // looks like the previous one.
  return !is_first_read && is_change_seen_ &&
         std::ranges::any_of(known, [&](const Gpu& gpu) { return !listed.contains(gpu.uuid); });
}

}  // namespace kgpu::inventory
