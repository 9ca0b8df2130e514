#include "src/node/sharing/sliced.h"

#include <algorithm>

#include "src/node/sharing/slice_paths.h"
#include "src/platform/base/status_macros.h"

namespace kgpu::sharing {
namespace {

// A limit in whole MiB, so that no part of a device is handed out twice by rounding.
Bytes LimitOf(const SliceSize& size, Bytes usable) {
  const uint64_t bytes = size.parts == 0 ? size.bytes.count : usable.count / size.parts;
  return MebiBytes(bytes >> 20);
}

// A slice that a CUDA context would fill is of no use.
Status CheckRoom(const Share& share, const SliceSize& size, Bytes limit) {
  if (limit >= kMinSlice && limit > share.context) {
    return OkStatus();
  }
  return FailedPrecondition(
      "a slice of {} is {} of its memory, of which a CUDA context takes {}: set larger slices",
      ToString(size), FormatBytes(limit), FormatQuantity(share.context));
}

// As many as fit.
StatusOr<std::vector<Cut>> EqualCuts(const Share& share, const SliceSize& size, Bytes usable) {
  const Bytes limit = LimitOf(size, usable);
  if (limit > usable) {
    return FailedPrecondition(
        "a slice of {} does not fit: programs can use {} of its memory: set a smaller size",
        ToString(size), FormatBytes(usable));
  }
  RETURN_IF_ERROR(CheckRoom(share, size, limit));
  const uint64_t fitting = size.parts == 0 ? usable.count / limit.count : size.parts;
  return std::vector<Cut>{{.share = SlotShare(share, size),
                           .slots = static_cast<unsigned>(std::min<uint64_t>(fitting, kMaxSlices)),
                           .limits = {.memory = limit}}};
}

// Exactly these.
StatusOr<std::vector<Cut>> LayoutCuts(const Share& share, Bytes usable) {
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
      cuts.push_back({.share = SlotShare(share, size), .slots = 1, .limits = {.memory = limit}});
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

// Amounts are compared with each device later; parts alone are wrong for all.
void CheckParts(const Share& share, const Refuse& refuse) {
  double sum = 0;
  for (const SliceSize& size : share.layout) {
    sum += size.parts == 0 ? 0 : 1.0 / size.parts;
  }
  constexpr double kRounding = 1e-9;
  if (sum > 1 + kRounding) {
    refuse("layout: the parts are more than one device: remove some");
  }
}

}  // namespace

void SlicedKind::CheckSizes(const Share& share, const Refuse& refuse) {
  if (!share.profiles.empty()) {
    refuse(fmt::format("layout: {} is a MIG instance: set by: mig, or list sizes such as 20Gi",
                       share.profiles.front()));
  }
  for (const SliceSize& size : SizesOf(share)) {
    if (size.parts == 0 && size.bytes <= share.context) {
      refuse(fmt::format(
          "{}: a CUDA context takes {} of it (context), so that nothing is left: set larger slices",
          ToString(size), FormatQuantity(share.context)));
    }
  }
  CheckParts(share, refuse);
}

StatusOr<std::vector<Cut>> SlicedKind::SlicesOf(const Share& share, std::optional<Bytes> usable) {
  if (!usable) {
    return FailedPrecondition(
        "the driver does not report its memory, so it cannot be divided: set share.by: time");
  }
  return share.size ? EqualCuts(share, *share.size, *usable) : LayoutCuts(share, *usable);
}

Status SlicedKind::CheckRequest(std::span<const SlotPart> slots, const Share& /*share*/) const {
  return slots.size() <= kMostSlices
             ? OkStatus()
             : InvalidArgument(
                   "{} slices requested, but a container can have {}: request larger slices, or "
                   "fewer",
                   slots.size(), kMostSlices);
}

Access SlicedKind::AccessTo(std::span<const SlotPart> slots, const Share& share,
                            const Places& places) const {
  std::vector<std::string> ids;
  ids.reserve(slots.size());
  for (const SlotPart& slot : slots) {
    ids.push_back(slot.id);
  }
  return {.envs = {}, .mounts = MountsOf({places.slices}, ids, share.compute.is_set())};
}

std::string WasteNote(const Share& share, std::string_view name, std::optional<Bytes> usable) {
  if (!LimitsMemory(share) || !share.size || share.size->bytes.count == 0 || !usable ||
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

}  // namespace kgpu::sharing
