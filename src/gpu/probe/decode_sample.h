// Decodes the probe's measurements in the parent. Same rules as decode.h; an impossible value (a
// share above 100 %, not a number) is left out, since drivers sometimes report such values.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "src/gpu/probe/report.h"
#include "src/platform/base/status.h"

namespace kgpu::probe {

StatusOr<SampleReport> DecodeSample(std::span<const std::byte> payload);
// Sorted by link.
StatusOr<std::vector<device::NvLinkSample>> DecodeLinkSamples(std::span<const std::byte> payload);
// In the driver's order.
StatusOr<ProcessPage> DecodeProcesses(std::span<const std::byte> payload);
// Without UUID.
StatusOr<device::MigSample> DecodeMigSample(std::span<const std::byte> payload);

}  // namespace kgpu::probe
