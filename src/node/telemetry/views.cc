#include "src/node/telemetry/views.h"

#include <algorithm>
#include <array>
#include <chrono>

#include "src/platform/metrics/exposition.h"

namespace kgpu::telemetry {
namespace {

using metrics::LabelText;

std::string Joined(std::string_view first, std::string_view second) {
  return second.empty() ? std::string(first) : fmt::format("{},{}", first, second);
}

bool Wants(const PageInput& input, config::DcgmLabel label) {
  return std::ranges::find(input.dcgm_labels, label) != input.dcgm_labels.end();
}

std::string DcgmClaim(const pods::ClaimedDevice& claim, const device::MigDevice* mig) {
  const std::string labels = LabelText({{"dra_claim_name", claim.claim},
                                        {"dra_claim_namespace", claim.claim_namespace},
                                        {"dra_driver_name", claim.driver},
                                        {"dra_pool_name", claim.pool},
                                        {"dra_device_name", claim.device}});
  return mig == nullptr ? labels
                        : Joined(labels, LabelText({{"dra_mig_profile", mig->profile},
                                                    {"dra_mig_device_uuid", mig->uuid.str()}}));
}

// The owner of a thing, in the order that both foreign exporters have.
std::string DcgmOwner(const PageInput& input, const device::MigDevice* mig, const Owner& owner) {
  const bool has_uid = Wants(input, config::DcgmLabel::kPodUid);
  const std::string labels = LabelText({{"container", owner.container},
                                        {"namespace", owner.pod_namespace},
                                        {"pod", owner.pod},
                                        {"pod_uid", has_uid ? owner.pod_uid : std::string_view()}});
  return owner.claim == nullptr ? labels : Joined(labels, DcgmClaim(*owner.claim, mig));
}
std::string UsualOwner(const Owner& owner) {
  return LabelText(
      {{"namespace", owner.pod_namespace}, {"pod", owner.pod}, {"container", owner.container}});
}

Owner OwnerOfUser(const pods::Container& user, const pods::ClaimedDevice* claim = nullptr) {
  return {user.pod_namespace, user.pod, user.container, user.pod_uid, claim};
}

// The names of a whole GPU, without its owner.
struct GpuNames {
  std::string kgpu;
  std::string dcgm_front, dcgm_rest;  // the labels of a MIG device stand between
};

GpuNames NamesOf(const device::Gpu& gpu, const PageInput& input) {
  const std::string index = fmt::format("{}", gpu.index);
  const std::string_view hostname =
      Wants(input, config::DcgmLabel::kHostname) ? "hostname" : "Hostname";
  return {.kgpu = LabelText({{"gpu", index},
                             {"uuid", gpu.uuid.str()},
                             {"model", gpu.model},
                             {"pci_bus_id", gpu.pci.str()}}),
          .dcgm_front = LabelText({{"gpu", index},
                                   {"UUID", gpu.uuid.str()},
                                   {"pci_bus_id", gpu.pci.nvml_str()},
                                   {"device", fmt::format("nvidia{}", gpu.minor)},
                                   {"modelName", gpu.name}}),
          .dcgm_rest = LabelText({{hostname, input.hostname},
                                  {"DCGM_FI_DRIVER_VERSION", input.snapshot->driver.version}})};
}

std::string KgpuMig(const device::MigDevice& mig) {
  return LabelText({{"mig_uuid", mig.uuid.str()},
                    {"mig_profile", mig.profile},
                    {"gpu_instance", fmt::format("{}", mig.gpu_instance)},
                    {"compute_instance", fmt::format("{}", mig.compute_instance)}});
}

std::string DcgmMig(const device::MigDevice& mig) {
  return LabelText(
      {{"GPU_I_PROFILE", mig.profile}, {"GPU_I_ID", fmt::format("{}", mig.gpu_instance)}});
}

std::string GkeNames(std::string_view uuid, std::string_view name) {
  return LabelText({{"make", "nvidia"}, {"accelerator_id", uuid}, {"model", name}});
}

Labels LabelsOf(const PageInput& input, const device::Gpu& gpu, const device::MigDevice* mig,
                const Owner& owner) {
  const GpuNames names = NamesOf(gpu, input);
  const std::string usual = UsualOwner(owner);
  Labels labels;
  const std::string kgpu = mig == nullptr ? names.kgpu : Joined(names.kgpu, KgpuMig(*mig));
  labels.Of(NameSet::kKgpu) = Joined(kgpu, usual);
  const std::string dcgm =
      mig == nullptr ? names.dcgm_front : Joined(names.dcgm_front, DcgmMig(*mig));
  labels.Of(NameSet::kDcgm) = Joined(Joined(dcgm, names.dcgm_rest), DcgmOwner(input, mig, owner));
  const std::string gke = GkeNames(mig == nullptr ? gpu.uuid.str() : mig->uuid.str(), gpu.name);
  labels.Of(NameSet::kGke) = usual.empty() ? gke : Joined(usual, gke);
  return labels;
}

const device::MigSample* FindMig(const device::GpuSample& sample, const device::MigUuid& uuid) {
  const auto found = std::ranges::find(sample.migs, uuid, &device::MigSample::uuid);
  return found == sample.migs.end() ? nullptr : &*found;
}

std::string_view KindWord(device::ProcessKind kind) {
  static constexpr std::array<std::string_view, 3> kWords = {"compute", "graphics", "mps"};
  return kWords.at(static_cast<size_t>(kind));
}

}  // namespace

PageViews::PageViews(const PageInput& input) : input_(input) {
  if (!input.snapshot) {
    return;
  }
  attribution_ = Attribute(*input.snapshot, input.samples.get(), pods());
  AddGpus();
  AddContainers();
  AddProcesses();
}

void PageViews::AddGpus() {
  const device::SampleSet* samples = input_.samples.get();
  const device::SampleSet* previous = input_.previous.get();
  // Views point to each other: the vectors must not move.
  gpus_.reserve(input_.snapshot->gpus.size());
  size_t migs = 0;
  for (const device::Gpu& gpu : input_.snapshot->gpus) {
    migs += gpu.mig_devices.size();
  }
  migs_.reserve(migs);
  for (const device::Gpu& gpu : input_.snapshot->gpus) {
    const device::GpuSample* sample = samples == nullptr ? nullptr : samples->Find(gpu.uuid);
    GpuView view{.gpu = &gpu, .sample = sample == nullptr ? &no_sample_ : sample};
    if (sample != nullptr && previous != nullptr) {
      view.previous = previous->Find(gpu.uuid);
      view.seconds = std::chrono::duration<double>(samples->begun - previous->begun).count();
    }
    view.health = input_.health.get();
    view.slices = input_.slices.get();
    view.owner = OwnerOf(pods(), gpu.uuid.str());
    view.labels = LabelsOf(input_, gpu, nullptr, view.owner);
    view.labels.Of(NameSet::kGke) = GkeNames(gpu.uuid.str(), gpu.name);  // of the node
    gpus_.push_back(std::move(view));
    AddMigs(gpus_.back());
  }
}

void PageViews::AddMigs(const GpuView& gpu) {
  for (const device::MigDevice& mig : gpu.gpu->mig_devices) {
    const device::MigSample* sample = FindMig(*gpu.sample, mig.uuid);
    MigView view{.gpu = &gpu, .mig = &mig, .sample = sample == nullptr ? &no_mig_sample_ : sample};
    view.owner = OwnerOf(pods(), mig.uuid.str());
    view.labels = LabelsOf(input_, *gpu.gpu, &mig, view.owner);
    std::string& dcgm = view.labels.Of(NameSet::kDcgm);
    if (std::ranges::any_of(
            migs_, [&](const MigView& other) { return other.labels.Of(NameSet::kDcgm) == dcgm; })) {
      dcgm.clear();
    }
    migs_.push_back(std::move(view));
  }
}

void PageViews::AddContainers() {
  containers_.reserve(std::min(attribution_.containers.size(), kMaxContainers));
  for (const ContainerUse& use : attribution_.containers) {
    if (containers_.size() == kMaxContainers) {
      return;
    }
    const auto mig = std::ranges::find(migs_, use.mig, &MigView::mig);
    containers_.push_back({.gpu = &gpus_[use.gpu],
                           .use = &use,
                           .mig = mig == migs_.end() ? nullptr : &*mig,
                           .labels = LabelsOf(input_, *gpus_[use.gpu].gpu, use.mig,
                                              OwnerOfUser(use.user, use.claim))});
  }
}

void PageViews::AddProcesses() {
  std::vector<const ProcessUse*> uses;
  uses.reserve(attribution_.processes.size());
  for (const ProcessUse& use : attribution_.processes) {
    uses.push_back(&use);
  }
  std::ranges::stable_sort(uses, [](const ProcessUse* a, const ProcessUse* b) {
    return a->gpu != b->gpu ? a->gpu < b->gpu : b->process->memory < a->process->memory;
  });
  size_t gpu = 0;
  size_t count = 0;
  for (const ProcessUse* use : uses) {
    count = use->gpu == gpu ? count : 0;
    gpu = use->gpu;
    if (++count > kMaxProcessesPerGpu) {
      continue;
    }
    const Owner owner = use->user == nullptr ? Owner{} : OwnerOfUser(*use->user);
    ProcessView view{.use = use, .labels = LabelsOf(input_, *gpus_[gpu].gpu, use->mig, owner)};
    std::string& labels = view.labels.Of(NameSet::kKgpu);
    labels = Joined(labels, LabelText({{"pid", fmt::format("{}", use->process->pid)},
                                       {"kind", KindWord(use->process->kind)}}));
    processes_.push_back(std::move(view));
  }
}

}  // namespace kgpu::telemetry
