#include "src/host/facts/facts.h"

#include <utility>

#include "src/host/facts/sight.h"
#include "src/host/inspect/rivals.h"

namespace kgpu::host {

std::string Facts::RivalInTheWay() const {
  std::vector<PciDevice> ours;
  for (const GpuFacts& gpu : pci.gpus) {
    if (!gpu.is_for_guests) {
      ours.push_back(gpu.pci);
    }
  }
  return host::RivalInTheWay(driver.rival, driver.is_nvidia_live, ours);
}

Facts GatherFacts(const DriverRoot& root, sys::ProgramRunner& runner) {
  Facts facts;
  Sight sight(root.host, facts.unreadable);
  facts.pci = ReadPciFacts(sight);
  facts.kernel = ReadKernelFacts(sight, runner);
  MarkGuestGpus(facts.pci, facts.kernel.guest_ids);
  facts.driver = ReadDriverFacts(root);
  facts.has_runfile = root.driver.Exists("usr/bin/nvidia-uninstall");
  facts.displays = FindDisplays(root.host);
  for (const std::string& problem : facts.driver.problems) {
    sight.Say(problem);
  }
  std::ranges::sort(facts.unreadable);
  return facts;
}

std::optional<DriverRoot> FindOtherRoot(const DriverRoot& root) {
  if (root.driver.path() != root.host.path() || !ReadDriverFacts(root).library_versions.empty()) {
    return std::nullopt;
  }
  for (const char* folder : {"/run/nvidia/driver", "/home/kubernetes/bin/nvidia"}) {
    StatusOr<DriverRoot> other = OpenDriverRoot(root.host.path(), folder, "");
    if (other.ok() && !ReadDriverFacts(*other).library_versions.empty()) {
      return *std::move(other);
    }
  }
  return std::nullopt;
}

}  // namespace kgpu::host
