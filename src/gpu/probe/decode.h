// Decodes the probe's frames in the parent: pure functions of bytes. An invalid frame is the
// probe's fault, and the probe is killed for it; a payload with impossible values is the driver
// library's fault, and costs only the device that it is about.
#pragma once

#include <cstddef>
#include <span>
#include <variant>

#include "src/gpu/probe/protocol.h"
#include "src/gpu/probe/report.h"
#include "src/platform/base/status.h"

namespace kgpu::probe {

// The reply to one request. The head is checked; how to read the payload depends on the request.
struct Reply {
  uint32_t id = 0;
  Op op = Op::kPing;
  nvml::Return result = nvml::kSuccess;
  std::span<const std::byte> payload;  // points into the decoded bytes
};

struct Progress {
  uint32_t id = 0;
};

using Frame = std::variant<Hello, Reply, Event, Progress>;

// Decodes one message. Errors: InvalidArgument naming the problem: size, magic, version, kind,
// numbers out of range, unterminated texts.
StatusOr<Frame> DecodeFrame(std::span<const std::byte> bytes);

// Decode payloads of successful replies. Errors: InvalidArgument.
StatusOr<DriverReport> DecodeDriver(std::span<const std::byte> payload);
StatusOr<GpuReport> DecodeGpu(std::span<const std::byte> payload);
StatusOr<MigReport> DecodeMig(std::span<const std::byte> payload);
StatusOr<NvLinkReport> DecodeNvLinks(std::span<const std::byte> payload);
StatusOr<TopologyReport> DecodeTopology(std::span<const std::byte> payload);
// The loader's message in the reply to kInit; empty if loading succeeded.
StatusOr<std::string> DecodeInit(std::span<const std::byte> payload);

}  // namespace kgpu::probe
