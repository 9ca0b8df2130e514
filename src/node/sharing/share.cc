#include "src/node/sharing/share.h"

#include <algorithm>

#include "src/node/sharing/kind.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"

namespace kgpu::sharing {

StatusOr<SliceSize> ParseSliceSize(std::string_view text) {
  if (const size_t slash = text.find('/'); slash != std::string_view::npos) {
    const auto parts = ParseUint(text.substr(slash + 1));
    if (text.substr(0, slash) != "1" || !parts || *parts < 2 || *parts > kMaxSlices) {
      return InvalidArgument("\"{}\" must be one part of 2 to {}: 1/4", Printable(text),
                             kMaxSlices);
    }
    return SliceSize{.parts = static_cast<unsigned>(*parts)};
  }
  ASSIGN_OR_RETURN(const Bytes bytes, ParseQuantity(text));
  if (bytes < kMinSlice) {
    return InvalidArgument("\"{}\" must be at least {}", Printable(text),
                           FormatQuantity(kMinSlice));
  }
  return SliceSize{.bytes = bytes};
}

std::string ToString(const SliceSize& size) {
  return size.parts != 0 ? fmt::format("1/{}", size.parts) : FormatQuantity(size.bytes);
}

std::string NameOf(const SliceSize& size) {
  return size.parts != 0 ? fmt::format("1of{}", size.parts) : ToLower(FormatQuantity(size.bytes));
}

std::optional<Bytes> SliceOfResource(std::string_view resource) {
  const size_t dash = resource.rfind('-');
  if (dash == std::string_view::npos) {
    return std::nullopt;
  }
  std::string size(resource.substr(dash + 1));
  if (size.size() < 3 || !size.ends_with('i')) {
    return std::nullopt;
  }
  char& unit = size[size.size() - 2];
  unit = unit == 'k' ? 'K' : unit == 'm' ? 'M' : unit == 'g' ? 'G' : unit == 't' ? 'T' : unit;
  const StatusOr<Bytes> bytes = ParseQuantity(size);
  return bytes.ok() ? std::optional(*bytes) : std::nullopt;
}

bool IsShared(const Share& share) {
  return share.by != &kWhole;
}

bool MakesDevices(const Share& share) {
  return share.by->traits().makes_devices;
}

std::string ProfilesText(const Share& share) {
  return Join(share.profiles, ",");
}

bool LimitsMemory(const Share& share) {
  return share.by->traits().limits_memory;
}

bool IsNamedBySize(const Share& share) {
  return LimitsMemory(share) && (share.size || !share.layout.empty());
}

Share SlotShare(const Share& share, const SliceSize& size) {
  Share alone = share;
  alone.layout.clear();
  alone.size = size;
  return alone;
}

std::vector<SliceSize> SizesOf(const Share& share) {
  std::vector<SliceSize> sizes;
  if (share.size) {
    sizes.push_back(*share.size);
  }
  for (const SliceSize& size : share.layout) {
    if (std::ranges::find(sizes, size) == sizes.end()) {
      sizes.push_back(size);
    }
  }
  return sizes;
}

}  // namespace kgpu::sharing
