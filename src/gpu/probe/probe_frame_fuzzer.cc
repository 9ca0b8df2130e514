// Any bytes as a message of the probe: the parent must answer with a value or an error. They are
// tried as they are, and as the payload of a reply of the right size: what lies behind the head is
// reached whatever the protocol's version.
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "src/gpu/probe/decode.h"
#include "src/gpu/probe/decode_mig.h"
#include "src/gpu/probe/decode_sample.h"
#include "src/gpu/probe/mig_protocol.h"
#include "src/gpu/probe/sample_protocol.h"

namespace {

using Bytes = std::span<const std::byte>;

template <typename Payload, typename Decode>
void Try(Bytes bytes, Decode decode) {
  std::vector<std::byte> payload(bytes.begin(), bytes.end());
  payload.resize(sizeof(Payload));
  (void)decode(payload);
  (void)decode(bytes);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace kgpu::probe;  // NOLINT(google-build-using-namespace): every decoder of it
  const Bytes bytes = std::as_bytes(std::span(data, size));
  (void)DecodeFrame(bytes);
  const Bytes payload = size > sizeof(ReplyHeader) ? bytes.subspan(sizeof(ReplyHeader)) : bytes;
  Try<InitPayload>(payload, &DecodeInit);
  Try<DriverPayload>(payload, &DecodeDriver);
  Try<GpuPayload>(payload, &DecodeGpu);
  Try<MigPayload>(payload, &DecodeMig);
  Try<NvLinkPayload>(payload, &DecodeNvLinks);
  Try<TopologyPayload>(payload, &DecodeTopology);
  Try<SamplePayload>(payload, &DecodeSample);
  Try<LinkSamplePayload>(payload, &DecodeLinkSamples);
  Try<ProcessPayload>(payload, &DecodeProcesses);
  Try<MigSamplePayload>(payload, &DecodeMigSample);
  Try<MigProfilesPayload>(payload, &DecodeMigProfiles);
  Try<MigInstancesPayload>(payload, &DecodeMigLayout);
  Try<MigModePayload>(payload, &DecodeMigMode);
  Try<GpuInstancePayload>(payload, &DecodeGpuInstance);
  Try<ComputeInstancePayload>(payload, &DecodeComputeInstance);
  return 0;
}
