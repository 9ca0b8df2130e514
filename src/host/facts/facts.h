// What we know about a host's GPUs, its kernels and its driver: gathered once, for the code that
// diagnoses the host and the code that changes it.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/host/facts/daemons.h"
#include "src/host/facts/kernel_facts.h"
#include "src/host/facts/pci_facts.h"
#include "src/host/inspect/driver_facts.h"
#include "src/host/inspect/driver_root.h"
#include "src/platform/sys/run.h"

namespace kgpu::host {

// What kgpu stores about a driver that it installed.
inline constexpr std::string_view kDriverJournal = "/var/lib/kgpu/driver.json";

struct Facts {
  PciFacts pci;
  KernelFacts kernel;
  DriverFacts driver;
  bool has_runfile = false;             // NVIDIA's own installer was used
  std::vector<Daemon> displays;         // processes that draw
  std::vector<std::string> unreadable;  // what could not be checked, one sentence each

  // Whether there are GPUs that this host's own driver should manage.
  bool has_gpus() const {
    return std::ranges::any_of(pci.gpus, [](const GpuFacts& gpu) { return !gpu.is_for_guests; });
  }
  // See host::RivalInTheWay; of the GPUs that this host's own driver should manage.
  std::string RivalInTheWay() const;
  // Whether NVIDIA's driver is installed here, in whatever state.
  bool has_driver() const {
    return driver.is_nvidia_loaded || !driver.library_versions.empty() ||
           !kernel.nvidia_file.empty() || kernel.dkms.has_value();
  }
};

// Never fails: what cannot be checked is in `unreadable`.
Facts GatherFacts(const DriverRoot& root, sys::ProgramRunner& runner);

// Where the driver's files are if they are not among the host's: in an operator's container, or
// where GKE's installer puts them. Nothing if they are among the host's, or the user named a place.
std::optional<DriverRoot> FindOtherRoot(const DriverRoot& root);

}  // namespace kgpu::host
