// The devices, containers and processes of a page, with the labels of each written once.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "src/node/telemetry/attribution.h"
#include "src/node/telemetry/name_sets.h"
#include "src/node/telemetry/page_input.h"

namespace kgpu::telemetry {

// The labels of one thing in each name set, as metrics::LabelText makes them.
class Labels {
 public:
  const std::string& Of(NameSet set) const { return texts_.at(static_cast<size_t>(set)); }
  std::string& Of(NameSet set) { return texts_.at(static_cast<size_t>(set)); }

 private:
  std::array<std::string, 3> texts_;
};

struct GpuView {
  const device::Gpu* gpu = nullptr;
  const device::GpuSample* sample = nullptr;    // an empty one for an unsampled GPU
  const device::GpuSample* previous = nullptr;  // from the previous round; null: there is none
  double seconds = 0;                           // between the two
  const health::Overview* health = nullptr;     // null: unknown
  const std::vector<SliceFigures>* slices = nullptr;  // of all devices; null: unknown
  Owner owner{};
  Labels labels{};
};

struct MigView {
  const GpuView* gpu = nullptr;
  const device::MigDevice* mig = nullptr;
  const device::MigSample* sample = nullptr;  // as in GpuView
  Owner owner{};
  // Empty for a compute instance that DCGM's labels cannot tell from the one before: it is left
  // out.
  Labels labels{};
};

struct ContainerView {
  const GpuView* gpu = nullptr;
  const ContainerUse* use = nullptr;
  const MigView* mig = nullptr;  // null: the GPU itself
  Labels labels{};

  // Whether this container has the whole device: then its measurements are the container's.
  bool is_owner() const {
    const Owner& owner = mig == nullptr ? gpu->owner : mig->owner;
    return owner.pod_namespace == use->user.pod_namespace && owner.pod == use->user.pod &&
           owner.container == use->user.container;
  }
};

struct ProcessView {
  const ProcessUse* use = nullptr;
  Labels labels{};
};

// Limit per GPU on a page: those with the most memory.
inline constexpr size_t kMaxProcessesPerGpu = 64;
inline constexpr size_t kMaxContainers = 1'024;

// Borrows `input`, which must outlive it.
class PageViews {
 public:
  explicit PageViews(const PageInput& input);
  PageViews(const PageViews&) = delete;
  PageViews& operator=(const PageViews&) = delete;

  const PageInput& input() const { return input_; }
  const std::vector<GpuView>& gpus() const { return gpus_; }
  const std::vector<MigView>& migs() const { return migs_; }
  const std::vector<ContainerView>& containers() const { return containers_; }
  const std::vector<ProcessView>& processes() const { return processes_; }
  const std::vector<ResourceUse>& resources() const { return attribution_.resources; }

 private:
  void AddGpus();
  void AddMigs(const GpuView& gpu);
  void AddContainers();
  void AddProcesses();

  const pods::PodMap& pods() const { return input_.pods ? *input_.pods : no_pods_; }

  const PageInput& input_;
  const pods::PodMap no_pods_{};
  const device::GpuSample no_sample_{};
  const device::MigSample no_mig_sample_{};
  Attribution attribution_;
  std::vector<GpuView> gpus_;
  std::vector<MigView> migs_;
  std::vector<ContainerView> containers_;
  std::vector<ProcessView> processes_;
};

}  // namespace kgpu::telemetry
