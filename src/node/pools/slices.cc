#include "src/node/pools/slices.h"

#include <algorithm>

#include "src/platform/base/status_macros.h"

namespace kgpu::pools {
namespace {

using config::ShareBy;
using config::SliceSize;

constexpr unsigned kAllThreads = 100;  // percent

// A limit in whole MiB, so that no part of a device is handed out twice by rounding.
Bytes LimitOf(const SliceSize& size, Bytes usable) {
  const uint64_t bytes = size.parts == 0 ? size.bytes.count : usable.count / size.parts;
  return MebiBytes(bytes >> 20);
}

// A slice that a CUDA context would fill is of no use.
Status CheckRoom(const config::Share& share, const SliceSize& size, Bytes limit) {
  if (limit >= config::kMinSlice && limit > share.context) {
    return OkStatus();
  }
  return FailedPrecondition(
      "a slice of {} is {} of its memory, of which a CUDA context takes {}: set larger slices",
      ToString(size), FormatBytes(limit), FormatQuantity(share.context));
}

// The percentage of a device's time that goes with a slice; at least 1.
unsigned ComputeOf(const config::ComputeShare& compute, Bytes limit, Bytes usable) {
  constexpr uint64_t kAll = 100;
  switch (compute.kind) {
    case config::ComputeShare::Kind::kPercent:
      return compute.percent;
    case config::ComputeShare::Kind::kProportional:
      return static_cast<unsigned>(
          std::max<uint64_t>(limit.count / std::max<uint64_t>(usable.count / kAll, 1), 1));
    case config::ComputeShare::Kind::kNone:
      break;
  }
  return 0;
}

// Shares that add up to more than a device could not be kept. Of its parts, each has at least 1.
Status CheckCompute(const config::Share& share, const std::vector<Cut>& cuts) {
  constexpr unsigned kAll = 100;
  unsigned sum = 0;
  unsigned slots = 0;
  for (const Cut& cut : cuts) {
    sum += cut.compute * cut.slots;
    slots += cut.slots;
  }
  if (sum <= kAll) {
    return OkStatus();
  }
  if (share.compute.kind == config::ComputeShare::Kind::kProportional || slots > kAll) {
    return FailedPrecondition(
        "{} slices are too many for 1 % of its time each: set larger slices, or remove compute",
        slots);
  }
  return FailedPrecondition(
      "{} slices with compute: {} are {} % of its time: set compute: {} or less, or proportional",
      slots, share.compute.percent, sum, kAll / slots);
}

// As many as fit.
StatusOr<std::vector<Cut>> EqualCuts(const config::Share& share, const SliceSize& size,
                                     Bytes usable) {
  const Bytes limit = LimitOf(size, usable);
  if (limit > usable) {
    return FailedPrecondition(
        "a slice of {} does not fit: programs can use {} of its memory: set "
        "a smaller size",
        ToString(size), FormatBytes(usable));
  }
  RETURN_IF_ERROR(CheckRoom(share, size, limit));
  const uint64_t fitting = size.parts == 0 ? usable.count / limit.count : size.parts;
  return std::vector<Cut>{
      {.share = config::SlotShare(share, size),
       .slots = static_cast<unsigned>(std::min<uint64_t>(fitting, config::kMaxReplicas)),
       .memory = limit,
       .compute = ComputeOf(share.compute, limit, usable)}};
}

// Exactly these.
StatusOr<std::vector<Cut>> LayoutCuts(const config::Share& share, Bytes usable) {
  std::vector<Cut> cuts;
  Bytes sum{};
  for (const SliceSize& size : share.layout) {
    const Bytes limit = LimitOf(size, usable);
    sum.count += limit.count;
    const auto same =
        std::ranges::find_if(cuts, [&](const Cut& cut) { return cut.share.size == size; });
    if (same != cuts.end()) {
      ++same->slots;
    } else {
      cuts.push_back({.share = config::SlotShare(share, size),
                      .slots = 1,
                      .memory = limit,
                      .compute = ComputeOf(share.compute, limit, usable)});
    }
    RETURN_IF_ERROR(CheckRoom(share, size, limit));
  }
  if (sum > usable) {
    return FailedPrecondition(
        "the layout takes {}, but programs can use {} of its memory: set smaller slices",
        FormatBytes(sum), FormatBytes(usable));
  }
  return cuts;
}

// The threads of each cut of a device that is shared by MPS, and the limit on its slots.
StatusOr<std::vector<Cut>> WithThreads(std::vector<Cut> cuts, Bytes usable) {
  unsigned slots = 0;
  for (Cut& cut : cuts) {
    const uint64_t part = cut.share.size && cut.share.size->parts != 0
                              ? kAllThreads / cut.share.size->parts
                              : cut.memory.value_or(Bytes{}).count * kAllThreads / usable.count;
    cut.threads = cut.share.threads.value_or(static_cast<unsigned>(std::max<uint64_t>(part, 1)));
    slots += cut.slots;
  }
  if (slots > config::kMaxMpsClients) {
    return FailedPrecondition(
        "it has {} slots, but an MPS server takes {} programs: set larger slices", slots,
        config::kMaxMpsClients);
  }
  return cuts;
}

// Equal parts: those of a size, but without it in the resource's name.
StatusOr<std::vector<Cut>> ReplicaCuts(const config::Share& share, Bytes usable) {
  ASSIGN_OR_RETURN(std::vector<Cut> cuts, EqualCuts(share, {.parts = share.replicas}, usable));
  ASSIGN_OR_RETURN(cuts, WithThreads(std::move(cuts), usable));
  cuts.front().share = share;
  return cuts;
}

}  // namespace

Status CheckMps(const Device& device) {
  const auto& mode = device.gpu->mig_mode;
  if (device.mig != nullptr || (mode && mode->is_enabled)) {
    return FailedPrecondition(
        "MIG devices are not shared by MPS here: set share.by: memory or time, or disable MIG "
        "mode");
  }
  constexpr int kVolta = 7;
  const auto& compute = device.gpu->compute;
  if (compute && compute->major < kVolta) {
    return FailedPrecondition(
        "its compute capability is {}.{}, and MPS limits memory and threads from 7.0 (Volta) on: "
        "set share.by: memory or time",
        compute->major, compute->minor);
  }
  return OkStatus();
}

std::optional<Bytes> UsableMemory(const Device& device) {
  const std::optional<Bytes> usable =
      device.mig != nullptr ? device.mig->memory : device.gpu->usable_memory;
  // What drivers keep differs by some MiB from one start to the next.
  constexpr uint64_t kStep = MebiBytes(64).count;
  return usable ? std::optional(Bytes{usable->count / kStep * kStep}) : std::nullopt;
}

StatusOr<std::vector<Cut>> CutsOf(const config::Share& share, std::optional<Bytes> usable) {
  if (share.by == ShareBy::kMig) {
    return std::vector<Cut>{{.share = config::Share(), .slots = 1}};  // MIG devices as any others
  }
  if (!config::LimitsMemory(share)) {
    return std::vector<Cut>{
        {.share = share, .slots = share.by == ShareBy::kTime ? share.replicas : 1}};
  }
  if (!usable) {
    return FailedPrecondition(
        "the driver does not report its memory, so it cannot be divided: set share.by: time");
  }
  if (share.by == ShareBy::kMps && share.replicas > 1) {
    return ReplicaCuts(share, *usable);
  }
  ASSIGN_OR_RETURN(std::vector<Cut> cuts, share.size ? EqualCuts(share, *share.size, *usable)
                                                     : LayoutCuts(share, *usable));
  if (share.by == ShareBy::kMps) {
    return WithThreads(std::move(cuts), *usable);
  }
  RETURN_IF_ERROR(CheckCompute(share, cuts));
  return cuts;
}

std::string WasteNote(const config::Share& share, std::string_view name,
                      std::optional<Bytes> usable) {
  if (!config::LimitsMemory(share) || !share.size || share.size->bytes.count == 0 || !usable ||
      share.size->bytes > *usable) {
    return "";
  }
  const uint64_t size = share.size->bytes.count;
  const uint64_t left = usable->count % size;
  const uint64_t parts = usable->count / size + 1;
  if (left < size / 2) {
    return "";
  }
  return fmt::format("slices of {} leave {} of each {} unused: size: 1/{} makes {} slices of {}",
                     ToString(*share.size), FormatBytes(Bytes{left}), name, parts, parts,
                     FormatBytes(LimitOf({.parts = static_cast<unsigned>(parts)}, *usable)));
}

}  // namespace kgpu::pools
