// Any bytes as a message of the probe: the parent must answer with a value or an error.
#include <cstddef>
#include <cstdint>
#include <span>

#include "src/probe/decode.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using kgpu::probe::Op;
  const auto bytes = std::as_bytes(std::span(data, size));
  const auto frame = kgpu::probe::DecodeFrame(bytes);
  if (!frame.ok()) {
    return 0;
  }
  const auto* reply = std::get_if<kgpu::probe::Reply>(&*frame);
  if (reply == nullptr) {
    return 0;
  }
  (void)kgpu::probe::DecodeInit(reply->payload);
  (void)kgpu::probe::DecodeDriver(reply->payload);
  (void)kgpu::probe::DecodeGpu(reply->payload);
  (void)kgpu::probe::DecodeMig(reply->payload);
  (void)kgpu::probe::DecodeNvLinks(reply->payload);
  (void)kgpu::probe::DecodeTopology(reply->payload);
  return 0;
}
