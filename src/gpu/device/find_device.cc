#include "src/gpu/device/find_device.h"

#include <functional>
#include <optional>

#include "src/platform/base/strings.h"

namespace kgpu::device {
namespace {

using Matches = std::function<bool(const Gpu& gpu, const MigDevice* mig)>;

// "0:1"
struct MigIndex {
  uint64_t gpu = 0;
  uint64_t mig = 0;
};

std::optional<MigIndex> ParseMigIndex(std::string_view name) {
  const size_t colon = name.find(':');
  if (colon == std::string_view::npos) {
    return std::nullopt;
  }
  const auto gpu = ParseUint(name.substr(0, colon));
  const auto mig = ParseUint(name.substr(colon + 1));
  return gpu && mig ? std::optional(MigIndex{*gpu, *mig}) : std::nullopt;
}

// Null where `name` cannot be the name of a device.
Matches MatcherOf(std::string_view name) {
  if (const auto uuid = GpuUuid::Parse(name); uuid.ok()) {
    return [uuid = *uuid](const Gpu& gpu, const MigDevice* mig) {
      return mig == nullptr && gpu.uuid == uuid;
    };
  }
  if (const auto uuid = MigUuid::Parse(name); uuid.ok()) {
    return [uuid = *uuid](const Gpu&, const MigDevice* mig) {
      return mig != nullptr && mig->uuid == uuid;
    };
  }
  if (const auto index = ParseUint(name)) {
    return [index](const Gpu& gpu, const MigDevice* mig) {
      return mig == nullptr && gpu.index == *index;
    };
  }
  if (const auto index = ParseMigIndex(name)) {
    return [index](const Gpu& gpu, const MigDevice* mig) {
      return mig != nullptr && gpu.index == index->gpu && mig->index == index->mig;
    };
  }
  if (const auto pci = PciBusId::Parse(name); pci.ok()) {
    return [pci = *pci](const Gpu& gpu, const MigDevice* mig) {
      return mig == nullptr && gpu.pci == pci;
    };
  }
  return nullptr;
}

}  // namespace

StatusOr<NamedDevice> FindDevice(const Snapshot& snapshot, std::string_view name) {
  const Matches matches = MatcherOf(name);
  if (!matches) {
    return InvalidArgument("\"{}\" does not name a GPU: give its {}", Printable(name, 60),
                           kDeviceNames);
  }
  for (const Gpu& gpu : snapshot.gpus) {
    if (matches(gpu, nullptr)) {
      return NamedDevice{.gpu = &gpu};
    }
    for (const MigDevice& mig : gpu.mig_devices) {
      if (matches(gpu, &mig)) {
        return NamedDevice{.gpu = &gpu, .mig = &mig};
      }
    }
  }
  return NotFound("no GPU {} on this host: kgpu devices lists them", Printable(name, 60));
}

}  // namespace kgpu::device
