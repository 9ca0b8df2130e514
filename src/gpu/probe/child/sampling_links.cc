// NVLinks: whether each is up, its errors and how much went over it.
#include "src/gpu/probe/child/sampling.h"

namespace kgpu::probe::child {
namespace {

constexpr int32_t kErrors[] = {nvml::kNvLinkReplay, nvml::kNvLinkRecovery, nvml::kNvLinkCrcFlit,
                               nvml::kNvLinkCrcData};

void Put(LinkSampleEntry* entry, LinkField field, uint64_t value) {
  entry->has |= 1U << static_cast<uint32_t>(field);
  entry->values[static_cast<uint32_t>(field)] = value;
}

// Of each direction: what NVLink 4 and older count, in KiB, and what newer ones count, in bytes.
struct Traffic {
  nvml::FieldId kibibytes;
  nvml::FieldId bytes;
  LinkField field;
};
constexpr Traffic kTraffic[] = {
    {nvml::kFieldNvLinkDataTx, nvml::kFieldNvLinkSentBytes, LinkField::kSentKib},
    {nvml::kFieldNvLinkDataRx, nvml::kFieldNvLinkReceivedBytes, LinkField::kReceivedKib},
};
constexpr uint32_t kDirections = 2;
constexpr uint32_t kPerLink = 2 * kDirections;

bool IsThere(const nvml::FieldValue& value) {
  return value.nvml_return == nvml::kSuccess && value.value_type != nvml::kValueDouble;
}
uint64_t NumberOf(const nvml::FieldValue& value) {
  return value.value_type == nvml::kValueUint ? value.value.uint : value.value.ulong;
}

// One call for the traffic of all links.
void ReadTraffic(Driver& driver, nvml::Device device, LinkSamplePayload* payload) {
  nvml::FieldValue values[kPerLink * kMaxNvLinks] = {};
  const uint32_t count = kPerLink * payload->count;
  for (uint32_t i = 0; i < count; ++i) {
    const Traffic& wanted = kTraffic[i % kDirections];
    values[i].field_id = i % kPerLink < kDirections ? wanted.kibibytes : wanted.bytes;
    values[i].scope_id = payload->links[i / kPerLink].link;
  }
  if (count == 0 || driver.Call(nvml::kDeviceGetFieldValues, device, static_cast<int32_t>(count),
                                static_cast<nvml::FieldValue*>(values)) != nvml::kSuccess) {
    return;
  }
  for (uint32_t link = 0; link < payload->count; ++link) {
    for (uint32_t i = 0; i < kDirections; ++i) {
      const nvml::FieldValue& older = values[kPerLink * link + i];
      const nvml::FieldValue& newer = values[kPerLink * link + kDirections + i];
      if (IsThere(older)) {
        Put(&payload->links[link], kTraffic[i].field, NumberOf(older));
      } else if (IsThere(newer)) {
        Put(&payload->links[link], kTraffic[i].field, NumberOf(newer) / 1024);
      }
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
