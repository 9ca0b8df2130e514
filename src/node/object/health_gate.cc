#include "src/node/object/health_gate.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

namespace kgpu::node {
namespace {

using device::DriverState;

// Limit for devices named in a message; the others are counted.
constexpr size_t kMaxNamed = 4;

struct Unhealthy {
  std::string name;
  device::Health health;
};

// GPUs, and MIG devices whose GPU as a whole is healthy.
std::vector<Unhealthy> UnhealthyDevices(const device::Snapshot& snapshot) {
  std::vector<Unhealthy> unhealthy;
  for (const device::Gpu& gpu : snapshot.gpus) {
    if (!gpu.health.is_healthy) {
      unhealthy.push_back({fmt::format("GPU {} ({})", gpu.index, gpu.uuid.str()), gpu.health});
      continue;
    }
    for (const device::MigDevice& mig : gpu.mig_devices) {
      if (!mig.health.is_healthy) {
        unhealthy.push_back(
            {fmt::format("MIG {}:{} ({})", gpu.index, mig.index, mig.uuid.str()), mig.health});
      }
    }
  }
  // That the driver does not name, though it holds it.
  for (const device::UnmanagedGpu& gpu : snapshot.unmanaged) {
    if (gpu.kernel_driver == "nvidia" && snapshot.driver.state == DriverState::kReady) {
      unhealthy.push_back(
          {fmt::format("GPU at {}", gpu.pci.str()), {false, "GpuNotManaged", gpu.reason}});
    }
  }
  return unhealthy;
}

HealthText SnapshotText(const device::Snapshot& snapshot) {
  const std::vector<Unhealthy> unhealthy = UnhealthyDevices(snapshot);
  if (unhealthy.empty()) {
    const size_t gpus = snapshot.gpus.size();
    return {"True", "AllHealthy",
            gpus == 1 ? "the GPU is healthy" : fmt::format("{} GPUs are healthy", gpus)};
  }
  HealthText text{"False", unhealthy.front().health.reason, ""};
  for (size_t i = 0; i < std::min(unhealthy.size(), kMaxNamed); ++i) {
    const device::Health& health = unhealthy[i].health;
    // Eight GPUs behind one silent driver have one problem.
    const bool is_same = i > 0 && health == unhealthy[i - 1].health;
    fmt::format_to(std::back_inserter(text.message), "{}{}: {}", i == 0 ? "" : "; ",
                   unhealthy[i].name,
                   is_same ? "as above" : fmt::format("{}: {}", health.reason, health.message));
  }
  if (unhealthy.size() > kMaxNamed) {
    fmt::format_to(std::back_inserter(text.message), "; and {} more: see kgpu health",
                   unhealthy.size() - kMaxNamed);
  }
  return text;
}

bool IsAnotherText(const std::optional<DesiredHealth>& before, const DesiredHealth& now) {
  return before && before->condition && now.condition && *before != now &&
         before->condition->status == now.condition->status;
}

}  // namespace

std::optional<DesiredHealth> DesiredHealthOf(const device::Snapshot& snapshot, bool is_expected) {
  if (snapshot.version == 0 || snapshot.driver.state == DriverState::kStarting) {
    return std::nullopt;
  }
  if (!snapshot.gpus.empty()) {
    return DesiredHealth{SnapshotText(snapshot)};
  }
  if (snapshot.unmanaged.empty()) {
    return is_expected ? DesiredHealth{HealthText{"Unknown", "NoGpu",
                                                  "the NVIDIA GPUs are no longer on the PCI bus"}}
                       : DesiredHealth{};
  }
  if (snapshot.driver.state == DriverState::kReady) {
    const HealthText text = SnapshotText(snapshot);
    // GPUs held by other drivers, for virtual machines for example, do not count.
    return text.status == "False" || is_expected ? DesiredHealth{text} : DesiredHealth{};
  }
  return DesiredHealth{HealthText{"Unknown",
                                  fmt::format("Driver{}", device::ToString(snapshot.driver.state)),
                                  snapshot.driver.reason}};
}

HealthGate::HealthGate(EventLoop& loop, const HealthGateOptions& options,
                       std::function<void()> changed)
    : loop_(loop), options_(options), changed_(std::move(changed)) {
}

HealthGate::~HealthGate() = default;

void HealthGate::SetSnapshot(device::SnapshotPtr snapshot) {
  snapshot_ = std::move(snapshot);
  Look();
}

void HealthGate::SetNode(const SeenNode& node) {
  has_node_ = true;
  is_expected_ = is_expected_ || node.gpu_healthy.has_value();
  Look();
}

void HealthGate::SetNote(std::string note) {
  if (note != note_) {
    note_ = std::move(note);
    Look();
  }
}

void HealthGate::Look() {
  timer_.Cancel();
  if (!has_node_ || !snapshot_) {
    return;
  }
  std::optional<DesiredHealth> desired =
      options_.sets_condition ? DesiredHealthOf(*snapshot_, is_expected_) : DesiredHealth{};
  if (desired && desired->condition && !note_.empty()) {
    desired->condition->message += "; " + note_;
  }
  if (!desired || desired == desired_) {
    return;
  }
  const SteadyTime now = loop_.clock().Now();
  if (IsAnotherText(desired_, *desired) && now < reported_ + options_.text_every) {
    timer_.Arm(reported_ + options_.text_every - now, [this] { Look(); });
    return;
  }
  reported_ = now;
  desired_ = std::move(desired);
  changed_();
}

}  // namespace kgpu::node
