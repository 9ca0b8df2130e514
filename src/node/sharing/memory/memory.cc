#include "src/node/sharing/memory/memory.h"

#include <algorithm>

#include "src/node/sharing/checks.h"
#include "src/platform/base/status_macros.h"

namespace kgpu::sharing {
namespace {

constexpr unsigned kAllTime = 100;  // percent

// The percentage of a device's time that goes with a slice; at least 1.
unsigned ComputeOf(const ComputeShare& compute, Bytes limit, Bytes usable) {
  switch (compute.kind) {
    case ComputeShare::Kind::kPercent:
      return compute.percent;
    case ComputeShare::Kind::kProportional:
      return static_cast<unsigned>(
          std::max<uint64_t>(limit.count / std::max<uint64_t>(usable.count / kAllTime, 1), 1));
    case ComputeShare::Kind::kNone:
      break;
  }
  return 0;
}

// Shares that add up to more than a device could not be kept. Of its parts, each has at least 1.
Status CheckCompute(const Share& share, const std::vector<Cut>& cuts) {
  unsigned sum = 0;
  unsigned slots = 0;
  for (const Cut& cut : cuts) {
    sum += cut.limits.compute * cut.slots;
    slots += cut.slots;
  }
  if (sum <= kAllTime) {
    return OkStatus();
  }
  if (share.compute.kind == ComputeShare::Kind::kProportional || slots > kAllTime) {
    return FailedPrecondition(
        "{} slices are too many for 1 % of its time each: set larger slices, or remove compute",
        slots);
  }
  return FailedPrecondition(
      "{} slices with compute: {} are {} % of its time: set compute: {} or less, or proportional",
      slots, share.compute.percent, sum, kAllTime / slots);
}

}  // namespace

constinit const MemoryKind kMemory;

void MemoryKind::Check(const GivenFields& given, Share& share, const Refuse& refuse) const {
  if (given.replicas) {
    refuse("replicas is for by: time and by: mps: set size, such as 20Gi or 1/4, or layout");
  }
  if (given.size == given.layout) {
    refuse(fmt::format(
        "{}: set size, such as 20Gi or 1/4, for equal slices, or layout, such as [40Gi, 20Gi], for "
        "those that you list",
        given.size ? "size and layout" : "size: missing"));
  }
  CheckSizes(share, refuse);
  RefuseThreads(given, refuse);
}

Status MemoryKind::CheckDevice(const Share& share, const Device& device) const {
  // The library in a container knows devices by their own UUIDs.
  if (device.uuid().starts_with("MIG-GPU-")) {
    return FailedPrecondition("memory slices of MIG devices need a driver from 470 on");
  }
  if (share.compute.is_set() && device.mig != nullptr) {
    return FailedPrecondition(
        "the driver does not say how much each program uses of a MIG device, so compute cannot "
        "hold there: remove compute, or select whole GPUs");
  }
  return OkStatus();
}

StatusOr<std::vector<Cut>> MemoryKind::CutsOf(const Share& share,
                                              std::optional<Bytes> usable) const {
  ASSIGN_OR_RETURN(std::vector<Cut> cuts, SlicesOf(share, usable));
  for (Cut& cut : cuts) {
    cut.limits.compute =
        ComputeOf(share.compute, cut.limits.memory.value_or(Bytes{}), usable.value_or(Bytes{}));
  }
  RETURN_IF_ERROR(CheckCompute(share, cuts));
  return cuts;
}

// Containers have mapped the gates of their shares.
std::string MemoryKind::ShapeOf(const Share& /*share*/, const Limits& limits) const {
  return limits.compute == 0 ? "\n" : fmt::format("\ncompute {}\n", limits.compute);
}

}  // namespace kgpu::sharing
