// nvmlDeviceGetFieldValues: single values by number.
#include "testing/driver/counters.h"
#include "testing/driver/libnvidia_ml/call.h"
#include "testing/driver/libnvidia_ml/ecc.h"

namespace kgpu::sim {

using nvml::FieldValue;
using nvml::kErrorInvalidArgument;
using nvml::kErrorNotSupported;
using nvml::kSuccess;

namespace {

using enum nvml::FieldId;

// NVML_FI_DEV_*: those that sample_abi.h does not have.
enum Field : uint32_t {
  kFieldEccCurrent = 1,
  kFieldEccPending = 2,
  kFieldEccFirstLocation = 7,
  kFieldEccLastLocation = 28,
  kFieldLinkErrorsFirst = 32,
  kFieldLinkErrorsLast = 59,
  kFieldPerfPolicyFirst = 74,
  kFieldPerfPolicyLast = 81,
  kFieldLinkSpeedFirst = 84,
  kFieldLinkSpeedLast = 89,
  kFieldLinkSpeedCommon = 90,
  kFieldLinkCount = 91,
  kFieldRetiredPendingSbe = 92,
  kFieldRetiredPendingDbe = 93,
  kFieldPcieReplayRollover = 95,
  kFieldLinkErrorsMoreFirst = 96,
  kFieldLinkErrorsMoreLast = 119,
  kFieldLinkSpeedMoreFirst = 132,
  kFieldLinkSpeedMoreLast = 137,
  kFieldRemoteLinkId = 146,
  kFieldSwitchLinks = 147,
  kFieldLinkReplay = 161,
  kFieldLinkRecovery = 162,
  kFieldLinkCrc = 163,
  kFieldLinkGetSpeed = 164,
  kFieldLinkGetState = 165,
  kFieldLinkGetVersion = 166,
  kFieldC2cLinks = 170,
  kFieldPowerAverage = 185,
  kFieldPowerInstant = 186,
  kFieldPowerMinimum = 187,
  kFieldPowerMaximum = 188,
  kFieldPowerDefault = 189,
  kFieldPowerCurrent = 190,
  kFieldEnergyToo = 191,
  kFieldPowerRequested = 192,
  kFieldResetlessMig = 184,
};

// NVML_FI_DEV_NVLINK_THROUGHPUT_RAW_*: with protocol; the same here.
constexpr uint32_t kFieldNvLinkRawTx = 140;
constexpr uint32_t kFieldNvLinkRawRx = 141;
// The scope that means all links.
constexpr uint32_t kAllLinks = 0xffffffffU;

bool IsBetween(uint32_t id, uint32_t first, uint32_t last) {
  return id >= first && id <= last;
}

Return PutUint(FieldValue& field, uint32_t value) {
  field.value_type = nvml::kValueUint;
  field.value.ulong = 0;
  return Put(value, &field.value.uint);
}

Return PutLong(FieldValue& field, uint64_t value) {
  field.value_type = nvml::kValueUlongLong;
  return Put(value, &field.value.ulong);
}

// The counters by location, in NVML's order: volatile, then aggregate; L1, L2, device memory,
// register file, texture memory (each corrected, then uncorrected), CBU uncorrected only.
Return EccByLocation(const SimEcc& ecc, FieldValue& field) {
  constexpr uint32_t kOfOneCounter = 11;
  uint32_t index = field.field_id - kFieldEccFirstLocation;
  int32_t counter = index < kOfOneCounter ? nvml::kEccVolatile : nvml::kEccAggregate;
  index %= kOfOneCounter;
  bool is_cbu = index == kOfOneCounter - 1;
  constexpr uint32_t kCbu = 6;
  uint32_t location = is_cbu ? kCbu : index / 2;
  int32_t bits = is_cbu || index % 2 != 0 ? nvml::kEccUncorrected : nvml::kEccCorrected;
  return PutLong(field, EccCounters(ecc, bits, counter)[location]);
}

Return EccField(const SimGpu& gpu, FieldValue& field) {
  const SimEcc& ecc = gpu.ecc;
  if (ecc.is_capable == 0) {
    return kErrorNotSupported;
  }
  if (field.field_id == kFieldEccCurrent) {
    return PutUint(field, ecc.mode);
  }
  if (field.field_id == kFieldEccPending) {
    return PutUint(field, ecc.pending_mode);
  }
  if (ecc.mode == 0) {
    return kErrorNotSupported;
  }
  switch (field.field_id) {
    case kFieldEccSbeVolatileTotal:
      return PutLong(field, EccTotal(ecc, nvml::kEccCorrected, nvml::kEccVolatile));
    case kFieldEccDbeVolatileTotal:
      return PutLong(field, EccTotal(ecc, nvml::kEccUncorrected, nvml::kEccVolatile));
    case kFieldEccSbeAggregateTotal:
      return PutLong(field, EccTotal(ecc, nvml::kEccCorrected, nvml::kEccAggregate));
    case kFieldEccDbeAggregateTotal:
      return PutLong(field, EccTotal(ecc, nvml::kEccUncorrected, nvml::kEccAggregate));
    default:
      return EccByLocation(ecc, field);
  }
}

Return RetirementField(const SimGpu& gpu, FieldValue& field) {
  if (gpu.retirement_is_capable == 0) {
    return kErrorNotSupported;
  }
  switch (field.field_id) {
    case kFieldRetiredSbe:
      return PutLong(field, RetiredPages(gpu, 0));
    case kFieldRetiredDbe:
      return PutLong(field, RetiredPages(gpu, 1));
    default:
      return PutLong(field, gpu.retired_pages_pending != 0 ? 1 : 0);
  }
}

Return RemapField(const SimGpu& gpu, FieldValue& field) {
  if (gpu.remap.is_capable == 0) {
    return kErrorNotSupported;
  }
  switch (field.field_id) {
    case kFieldRemappedCorrected:
      return PutUint(field, gpu.remap.corrected);
    case kFieldRemappedUncorrected:
      return PutUint(field, gpu.remap.uncorrected);
    case kFieldRemapPending:
      return PutUint(field, gpu.remap.is_pending);
    default:
      return PutUint(field, gpu.remap.has_failed);
  }
}

// Error counters come as four groups (CRC flit, CRC data, replay, recovery) in two ranges: links
// 0…5 with a total each, and links 6…11 without. SimNvLink::errors has another order.
constexpr uint32_t kErrorOfGroup[4] = {2, 3, 0, 1};

uint64_t LinkErrors(const SimGpu& gpu, uint32_t error, uint32_t first, uint32_t end) {
  uint64_t total = 0;
  for (uint32_t i = first; i < end && i < gpu.nvlink_count && i < kMaxNvLinks; ++i) {
    total += gpu.nvlinks[i].exists != 0 ? gpu.nvlinks[i].errors[error] : 0;
  }
  return total;
}

Return LinkErrorField(const SimGpu& gpu, FieldValue& field) {
  bool has_total = field.field_id <= kFieldLinkErrorsLast;
  uint32_t width = has_total ? 7 : 6;
  uint32_t index = field.field_id - (has_total ? kFieldLinkErrorsFirst : kFieldLinkErrorsMoreFirst);
  uint32_t error = kErrorOfGroup[index / width];
  uint32_t link = index % width + (has_total ? 0 : 6);
  if (has_total && link == 6) {
    return PutLong(field, LinkErrors(gpu, error, 0, kMaxNvLinks));
  }
  return link < gpu.nvlink_count ? PutLong(field, LinkErrors(gpu, error, link, link + 1))
                                 : kErrorNotSupported;
}

bool IsByteField(uint32_t id) {
  return id == kFieldNvLinkSentBytes || id == kFieldNvLinkReceivedBytes;
}

bool IsTrafficField(uint32_t id) {
  return IsBetween(id, kFieldNvLinkDataTx, kFieldNvLinkRawRx) || IsByteField(id);
}

// From NVLink 5 on links count bytes, the older ones KiB.
constexpr uint32_t kFirstThatCountsBytes = 5;

Return LinkTraffic(const SimGpu& gpu, FieldValue& field) {
  bool is_bytes = IsByteField(field.field_id);
  bool is_sent = field.field_id == kFieldNvLinkDataTx || field.field_id == kFieldNvLinkRawTx ||
                 field.field_id == kFieldNvLinkSentBytes;
  uint64_t now = NowBootNs();
  uint64_t total = 0;
  bool is_found = false;
  for (uint32_t i = 0; i < gpu.nvlink_count && i < kMaxNvLinks; ++i) {
    const SimNvLink& link = gpu.nvlinks[i];
    if (link.exists != 0 && (field.scope_id == kAllLinks || field.scope_id == i)) {
      if (is_bytes != (link.version >= kFirstThatCountsBytes)) {
        return kErrorNotSupported;
      }
      total += is_sent ? LinkTxKib(gpu, link, now) : LinkRxKib(gpu, link, now);
      is_found = true;
    }
  }
  return is_found ? PutLong(field, is_bytes ? total * 1024 : total) : kErrorInvalidArgument;
}

uint32_t LinksToSwitches(const SimGpu& gpu) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < gpu.nvlink_count && i < kMaxNvLinks; ++i) {
    const SimNvLink& link = gpu.nvlinks[i];
    count += link.exists != 0 && link.remote_type == kRemoteSwitch ? 1 : 0;
  }
  return count;
}

// The link is the scope of the field.
Return ScopedLinkField(const SimGpu& gpu, FieldValue& field) {
  if (field.scope_id >= gpu.nvlink_count || field.scope_id >= kMaxNvLinks) {
    return kErrorInvalidArgument;
  }
  const SimNvLink& link = gpu.nvlinks[field.scope_id];
  switch (field.field_id) {
    case kFieldRemoteLinkId:
      return PutUint(field, link.remote_link);
    case kFieldLinkReplay:
      return PutLong(field, link.errors[0]);
    case kFieldLinkRecovery:
      return PutLong(field, link.errors[1]);
    case kFieldLinkCrc:
      return PutLong(field, link.errors[2] + link.errors[3]);
    case kFieldLinkGetSpeed:
      return PutUint(field, link.is_active != 0 ? link.speed_mbps : 0);
    case kFieldLinkGetState:
      return PutUint(field, link.is_active);
    default:
      return PutUint(field, link.version);
  }
}

Return LinkSpeedField(const SimGpu& gpu, FieldValue& field) {
  uint32_t link = 0;
  if (IsBetween(field.field_id, kFieldLinkSpeedFirst, kFieldLinkSpeedLast)) {
    link = field.field_id - kFieldLinkSpeedFirst;
  } else if (field.field_id != kFieldLinkSpeedCommon) {
    link = field.field_id - kFieldLinkSpeedMoreFirst + 6;
  }
  if (link >= gpu.nvlink_count || link >= kMaxNvLinks) {
    return kErrorNotSupported;
  }
  return PutUint(field, gpu.nvlinks[link].is_active != 0 ? gpu.nvlinks[link].speed_mbps : 0);
}

Return LinkField(const SimGpu& gpu, FieldValue& field) {
  uint32_t id = field.field_id;
  if (id == kFieldLinkCount) {
    return PutUint(field, gpu.nvlink_count);
  }
  if (gpu.nvlink_count == 0) {
    return kErrorNotSupported;
  }
  if (id == kFieldSwitchLinks) {
    return PutUint(field, LinksToSwitches(gpu));
  }
  if (IsTrafficField(id)) {
    return LinkTraffic(gpu, field);
  }
  if (IsBetween(id, kFieldLinkErrorsFirst, kFieldLinkErrorsLast) ||
      IsBetween(id, kFieldLinkErrorsMoreFirst, kFieldLinkErrorsMoreLast)) {
    return LinkErrorField(gpu, field);
  }
  if (IsBetween(id, kFieldLinkReplay, kFieldLinkGetVersion) || id == kFieldRemoteLinkId) {
    return ScopedLinkField(gpu, field);
  }
  return LinkSpeedField(gpu, field);
}

bool IsLinkField(uint32_t id) {
  return IsTrafficField(id) || IsBetween(id, kFieldLinkErrorsFirst, kFieldLinkErrorsLast) ||
         IsBetween(id, kFieldLinkSpeedFirst, kFieldLinkCount) ||
         IsBetween(id, kFieldLinkErrorsMoreFirst, kFieldLinkErrorsMoreLast) ||
         IsBetween(id, kFieldLinkSpeedMoreFirst, kFieldLinkSpeedMoreLast) ||
         IsBetween(id, kFieldRemoteLinkId, kFieldSwitchLinks) ||
         IsBetween(id, kFieldLinkReplay, kFieldLinkGetVersion);
}

Return PowerField(const SimGpu& gpu, FieldValue& field) {
  switch (field.field_id) {
    case kFieldPowerMinimum:
      return PutUint(field, gpu.power.minimum_limit);
    case kFieldPowerMaximum:
      return PutUint(field, gpu.power.maximum_limit);
    case kFieldPowerDefault:
      return PutUint(field, gpu.power.default_limit);
    case kFieldPowerCurrent:
    case kFieldPowerRequested:
      return PutUint(field, gpu.power.limit);
    case kFieldEnergyToo:
      return PutLong(field, EnergyMj(gpu, NowBootNs()));
    default:
      return PutUint(field, gpu.power.usage);
  }
}

// Degrees below T.Limit 0, as negative numbers.
Return TLimitField(const SimGpu& gpu, FieldValue& field) {
  const SimTemperature& heat = gpu.temperature;
  uint32_t limit = heat.gpu_max;
  switch (field.field_id) {
    case kFieldShutdownTLimit:
      limit = heat.shutdown;
      break;
    case kFieldSlowdownTLimit:
      limit = heat.slowdown;
      break;
    case kFieldMemoryMaxTLimit:
      limit = heat.memory_max;
      break;
    default:
      break;
  }
  if (!ReportsTLimits(gpu) || limit == kUnsupported) {
    return kErrorNotSupported;
  }
  field.value_type = nvml::kValueSignedInt;
  field.value.ulong = 0;
  field.value.signed_int = static_cast<int32_t>(heat.gpu_max) - static_cast<int32_t>(limit);
  return kSuccess;
}

Return OtherField(const SimGpu& gpu, FieldValue& field) {
  switch (field.field_id) {
    case kFieldMemoryTemperature:
      return PutUint(field, gpu.temperature.memory);
    case kFieldEnergy:
      return PutLong(field, EnergyMj(gpu, NowBootNs()));
    case kFieldPcieReplay:
      return PutUint(field, gpu.pcie.replay_counter);
    case kFieldPcieReplayRollover:
    case kFieldC2cLinks:
      return PutUint(field, 0);
    case kFieldResetlessMig:
      return PutUint(field, gpu.mig.is_capable != 0 && gpu.mig.needs_reset == 0 ? 1 : 0);
    default:
      return kErrorNotSupported;
  }
}

// The number before the first dot of the driver's version.
uint32_t MajorVersion(const SimState& state) {
  uint32_t major = 0;
  for (char digit : state.driver.version) {
    if (digit < '0' || digit > '9' || major > 9999) {
      break;
    }
    major = major * 10 + static_cast<uint32_t>(digit - '0');
  }
  return major;
}

constexpr uint32_t kFirstWithPcieCounters = 565;
constexpr uint32_t kFirstWithRecoveryAction = 570;

// Fields that older drivers do not know.
Return NewerField(const SimState& state, const SimGpu& gpu, FieldValue& field) {
  bool is_known =
      MajorVersion(state) >=
      (field.field_id == kFieldRecoveryAction ? kFirstWithRecoveryAction : kFirstWithPcieCounters);
  if (!is_known) {
    return kErrorNotSupported;
  }
  if (field.field_id == kFieldRecoveryAction) {
    bool is_plain_reset = gpu.recovery_action == 0 && gpu.reset_required != 0;
    return PutUint(field, is_plain_reset ? uint32_t{nvml::kRecoveryGpuReset} : gpu.recovery_action);
  }
  if (gpu.pcie.tx_kib_s == kUnsupported) {
    return kErrorNotSupported;
  }
  return PutLong(field, field.field_id == kFieldPcieTxBytes ? PcieTxBytes(gpu, NowBootNs())
                                                            : PcieRxBytes(gpu, NowBootNs()));
}

Return ReadField(const SimState& state, const SimGpu& gpu, FieldValue& field) {
  uint32_t id = field.field_id;
  if (id == kFieldPcieTxBytes || id == kFieldPcieRxBytes || id == kFieldRecoveryAction) {
    return NewerField(state, gpu, field);
  }
  if (IsBetween(id, kFieldEccCurrent, kFieldEccLastLocation)) {
    return EccField(gpu, field);
  }
  if (IsBetween(id, kFieldRetiredSbe, kFieldRetiredPending) ||
      IsBetween(id, kFieldRetiredPendingSbe, kFieldRetiredPendingDbe)) {
    return RetirementField(gpu, field);
  }
  if (IsLinkField(id)) {
    return LinkField(gpu, field);
  }
  if (IsBetween(id, kFieldPerfPolicyFirst, kFieldPerfPolicyLast)) {
    if (gpu.throttle_reasons == kUnsupported64) {
      return kErrorNotSupported;
    }
    auto policy = static_cast<int32_t>(id - kFieldPerfPolicyFirst);
    return PutLong(field, ViolationNs(gpu, policy, NowBootNs()));
  }
  if (IsBetween(id, kFieldRemappedCorrected, kFieldRemapFailed)) {
    return RemapField(gpu, field);
  }
  if (IsBetween(id, kFieldPowerAverage, kFieldPowerRequested)) {
    return PowerField(gpu, field);
  }
  if (IsBetween(id, kFieldShutdownTLimit, kFieldGpuMaxTLimit)) {
    return TLimitField(gpu, field);
  }
  return OtherField(gpu, field);
}

constexpr int32_t kMaxFields = 4096;

}  // namespace

KGPU_NVML nvmlDeviceGetFieldValues(Device device, int32_t count, FieldValue* values) {
  Target target;
  Return checked =
      CheckArguments(values != nullptr && count > 0 && count <= kMaxFields, device, target);
  if (checked != kSuccess) {
    return checked;
  }
  return SlotCall("nvmlDeviceGetFieldValues", target.slot,
                  [&](const Session&, const SimState& state) {
                    if (target.is_mig) {
                      return kErrorNotSupported;
                    }
                    auto now = static_cast<int64_t>(NowUs());
                    for (int32_t i = 0; i < count; ++i) {
                      FieldValue& field = values[i];
                      field.timestamp_us = now;
                      field.latency_us = 0;
                      field.nvml_return = ReadField(state, state.gpus[target.slot], field);
                    }
                    return kSuccess;
                  });
}

}  // namespace kgpu::sim
