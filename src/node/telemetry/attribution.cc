#include "src/node/telemetry/attribution.h"

#include <algorithm>
#include <map>
#include <utility>

namespace kgpu::telemetry {
namespace {

using device::MigDevice;
using device::ProcessSample;

// A device and a container on it; a MIG device's place is one behind the GPU's own.
struct Place {
  size_t gpu = 0;
  size_t mig = 0;  // 0: the GPU itself; else 1 + its place in Gpu::mig_devices
  auto operator<=>(const Place&) const = default;
};

const MigDevice* MigAt(const device::Snapshot& snapshot, const Place& place) {
  return place.mig == 0 ? nullptr : &snapshot.gpus[place.gpu].mig_devices[place.mig - 1];
}

std::optional<Place> FindDevice(const device::Snapshot& snapshot, std::string_view uuid) {
  for (size_t gpu = 0; gpu < snapshot.gpus.size(); ++gpu) {
    if (snapshot.gpus[gpu].uuid.str() == uuid) {
      return Place{gpu, 0};
    }
    const auto& migs = snapshot.gpus[gpu].mig_devices;
    const auto found = std::ranges::find(
        migs, uuid, [](const MigDevice& mig) -> std::string_view { return mig.uuid.str(); });
    if (found != migs.end()) {
      return Place{gpu, static_cast<size_t>(found - migs.begin()) + 1};
    }
  }
  return std::nullopt;
}

size_t MigOf(const device::Gpu& gpu, const ProcessSample& process) {
  if (!process.gpu_instance) {
    return 0;
  }
  const auto found = std::ranges::find_if(gpu.mig_devices, [&](const MigDevice& mig) {
    return mig.gpu_instance == *process.gpu_instance &&
           (!process.compute_instance || mig.compute_instance == *process.compute_instance);
  });
  return found == gpu.mig_devices.end() ? 0
                                        : static_cast<size_t>(found - gpu.mig_devices.begin()) + 1;
}

template <typename T>
void KeepLarger(std::optional<T>& value, const std::optional<T>& other) {
  if (other && (!value || *value < *other)) {
    value = other;
  }
}

class AttributionJoin {
 public:
  AttributionJoin(const device::Snapshot& snapshot, const device::SampleSet* samples,
                  const pods::PodMap& pods)
      : snapshot_(snapshot), samples_(samples), pods_(pods) {}

  Attribution Run() {
    for (const pods::DeviceUse& use : pods_.devices) {
      if (const auto place = FindDevice(snapshot_, pods::DeviceOf(use.device_id))) {
        ContainerUse& container = Use(*place, use.user);
        ++container.slots;
        container.claim = use.is_claimed() ? &use.claim : container.claim;
        ++resources_[{use.user, use.resource}];
      }
    }
    for (size_t gpu = 0; samples_ != nullptr && gpu < snapshot_.gpus.size(); ++gpu) {
      if (const device::GpuSample* sample = samples_->Find(snapshot_.gpus[gpu].uuid)) {
        AddProcesses(gpu, *sample);
      }
    }
    Attribution result;
    result.processes = std::move(processes_);
    for (const auto& [key, count] : resources_) {
      result.resources.push_back({key.first, key.second, count});
    }
    for (auto& [key, use] : uses_) {
      Settle(key.first, use);
      result.containers.push_back(std::move(use));
    }
    return result;
  }

 private:
  // The sums so far for a container whose processes are not all counted yet.
  ContainerUse& Use(const Place& place, const pods::Container& user) {
    // The kubelet's list does not report the pod's UID, a process's cgroup does.
    pods::Container key = user;
    key.pod_uid.clear();
    ContainerUse& use = uses_[{place, std::move(key)}];
    if (use.user.pod_uid.empty()) {
      use.user = user;
    }
    use.gpu = place.gpu;
    use.mig = MigAt(snapshot_, place);
    return use;
  }

  void AddProcesses(size_t gpu, const device::GpuSample& sample) {
    // A process that computes and draws is in two of the driver's lists, with the same values.
    std::map<std::pair<uint32_t, size_t>, ProcessSample> seen;
    for (const ProcessSample& process : sample.processes) {
      const size_t mig = MigOf(snapshot_.gpus[gpu], process);
      const auto [found, is_new] = seen.try_emplace({process.pid, mig}, process);
      if (is_new) {
        const auto user = pods_.processes.find(process.pid);
        processes_.push_back({.process = &process,
                              .gpu = gpu,
                              .mig = MigAt(snapshot_, {gpu, mig}),
                              .user = user == pods_.processes.end() ? nullptr : &user->second});
        continue;
      }
      ProcessSample& kept = found->second;
      KeepLarger(kept.memory, process.memory);
      KeepLarger(kept.sm, process.sm);
      KeepLarger(kept.memory_utilization, process.memory_utilization);
      KeepLarger(kept.encoder, process.encoder);
      KeepLarger(kept.decoder, process.decoder);
    }
    ScaleToWhole(seen);
    for (const auto& [key, process] : seen) {
      if (const auto user = pods_.processes.find(process.pid); user != pods_.processes.end()) {
        Add(process, Use({gpu, key.second}, user->second));
      }
    }
  }

  // The driver's samples of processes are not of one instant: their sum may exceed all of a GPU.
  static void ScaleToWhole(std::map<std::pair<uint32_t, size_t>, ProcessSample>& seen) {
    constexpr double kWhole = 100;
    for (const auto field : {&ProcessSample::sm, &ProcessSample::memory_utilization,
                             &ProcessSample::encoder, &ProcessSample::decoder}) {
      double sum = 0;
      for (const auto& [key, process] : seen) {
        sum += (process.*field).value_or(0);
      }
      for (auto& [key, process] : seen) {
        if (sum > kWhole && process.*field) {
          process.*field = *(process.*field) * kWhole / sum;
        }
      }
    }
  }

  static void Add(const ProcessSample& process, ContainerUse& use) {
    const bool is_first = use.processes == 0;
    ++use.processes;
    if (is_first) {
      use.memory = process.memory;
      use.sm = process.sm;
      use.memory_utilization = process.memory_utilization;
      use.encoder = process.encoder;
      use.decoder = process.decoder;
      return;
    }
    const auto sum = [](std::optional<double>& total, const std::optional<double>& value) {
      total = total && value ? std::optional(*total + *value) : std::nullopt;
    };
    use.memory = use.memory && process.memory
                     ? std::optional(Bytes{use.memory->count + process.memory->count})
                     : std::nullopt;
    sum(use.sm, process.sm);
    sum(use.memory_utilization, process.memory_utilization);
    sum(use.encoder, process.encoder);
    sum(use.decoder, process.decoder);
  }

  // A container without a process uses nothing, where every process's container is known.
  void Settle(const Place& place, ContainerUse& use) const {
    const bool is_known = pods_.problem.empty() && samples_ != nullptr &&
                          samples_->Find(snapshot_.gpus[place.gpu].uuid) != nullptr;
    if (use.processes > 0 || !is_known) {
      return;
    }
    use.memory = Bytes{0};
    if (place.mig == 0) {
      use.sm = use.memory_utilization = use.encoder = use.decoder = 0;
    }
  }

  const device::Snapshot& snapshot_;
  const device::SampleSet* samples_;
  const pods::PodMap& pods_;
  std::map<std::pair<Place, pods::Container>, ContainerUse> uses_;
  std::map<std::pair<pods::Container, std::string>, unsigned> resources_;
  std::vector<ProcessUse> processes_;
};

}  // namespace

Attribution Attribute(const device::Snapshot& snapshot, const device::SampleSet* samples,
                      const pods::PodMap& pods) {
  return AttributionJoin(snapshot, samples, pods).Run();
}

Owner OwnerOf(const pods::PodMap& pods, std::string_view device_uuid) {
  const pods::DeviceUse* first = nullptr;
  bool is_one_container = true;
  bool is_one_claim = true;
  for (const pods::DeviceUse& use : pods.devices) {
    if (pods::DeviceOf(use.device_id) != device_uuid) {
      continue;
    }
    if (use.device_id != device_uuid) {
      return {};
    }
    if (first == nullptr) {
      first = &use;
    } else if (use.user.pod != first->user.pod ||
               use.user.pod_namespace != first->user.pod_namespace) {
      return {};
    } else {
      is_one_container &= use.user.container == first->user.container;
      is_one_claim &= use.claim == first->claim;
    }
  }
  if (first == nullptr) {
    return {};
  }
  return {
      .pod_namespace = first->user.pod_namespace,
      .pod = first->user.pod,
      .container = is_one_container ? std::string_view(first->user.container) : std::string_view(),
      .pod_uid = first->user.pod_uid,
      .claim = is_one_claim && first->is_claimed() ? &first->claim : nullptr};
}

}  // namespace kgpu::telemetry
