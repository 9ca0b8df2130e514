#include "src/host/features/read.h"

#include <array>
#include <string_view>

#include "src/host/features/source.h"
#include "src/host/features/sources.h"

namespace kgpu::features {
namespace {

struct Reader {
  std::string_view source;
  void (*read)(const Source&);
};

constexpr std::array kReaders = std::to_array<Reader>({
    {"cpu", ReadCpu},
    {"iommu", ReadIommu},
    {"kernel", ReadKernel},
    {"memory", ReadMemory},
    {"network", ReadNetwork},
    {"pci", ReadPci},
    {"storage", ReadStorage},
    {"system", ReadSystem},
    {"usb", ReadUsb},
});

}  // namespace

Reading ReadFeatures(const sys::Root& host, const FeatureOptions& options, CpuidReader& cpuid) {
  Reading reading;
  for (const auto& [source, read] : kReaders) {
    if (IsSourceWanted(options.feature_sources, source)) {
      read(Source(source, host, options, cpuid, reading));
    }
  }
  return reading;
}

}  // namespace kgpu::features
