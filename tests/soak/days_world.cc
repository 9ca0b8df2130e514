#include "tests/soak/days_world.h"

#include <algorithm>
#include <set>

namespace kgpu::soak {
namespace {

const std::vector<std::vector<std::string>>& DayLayouts() {
  static const std::vector<std::vector<std::string>> kLayouts = {
      {"3g.40gb", "3g.40gb"}, {"1g.10gb", "1g.10gb", "2g.20gb"}, {"7g.80gb"}};
  return kLayouts;
}

}  // namespace

DayGpus::DayGpus() : gpus_(kCount) {
}

device::GpuUuid DayGpus::UuidOf(unsigned index) {
  return *device::GpuUuid::Parse(fmt::format("GPU-5d5ba0d6-d33d-2b2c-524d-9e3d8d2b{:04x}", index));
}

void DayGpus::Divide(size_t layout) {
  layout_ = layout % DayLayouts().size();
  ++generation_;
}

device::Snapshot DayGpus::Read() const {
  device::Snapshot snapshot;
  snapshot.driver.state =
      is_driver_up ? device::DriverState::kReady : device::DriverState::kUnresponsive;
  for (unsigned i = 0; i < kCount && is_driver_up; ++i) {
    if (!gpus_[i].is_there) {
      continue;
    }
    device::Gpu& gpu = snapshot.gpus.emplace_back();
    gpu.uuid = UuidOf(i);
    gpu.index = i;
    gpu.pci = {.domain = 0, .bus = static_cast<uint8_t>(i + 1), .device = 0, .function = 0};
    gpu.model = "H100-SXM5-80GB";
    gpu.name = "NVIDIA H100 80GB HBM3";
    gpu.memory = GibiBytes(80);
    gpu.usable_memory = GibiBytes(79);
    gpu.mig_mode = device::MigMode{};
    if (i + 1 < kCount) {
      continue;
    }
    gpu.mig_mode = device::MigMode{.is_enabled = true, .is_pending_enabled = true};
    for (const std::string& profile : DayLayouts()[layout_]) {
      device::MigDevice& mig = gpu.mig_devices.emplace_back();
      mig.index = static_cast<unsigned>(gpu.mig_devices.size()) - 1;
      mig.uuid = *device::MigUuid::Parse(
          fmt::format("MIG-7c1d4bd0-85a5-5d5a-b9c5-{:08x}{:04x}", generation_, mig.index));
      mig.gpu_instance = mig.index + 1;
      mig.profile = profile;
      mig.memory = GibiBytes(10);
    }
  }
  return snapshot;
}

device::SampleSet DayGpus::Measure(SteadyTime now, WallTime wall) const {
  device::SampleSet set{.version = 1, .begun = now, .taken = wall, .is_complete = true, .gpus = {}};
  for (unsigned i = 0; i < kCount && is_driver_up; ++i) {
    if (!gpus_[i].is_there || !gpus_[i].answers) {
      continue;
    }
    device::GpuSample& sample = set.gpus.emplace_back();
    sample.uuid = UuidOf(i);
    sample.utilization.gpu = gpus_[i].busy;
    sample.memory = device::MemoryUse{.total = GibiBytes(80),
                                      .reserved = GibiBytes(1),
                                      .used = GibiBytes(gpus_[i].busy / 2),
                                      .free = GibiBytes(79 - gpus_[i].busy / 2)};
    sample.remaps = device::RowRemaps{.has_failed = gpus_[i].has_failed_rows, .spare_rows = {}};
  }
  return set;
}

void DayKubelet::SetList(const std::vector<pools::Resource>& resources) {
  if (is_up) {
    list_ = resources;
  }
}

bool DayKubelet::Start(const std::string& name, const std::string& resource, size_t count) {
  std::set<std::string> taken;
  for (const auto& [other, pod] : pods_) {
    taken.insert(pod.slots.begin(), pod.slots.end());
  }
  Pod pod{.resource = resource, .slots = {}};
  for (const pools::Resource& listed : list_) {
    for (const pools::Slot& slot : listed.slots) {
      if (listed.name == resource && pod.slots.size() < count && slot.health.is_healthy &&
          !taken.contains(slot.id)) {
        pod.slots.push_back(slot.id);
      }
    }
  }
  return is_up && pod.slots.size() == count && pods_.emplace(name, std::move(pod)).second;
}

pods::PodMap DayKubelet::List() const {
  pods::PodMap map;
  for (const auto& [name, pod] : pods_) {
    for (const std::string& slot : pod.slots) {
      map.devices.push_back(
          {.resource = pod.resource,
           .device_id = slot,
           .user = {.pod_namespace = "ml", .pod = name, .container = "main", .pod_uid = name}});
    }
  }
  std::ranges::sort(map.devices);
  return map;
}

std::map<std::string, Units> DayKubelet::Held() const {
  std::map<std::string, Units> held;
  for (const auto& [name, pod] : pods_) {
    for (const std::string& id : pod.slots) {
      if (id.starts_with("MIG-")) {
        held[name].insert(
            {.gpu = DayGpus::UuidOf(DayGpus::kCount - 1).str(), .kind = "MIG", .part = id});
      } else if (id.find("::") != std::string::npos) {
        held[name].insert({.gpu = id.substr(0, id.find("::")), .kind = pod.resource, .part = id});
      } else {
        held[name].insert({.gpu = id});
      }
    }
  }
  return held;
}

size_t DayKubelet::Count(bool is_healthy) const {
  size_t count = 0;
  for (const pools::Resource& resource : list_) {
    for (const pools::Slot& slot : resource.slots) {
      count += slot.health.is_healthy == is_healthy ? 1 : 0;
    }
  }
  return count;
}

usage::Recorder::Disk UsageDisk::disk() {
  return {
      .write =
          [this](const usage::LedgerWrite& write, const std::function<void(const Status&)>& done) {
            done(Write(write));
            return true;
          },
      .load =
          [this](const std::string& /*folder*/,
                 const std::function<void(StatusOr<usage::Kept>)>& done) {
            done(Load());
            return true;
          }};
}

Status UsageDisk::Write(const usage::LedgerWrite& write) {
  if (is_full) {
    return ResourceExhausted("no space left on device");
  }
  switch (write.kind) {
    case usage::LedgerWrite::Kind::kAll:
      all_ = write.ledger->Copy();
      generation_ = write.generation;
      break;
    case usage::LedgerWrite::Kind::kRecent:
      recent_ = write.ledger;
      recent_generation_ = write.generation;
      break;
    case usage::LedgerWrite::Kind::kMore: {
      usage::Kept kept = Load();
      all_ = std::move(kept.ledger);
      all_.Add(*write.ledger);
      ++generation_;
      break;
    }
  }
  return OkStatus();
}

usage::Kept UsageDisk::Load() const {
  usage::Kept kept;
  kept.generation = generation_;
  kept.ledger = all_.Copy();
  if (recent_ && recent_generation_ == generation_) {
    kept.recent = recent_->Copy();
    kept.ledger.Add(kept.recent);
  }
  return kept;
}

}  // namespace kgpu::soak
