// NVLinks: whether each is up, its errors and how much went over it.
#include "src/probe/child/sampling.h"

namespace kgpu::probe::child {
namespace {

constexpr int32_t kErrors[] = {nvml::kNvLinkReplay, nvml::kNvLinkRecovery, nvml::kNvLinkCrcFlit,
                               nvml::kNvLinkCrcData};

void Put(LinkSampleEntry* entry, LinkField field, uint64_t value) {
  entry->has |= 1U << static_cast<uint32_t>(field);
  entry->values[static_cast<uint32_t>(field)] = value;
}

// One call for the traffic of all links.
void ReadTraffic(Driver& driver, nvml::Device device, LinkSamplePayload* payload) {
  nvml::FieldValue values[2 * kMaxNvLinks] = {};
  for (uint32_t i = 0; i < payload->count; ++i) {
    values[2 * i].field_id = nvml::kFieldNvLinkDataTx;
    values[2 * i + 1].field_id = nvml::kFieldNvLinkDataRx;
    values[2 * i].scope_id = values[2 * i + 1].scope_id = payload->links[i].link;
  }
  if (payload->count == 0 ||
      driver.Call(nvml::kDeviceGetFieldValues, device, static_cast<int32_t>(2 * payload->count),
                  static_cast<nvml::FieldValue*>(values)) != nvml::kSuccess) {
    return;
  }
  for (uint32_t i = 0; i < 2 * payload->count; ++i) {
    if (values[i].nvml_return == nvml::kSuccess && values[i].value_type != nvml::kValueDouble) {
      Put(&payload->links[i / 2], i % 2 == 0 ? LinkField::kSentKib : LinkField::kReceivedKib,
          values[i].value_type == nvml::kValueUint ? values[i].value.uint : values[i].value.ulong);
    }
  }
}

}  // namespace

nvml::Return Sampling::ReadNvLinks(uint32_t gpu, LinkSamplePayload* payload) {
  GpuState* state = nullptr;
  if (const nvml::Return result = Begin(gpu, &state); result != nvml::kSuccess) {
    return result;
  }
  for (uint32_t link = 0; link < kMaxNvLinks; ++link) {
    auto is_active = nvml::kFeatureDisabled;
    const nvml::Return result =
        driver_.Call(nvml::kDeviceGetNvLinkState, state->device, link, &is_active);
    if (result == nvml::kErrorGpuIsLost) {
      return End(gpu, result);
    }
    if (result == nvml::kErrorNotSupported) {
      continue;  // a board may leave single links out
    }
    if (result != nvml::kSuccess) {
      break;  // past the last link
    }
    LinkSampleEntry* entry = &payload->links[payload->count++];
    entry->link = link;
    entry->is_active = is_active == nvml::kFeatureEnabled ? 1 : 0;
    for (uint32_t i = 0; i < 4; ++i) {
      uint64_t count = 0;
      if (driver_.Call(nvml::kDeviceGetNvLinkErrorCounter, state->device, link, kErrors[i],
                       &count) == nvml::kSuccess) {
        Put(entry, static_cast<LinkField>(i), count);
      }
    }
  }
  ReadTraffic(driver_, state->device, payload);
  return nvml::kSuccess;
}

}  // namespace kgpu::probe::child
