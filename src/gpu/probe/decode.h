// The parent's reading of the probe's frames: pure functions of bytes. A message that is no frame
// is the probe's fault, and it is killed for it; a payload that says impossible things is the
// driver library's, and costs only the device it is about.
#pragma once

#include <cstddef>
#include <span>
#include <variant>

#include "src/gpu/probe/protocol.h"
#include "src/gpu/probe/report.h"
#include "src/platform/base/status.h"

namespace kgpu::probe {

// The reply to one request, head checked, payload not yet: its meaning depends on the request.
struct Reply {
  uint32_t id = 0;
  Op op = Op::kPing;
  nvml::Return result = nvml::kSuccess;
  std::span<const std::byte> payload;  // into the decoded bytes
};

struct Progress {
  uint32_t id = 0;
};

using Frame = std::variant<Hello, Reply, Event, Progress>;

// One message. Errors: InvalidArgument naming what is wrong: size, magic, version, kind, numbers
// out of range, texts without end.
StatusOr<Frame> DecodeFrame(std::span<const std::byte> bytes);

// Payloads of successful replies. Errors: InvalidArgument.
StatusOr<DriverReport> DecodeDriver(std::span<const std::byte> payload);
StatusOr<GpuReport> DecodeGpu(std::span<const std::byte> payload);
StatusOr<MigReport> DecodeMig(std::span<const std::byte> payload);
StatusOr<NvLinkReport> DecodeNvLinks(std::span<const std::byte> payload);
StatusOr<TopologyReport> DecodeTopology(std::span<const std::byte> payload);
// The loader's text in the reply to kInit; empty when loading succeeded.
StatusOr<std::string> DecodeInit(std::span<const std::byte> payload);

}  // namespace kgpu::probe
