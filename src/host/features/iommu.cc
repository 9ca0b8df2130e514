// IOMMUs that the kernel uses. Source: /sys/class/iommu
// (Documentation/ABI/testing/sysfs-class-iommu).
#include "src/host/features/source.h"

namespace kgpu::features {

void ReadIommu(const Source& source) {
  const bool has_iommu = !source.List("sys/class/iommu").empty();
  source.attributes("iommu.device")["enabled"] = has_iommu ? "true" : "false";
}

}  // namespace kgpu::features
