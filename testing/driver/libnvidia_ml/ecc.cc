// ECC counters, retired pages, remapped rows.
#include "testing/driver/libnvidia_ml/ecc.h"
#include "testing/driver/libnvidia_ml/call.h"

namespace kgpu::sim {

using nvml::kErrorNotSupported;
using nvml::kSuccess;

const uint64_t (&EccCounters(const SimEcc& ecc, int32_t bits, int32_t counter))[kEccLocations] {
  if (counter == nvml::kEccVolatile) {
    return bits == nvml::kEccCorrected ? ecc.volatile_corrected : ecc.volatile_uncorrected;
  }
  return bits == nvml::kEccCorrected ? ecc.aggregate_corrected : ecc.aggregate_uncorrected;
}

uint64_t EccTotal(const SimEcc& ecc, int32_t bits, int32_t counter) {
  uint64_t total = 0;
  for (uint64_t count : EccCounters(ecc, bits, counter)) {
    total += count == kUnsupported64 ? 0 : count;
  }
  return total;
}

uint32_t RetiredPages(const SimGpu& gpu, uint32_t cause) {
  uint32_t found = 0;
  for (uint32_t i = 0; i < gpu.retired_page_count && i < kMaxRetiredPages; ++i) {
    found += gpu.retired_pages[i].cause == cause ? 1 : 0;
  }
  return found;
}

namespace {

bool AreKnown(int32_t bits, int32_t counter) {
  return (bits == nvml::kEccCorrected || bits == nvml::kEccUncorrected) &&
         (counter == nvml::kEccVolatile || counter == nvml::kEccAggregate);
}

// A function of the counters, which only count where ECC is on.
template <typename Read>
Return EccCall(const char* name, Device device, bool has_arguments, Read&& read) {
  return GpuCall(name, device, has_arguments, [&](const SimGpu& gpu) {
    bool counts = gpu.ecc.is_capable != 0 && gpu.ecc.mode != 0;
    return counts ? read(gpu.ecc) : kErrorNotSupported;
  });
}

nvml::EnableState ToState(uint32_t value) {
  return value != 0 ? nvml::kFeatureEnabled : nvml::kFeatureDisabled;
}

}  // namespace

KGPU_NVML nvmlDeviceGetEccMode(Device device, nvml::EnableState* current,
                               nvml::EnableState* pending) {
  return GpuCall("nvmlDeviceGetEccMode", device, current != nullptr && pending != nullptr,
                 [&](const SimGpu& gpu) {
                   if (gpu.ecc.is_capable == 0) {
                     return kErrorNotSupported;
                   }
                   *current = ToState(gpu.ecc.mode);
                   *pending = ToState(gpu.ecc.pending_mode);
                   return kSuccess;
                 });
}

KGPU_NVML nvmlDeviceGetDefaultEccMode(Device device, nvml::EnableState* mode) {
  return GetSwitch("nvmlDeviceGetDefaultEccMode", device, mode, [](const SimGpu& gpu) {
    return gpu.ecc.is_capable != 0 ? gpu.ecc.default_mode : kUnsupported;
  });
}

KGPU_NVML nvmlDeviceGetTotalEccErrors(Device device, int32_t bits, int32_t counter,
                                      uint64_t* count) {
  return EccCall("nvmlDeviceGetTotalEccErrors", device, count != nullptr && AreKnown(bits, counter),
                 [&](const SimEcc& ecc) {
                   *count = EccTotal(ecc, bits, counter);
                   return kSuccess;
                 });
}

KGPU_NVML nvmlDeviceGetDetailedEccErrors(Device device, int32_t bits, int32_t counter,
                                         nvml::EccErrorCounts* counts) {
  return EccCall("nvmlDeviceGetDetailedEccErrors", device,
                 counts != nullptr && AreKnown(bits, counter), [&](const SimEcc& ecc) {
                   const auto& all = EccCounters(ecc, bits, counter);
                   *counts = {.l1_cache = all[0],
                              .l2_cache = all[1],
                              .device_memory = all[2],
                              .register_file = all[3]};
                   return kSuccess;
                 });
}

KGPU_NVML nvmlDeviceGetMemoryErrorCounter(Device device, int32_t bits, int32_t counter,
                                          int32_t location, uint64_t* count) {
  bool is_known =
      AreKnown(bits, counter) && location >= 0 && location < static_cast<int32_t>(kEccLocations);
  return EccCall(
      "nvmlDeviceGetMemoryErrorCounter", device, count != nullptr && is_known,
      [&](const SimEcc& ecc) { return Put(EccCounters(ecc, bits, counter)[location], count); });
}

// All SRAM errors are of the SM and found by SEC-DED.
KGPU_NVML nvmlDeviceGetSramEccErrorStatus(Device device, nvml::SramEccStatus* status) {
  constexpr uint32_t kSram = 7;  // NVML_MEMORY_LOCATION_SRAM
  constexpr uint32_t kSourceSm = 1;
  return EccCall("nvmlDeviceGetSramEccErrorStatus", device, status != nullptr,
                 [&](const SimEcc& ecc) {
                   uint32_t version = status->version;
                   if (version != nvml::StructVersion<nvml::SramEccStatus>(1)) {
                     return nvml::kErrorArgumentVersionMismatch;
                   }
                   *status = {};
                   status->version = version;
                   status->aggregate_sec_ded = ecc.aggregate_uncorrected[kSram];
                   status->aggregate_corrected = ecc.aggregate_corrected[kSram];
                   status->volatile_sec_ded = ecc.volatile_uncorrected[kSram];
                   status->volatile_corrected = ecc.volatile_corrected[kSram];
                   status->aggregate_sources[kSourceSm] = ecc.aggregate_uncorrected[kSram];
                   status->is_threshold_exceeded = ecc.is_sram_threshold_exceeded;
                   return kSuccess;
                 });
}

namespace {

Return ListRetiredPages(Device device, uint32_t cause, uint32_t* count, uint64_t* addresses,
                        uint64_t* timestamps) {
  constexpr char kName[] = "nvmlDeviceGetRetiredPages";
  if (count == nullptr || cause > 1) {
    return GpuCall(kName, device, false, [](const SimGpu&) { return kSuccess; });
  }
  ListWriter writer(count, addresses != nullptr);
  return GpuCall(kName, device, true, [&](const SimGpu& gpu) {
    writer.Clear();
    if (gpu.retirement_is_capable == 0) {
      return kErrorNotSupported;
    }
    for (uint32_t i = 0; i < gpu.retired_page_count && i < kMaxRetiredPages; ++i) {
      const SimRetiredPage& page = gpu.retired_pages[i];
      if (page.cause != cause) {
        continue;
      }
      if (int64_t at = writer.Next(); at >= 0) {
        addresses[at] = page.address;
        if (timestamps != nullptr) {
          timestamps[at] = page.timestamp_us;
        }
      }
    }
    return writer.Finish();
  });
}

}  // namespace

KGPU_NVML nvmlDeviceGetRetiredPages(Device device, uint32_t cause, uint32_t* count,
                                    uint64_t* addresses) {
  return ListRetiredPages(device, cause, count, addresses, nullptr);
}

KGPU_NVML nvmlDeviceGetRetiredPages_v2(Device device, uint32_t cause, uint32_t* count,
                                       uint64_t* addresses, uint64_t* timestamps) {
  return ListRetiredPages(device, cause, count, addresses, timestamps);
}

KGPU_NVML nvmlDeviceGetRetiredPagesPendingStatus(Device device, nvml::EnableState* is_pending) {
  return GetSwitch(
      "nvmlDeviceGetRetiredPagesPendingStatus", device, is_pending, [](const SimGpu& gpu) {
        return gpu.retirement_is_capable != 0 ? gpu.retired_pages_pending : kUnsupported;
      });
}

KGPU_NVML nvmlDeviceGetRemappedRows(Device device, uint32_t* corrected, uint32_t* uncorrected,
                                    uint32_t* is_pending, uint32_t* has_failed) {
  bool has_arguments = corrected != nullptr && uncorrected != nullptr && is_pending != nullptr &&
                       has_failed != nullptr;
  return GpuCall("nvmlDeviceGetRemappedRows", device, has_arguments, [&](const SimGpu& gpu) {
    if (gpu.remap.is_capable == 0) {
      return kErrorNotSupported;
    }
    *corrected = gpu.remap.corrected;
    *uncorrected = gpu.remap.uncorrected;
    *is_pending = gpu.remap.is_pending;
    *has_failed = gpu.remap.has_failed;
    return kSuccess;
  });
}

KGPU_NVML nvmlDeviceGetRowRemapperHistogram(Device device, nvml::RowRemapperHistogram* values) {
  return GpuCall("nvmlDeviceGetRowRemapperHistogram", device, values != nullptr,
                 [&](const SimGpu& gpu) {
                   if (gpu.remap.is_capable == 0) {
                     return kErrorNotSupported;
                   }
                   memcpy(values, gpu.remap.histogram, sizeof(*values));
                   return kSuccess;
                 });
}

}  // namespace kgpu::sim
