// The parent's reading of what the probe measured. Same rules as decode.h; a value that cannot be
// (a share above 100 %, no number) is left out, since drivers do say such things at times.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "src/gpu/probe/report.h"
#include "src/platform/base/status.h"

namespace kgpu::probe {

StatusOr<SampleReport> DecodeSample(std::span<const std::byte> payload);
// By link.
StatusOr<std::vector<device::NvLinkSample>> DecodeLinkSamples(std::span<const std::byte> payload);
// In the driver's order.
StatusOr<ProcessPage> DecodeProcesses(std::span<const std::byte> payload);
// Without UUID.
StatusOr<device::MigSample> DecodeMigSample(std::span<const std::byte> payload);

}  // namespace kgpu::probe
