// What is known of a host's GPUs, of its kernels and of the driver on it: gathered once, for
// whoever says what is wrong with it and whoever changes it.
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

// What kgpu keeps of a driver that it installed.
inline constexpr std::string_view kDriverJournal = "/var/lib/kgpu/driver.json";

struct Facts {
  PciFacts pci;
  KernelFacts kernel;
  DriverFacts driver;
  bool has_runfile = false;             // NVIDIA's own installer was here
  std::vector<Daemon> displays;         // processes that draw
  std::vector<std::string> unreadable;  // what could not be looked at, a sentence each

  // There are GPUs that this host's own driver shall have.
  bool has_gpus() const {
    return std::ranges::any_of(pci.gpus, [](const GpuFacts& gpu) { return !gpu.is_for_guests; });
  }
  // NVIDIA's driver is installed here, in whichever state.
  bool has_driver() const {
    return driver.is_nvidia_loaded || !driver.library_versions.empty() ||
           !kernel.nvidia_file.empty() || kernel.dkms.has_value();
  }
};

// Never fails: what cannot be seen is in `unreadable`.
Facts GatherFacts(const DriverRoot& root, sys::ProgramRunner& runner);

// Where the driver's files lie when they are not among the host's: in the container of an operator,
// or where GKE's installer puts them. Nothing where they are, or somebody has named a place.
std::optional<DriverRoot> FindOtherRoot(const DriverRoot& root);

}  // namespace kgpu::host
