// Canonical names of GPU models, architectures and brands for selectors and labels, the same with
// every driver version. Pure functions over data tables.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "src/gpu/device/gpu.h"

namespace kgpu::device {

// "A100-SXM4-80GB", "H100-SXM5-80GB", "T4", "L4-12Q". A table by PCI device id gives products the
// same id with every driver ("Tesla T4", "NVIDIA H100 80GB HBM3"). `name`, the driver's, decides
// which product it is, since one id may stand for several: a GPU whose name is another product's,
// or a virtual GPU's, is called by that name, reduced to a valid label value. Never empty, at most
// 63 characters of [A-Za-z0-9.-].
std::string ModelId(std::string_view name, uint16_t pci_device_id);

// "ampere", …; from the driver's number (nvmlDeviceArchitecture_t), else from the compute
// capability, else empty.
std::string_view ArchitectureName(std::optional<uint32_t> nvml_architecture,
                                  std::optional<ComputeCapability> compute);

// "NVIDIA", "Tesla", "GeForce", …; empty if unknown. Source: nvmlBrandType_t.
std::string_view BrandName(int32_t nvml_brand);

}  // namespace kgpu::device
