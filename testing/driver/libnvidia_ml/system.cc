// Initialisation, versions, and what belongs to no GPU.
#include "testing/driver/libnvidia_ml/call.h"

namespace kgpu::sim {
namespace {

using nvml::kErrorInvalidArgument;
using nvml::kErrorNotFound;
using nvml::kSuccess;

struct ErrorText {
  int32_t code;
  const char* text;
};

// The texts of Debian's library of driver 535.
constexpr ErrorText kErrorTexts[] = {
    {nvml::kSuccess, "Success"},
    {nvml::kErrorUninitialized, "Uninitialized"},
    {nvml::kErrorInvalidArgument, "Invalid Argument"},
    {nvml::kErrorNotSupported, "Not Supported"},
    {nvml::kErrorNoPermission, "Insufficient Permissions"},
    {nvml::kErrorAlreadyInitialized, "Already Initialized"},
    {nvml::kErrorNotFound, "Not Found"},
    {nvml::kErrorInsufficientSize, "Insufficient Size"},
    {nvml::kErrorInsufficientPower, "Insufficient External Power"},
    {nvml::kErrorDriverNotLoaded, "Driver Not Loaded"},
    {nvml::kErrorTimeout, "Timeout"},
    {nvml::kErrorIrqIssue, "Interrupt Request Issue"},
    {nvml::kErrorLibraryNotFound, "NVML Shared Library Not Found"},
    {nvml::kErrorFunctionNotFound, "Function Not Found"},
    {nvml::kErrorCorruptedInforom, "Corrupted infoROM"},
    {nvml::kErrorGpuIsLost, "GPU is lost"},
    {nvml::kErrorResetRequired, "GPU requires reset"},
    {nvml::kErrorOperatingSystem, "GPU access blocked by the operating system"},
    {nvml::kErrorLibRmVersionMismatch, "Driver/library version mismatch"},
    {nvml::kErrorInUse, "In use by another client"},
    {nvml::kErrorMemory, "Insufficient Memory"},
    {nvml::kErrorNoData, "No data"},
    {nvml::kErrorVgpuEccNotSupported, "vGPU ECC not supported"},
    {nvml::kErrorInsufficientResources, "Insufficient Resources"},
    {nvml::kErrorFreqNotSupported, "Invalid Frequency"},
    {nvml::kErrorArgumentVersionMismatch, "Argument version mismatch"},
    {nvml::kErrorDeprecated, "Requested functionality has been deprecated"},
    {nvml::kErrorNotReady, "System is not in ready state"},
};

Return Open() {
  Return result = OpenSession();
  if (result != kSuccess) {
    return result;
  }
  SessionRef session;
  if (session) {
    ObeyKnobs(*session, "nvmlInit", kNoSlot);
  }
  return kSuccess;
}

}  // namespace

KGPU_NVML nvmlInit_v2() {
  return Open();
}

KGPU_NVML nvmlInit() KGPU_NVML_ALIAS(nvmlInit_v2);

// A host without GPUs initialises as well, so that kInitFlagNoGpus changes nothing.
KGPU_NVML nvmlInitWithFlags(uint32_t) {
  return Open();
}

KGPU_NVML nvmlShutdown() {
  {
    SessionRef session;
    if (session) {
      ObeyKnobs(*session, "nvmlShutdown", kNoSlot);
    }
  }
  return CloseSession();
}

extern "C" __attribute__((visibility("default"))) const char* nvmlErrorString(Return result) {
  for (const ErrorText& error : kErrorTexts) {
    if (error.code == result) {
      return error.text;
    }
  }
  return "Unknown Error";
}

KGPU_NVML nvmlSystemGetDriverVersion(char* version, uint32_t length) {
  return SystemCall("nvmlSystemGetDriverVersion", version != nullptr,
                    [&](const Session&, const SimState& state) {
                      return PutText(state.driver.version, version, length);
                    });
}

// Answers without nvmlInit, like the real one: the library knows its own version.
KGPU_NVML nvmlSystemGetNVMLVersion(char* version, uint32_t length) {
  if (version == nullptr) {
    return kErrorInvalidArgument;
  }
  char own[32];
  OwnVersion(own);
  SessionRef session;
  if (session) {
    memcpy(own, session->version, sizeof(own));
  }
  char text[nvml::kSystemVersionSize];
  int major = 12;
  if (session) {
    major = static_cast<int>(session->shared.state->driver.cuda_version / 1000);
  }
  (void)snprintf(text, sizeof(text), "%d.%s", major, own[0] == '\0' ? "0" : own);
  return PutText(text, version, length);
}

KGPU_NVML nvmlSystemGetCudaDriverVersion_v2(int32_t* version) {
  return SystemCall("nvmlSystemGetCudaDriverVersion", version != nullptr,
                    [&](const Session&, const SimState& state) {
                      *version = static_cast<int32_t>(state.driver.cuda_version);
                      return kSuccess;
                    });
}

KGPU_NVML nvmlSystemGetCudaDriverVersion(int32_t*)
    KGPU_NVML_ALIAS(nvmlSystemGetCudaDriverVersion_v2);

namespace {

Return PutProcessName(const Session& session, const SimState& state, uint32_t pid, char* name,
                      uint32_t length) {
  for (uint32_t i = 0; i < session.gpu_count; ++i) {
    for (const SimProcess& process : state.gpus[session.gpus[i].slot].processes) {
      if (process.pid == pid && process.name[0] != '\0') {
        size_t size = strnlen(process.name, sizeof(process.name));
        // The real library cuts the name to the buffer.
        size_t fits = size < length ? size : length - 1;
        memcpy(name, process.name, fits);
        name[fits] = '\0';
        return kSuccess;
      }
    }
  }
  return kErrorNotFound;
}

}  // namespace

KGPU_NVML nvmlSystemGetProcessName(uint32_t pid, char* name, uint32_t length) {
  return SystemCall("nvmlSystemGetProcessName", name != nullptr && length != 0 && pid != 0,
                    [&](const Session& session, const SimState& state) {
                      return PutProcessName(session, state, pid, name, length);
                    });
}

KGPU_NVML nvmlSystemGetTopologyGpuSet(uint32_t cpu, uint32_t* count, Device* devices) {
  return SystemCall("nvmlSystemGetTopologyGpuSet", count != nullptr && cpu < kCpuMaskWords * 64,
                    [&, writer = ListWriter(count, devices != nullptr)](
                        const Session& session, const SimState& state) mutable {
                      writer.Clear();
                      for (uint32_t i = 0; i < session.gpu_count; ++i) {
                        uint32_t slot = session.gpus[i].slot;
                        if ((state.gpus[slot].cpu_mask[cpu / 64] >> (cpu % 64) & 1) == 0) {
                          continue;
                        }
                        if (int64_t at = writer.Next(); at >= 0) {
                          devices[at] = GpuHandle(slot);
                        }
                      }
                      return writer.Finish();
                    });
}

// No S-class unit has been sold for years.
KGPU_NVML nvmlUnitGetCount(uint32_t* count) {
  return SystemCall("nvmlUnitGetCount", count != nullptr, [&](const Session&, const SimState&) {
    *count = 0;
    return kSuccess;
  });
}

KGPU_NVML nvmlUnitGetHandleByIndex(uint32_t, nvml::Unit* unit) {
  return SystemCall("nvmlUnitGetHandleByIndex", unit != nullptr,
                    [](const Session&, const SimState&) { return kErrorInvalidArgument; });
}

KGPU_NVML nvmlSystemGetHicVersion(uint32_t* count, void*) {
  return SystemCall("nvmlSystemGetHicVersion", count != nullptr,
                    [&](const Session&, const SimState&) {
                      *count = 0;
                      return kSuccess;
                    });
}

KGPU_NVML nvmlGetExcludedDeviceCount(uint32_t* count) {
  return SystemCall("nvmlGetExcludedDeviceCount", count != nullptr,
                    [&](const Session&, const SimState&) {
                      *count = 0;
                      return kSuccess;
                    });
}

KGPU_NVML nvmlGetBlacklistDeviceCount(uint32_t*) KGPU_NVML_ALIAS(nvmlGetExcludedDeviceCount);

// The private table that nvidia-smi asks for: a size in bytes, itself included, then functions.
// nvidia-smi treats each function beyond the size as missing, so an empty table is a valid one.
namespace {

constexpr uint8_t kSmiTableId[16] = {0xc4, 0xfe, 0x3e, 0x6c, 0xc9, 0x8f, 0x6c, 0x4e,
                                     0xa3, 0x27, 0xee, 0x69, 0x6e, 0x12, 0xf7, 0xc4};
constexpr uint64_t kEmptyTable[] = {sizeof(uint64_t)};

}  // namespace

KGPU_NVML nvmlInternalGetExportTable(const void** table, const void* id) {
  if (table == nullptr || id == nullptr) {
    return kErrorInvalidArgument;
  }
  bool is_known = memcmp(id, kSmiTableId, sizeof(kSmiTableId)) == 0;
  *table = is_known ? kEmptyTable : nullptr;
  return is_known ? kSuccess : kErrorNotFound;
}

}  // namespace kgpu::sim
