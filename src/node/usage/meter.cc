#include "src/node/usage/meter.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "src/gpu/device/mig.h"

namespace kgpu::usage {
namespace {

using PodSet = std::set<PodName>;

PodName NameOf(const pods::Container& container) {
  return {.pod_namespace = container.pod_namespace, .pod = container.pod};
}

double Gibi(Bytes bytes) {
  return static_cast<double>(bytes.count) / static_cast<double>(GibiBytes(1).count);
}

// The slices of a whole GPU in MIG mode; 7 on most.
unsigned SlicesOf(const device::Gpu& gpu) {
  unsigned slices = 0;
  for (const device::MigProfile& profile : device::MigProfiles(gpu.pci_device_id)) {
    slices = std::max(slices, profile.slices);
  }
  constexpr unsigned kUsual = 7;
  return slices == 0 ? kUsual : slices;
}

class Meter {
 public:
  explicit Meter(const MeterInput& input) : input_(input) {
    for (const device::Gpu& gpu : input.snapshot.gpus) {
      for (const device::MigDevice& mig : gpu.mig_devices) {
        parts_[mig.uuid.str()] = static_cast<double>(mig.compute_instance_slices) / SlicesOf(gpu);
      }
    }
    for (const pools::Resource& resource : input.assignment.resources) {
      for (const pools::Slot& slot : resource.slots) {
        ++slots_[slot.device_uuid];
      }
    }
    for (const pods::DeviceUse& use : input.pods.devices) {
      users_[pods::DeviceOf(use.device_id)].insert(NameOf(use.user));
    }
  }

  Rates Measure() && {
    AddHandedOut();
    for (const device::GpuSample& gpu : input_.samples.gpus) {
      AddBusy(gpu);
      AddMemory(gpu);
      for (const device::MigSample& mig : gpu.migs) {
        AddMig(gpu, mig);
      }
    }
    return std::move(rates_);
  }

 private:
  // 1 for a GPU. Nothing for a MIG device that is gone.
  double PartOf(std::string_view device) const {
    const auto part = parts_.find(device);
    return part != parts_.end() ? part->second : (device.starts_with("MIG-") ? 0.0 : 1.0);
  }

  // Into how many parts the device of `use` is handed out: slots, or pods that share a claim.
  double SharersOf(const pods::DeviceUse& use, std::string_view device) const {
    if (use.is_claimed()) {
      return static_cast<double>(users_.at(device).size());
    }
    const auto slots = slots_.find(device);
    return slots == slots_.end() ? 1 : slots->second;
  }

  const PodName* OnlyUserOf(std::string_view device) const {
    const auto users = users_.find(device);
    return users != users_.end() && users->second.size() == 1 ? &*users->second.begin() : nullptr;
  }

  void AddHandedOut() {
    // Two containers of a pod may show the same device.
    std::set<std::pair<std::string_view, PodName>> seen;
    for (const pods::DeviceUse& use : input_.pods.devices) {
      const PodName pod = NameOf(use.user);
      if (!seen.emplace(use.device_id, pod).second) {
        continue;
      }
      const std::string_view device = pods::DeviceOf(use.device_id);
      const double part = PartOf(device) / SharersOf(use, device);
      rates_[pod].gpu_seconds += part;
      rates_[pod].unreported_gpu_seconds += IsBusyReported(device, pod) ? 0 : part;
    }
  }

  // Whether AddBusy or AddMig know how busy `pod` keeps its `device`.
  bool IsBusyReported(std::string_view device, const PodName& pod) const {
    const bool is_alone = OnlyUserOf(device) != nullptr;
    for (const device::GpuSample& gpu : input_.samples.gpus) {
      if (gpu.uuid.str() == device) {
        return is_alone ? UtilizationOf(gpu).has_value() : AreProcessesReported(gpu, pod);
      }
      for (const device::MigSample& mig : gpu.migs) {
        if (mig.uuid.str() == device) {
          return is_alone && mig.profiling.graphics_active;
        }
      }
    }
    return false;
  }

  // Without a process on the GPU a pod is idle, if it is known whose they all are.
  bool AreProcessesReported(const device::GpuSample& gpu, const PodName& pod) const {
    bool has_processes = false;
    for (const device::ProcessSample& process : gpu.processes) {
      const auto owner = input_.pods.processes.find(process.pid);
      if (owner != input_.pods.processes.end() && NameOf(owner->second) == pod) {
        has_processes = true;
        if (!process.sm) {
          return false;
        }
      }
    }
    return has_processes || input_.pods.problem.empty();
  }

  static std::optional<double> UtilizationOf(const device::GpuSample& gpu) {
    return gpu.utilization.duty_cycle ? gpu.utilization.duty_cycle : gpu.utilization.gpu;
  }

  void AddBusy(const device::GpuSample& gpu) {
    constexpr double kWhole = 100;
    if (const PodName* user = OnlyUserOf(gpu.uuid.str())) {
      rates_[*user].busy_gpu_seconds += UtilizationOf(gpu).value_or(0) / kWhole;
      return;
    }
    // The driver's samples of processes are not taken at one instant: their sum may exceed all.
    double sum = 0;
    for (const device::ProcessSample& process : gpu.processes) {
      sum += process.sm.value_or(0);
    }
    for (const device::ProcessSample& process : gpu.processes) {
      const auto owner = input_.pods.processes.find(process.pid);
      if (owner != input_.pods.processes.end() && process.sm) {
        rates_[NameOf(owner->second)].busy_gpu_seconds += *process.sm / std::max(sum, kWhole);
      }
    }
  }

  void AddMemory(const device::GpuSample& gpu) {
    // A process that computes and draws is listed twice, with the same memory.
    std::map<std::pair<uint32_t, std::optional<unsigned>>, Bytes> memory;
    for (const device::ProcessSample& process : gpu.processes) {
      if (process.memory) {
        Bytes& known = memory[{process.pid, process.gpu_instance}];
        known = std::max(known, *process.memory);
      }
    }
    for (const auto& [process, bytes] : memory) {
      const auto owner = input_.pods.processes.find(process.first);
      if (owner != input_.pods.processes.end()) {
        rates_[NameOf(owner->second)].gib_seconds += Gibi(bytes);
      }
    }
    const PodName* user = OnlyUserOf(gpu.uuid.str());
    if (memory.empty() && !gpu.processes.empty() && user != nullptr && gpu.memory) {
      rates_[*user].gib_seconds += Gibi(gpu.memory->used);
    }
  }

  void AddMig(const device::GpuSample& gpu, const device::MigSample& mig) {
    const PodName* user = OnlyUserOf(mig.uuid.str());
    if (user == nullptr) {
      return;
    }
    rates_[*user].busy_gpu_seconds +=
        mig.profiling.graphics_active.value_or(0) * PartOf(mig.uuid.str());
    bool has_processes = false;
    bool is_reported = false;
    for (const device::ProcessSample& process : gpu.processes) {
      if (process.gpu_instance == mig.gpu_instance) {
        has_processes = true;
        is_reported = is_reported || process.memory;
      }
    }
    if (has_processes && !is_reported && mig.memory) {
      rates_[*user].gib_seconds += Gibi(mig.memory->used);
    }
  }

  const MeterInput& input_;
  std::map<std::string, double, std::less<>> parts_;
  std::map<std::string, unsigned, std::less<>> slots_;
  std::map<std::string_view, PodSet> users_;
  Rates rates_;
};

}  // namespace

Rates RatesOf(const MeterInput& input) {
  return Meter(input).Measure();
}

}  // namespace kgpu::usage
