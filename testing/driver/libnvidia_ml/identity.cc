// Which GPUs there are, and what each is.

#include <cstdlib>

#include "testing/driver/libnvidia_ml/call.h"
#include "testing/driver/libnvidia_ml/pci_info.h"

namespace kgpu::sim {

using nvml::kErrorInvalidArgument;
using nvml::kErrorNotFound;
using nvml::kSuccess;

KGPU_NVML nvmlDeviceGetCount_v2(uint32_t* count) {
  return SystemCall("nvmlDeviceGetCount", count != nullptr,
                    [&](const Session& session, const SimState&) {
                      *count = session.gpu_count;
                      return kSuccess;
                    });
}

namespace {

uint32_t PermittedCount(const Session& session) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < session.gpu_count; ++i) {
    count += session.gpus[i].is_permitted ? 1 : 0;
  }
  return count;
}

}  // namespace

// The first version left out GPUs that the caller may not use.
KGPU_NVML nvmlDeviceGetCount(uint32_t* count) {
  return SystemCall("nvmlDeviceGetCount", count != nullptr,
                    [&](const Session& session, const SimState&) {
                      *count = PermittedCount(session);
                      return kSuccess;
                    });
}

namespace {

// A handle is given only for GPUs that answer.
Return GiveHandle(const char* name, const Session& session, const SimState& state, uint32_t slot,
                  Device* device) {
  Return refusal = RefusalOf(state.gpus[slot], name);
  if (refusal != kSuccess) {
    return refusal;
  }
  Return result = CheckGpu(session, state, slot);
  if (result == kSuccess) {
    *device = GpuHandle(slot);
  }
  return result;
}

template <typename Matches>
Return FindHandle(const char* name, bool has_arguments, Device* device, Matches&& matches) {
  return SystemCall(name, has_arguments && device != nullptr,
                    [&](const Session& session, const SimState& state) {
                      for (uint32_t i = 0; i < session.gpu_count; ++i) {
                        uint32_t slot = session.gpus[i].slot;
                        if (state.gpus[slot].incarnation == session.gpus[i].incarnation &&
                            matches(state.gpus[slot])) {
                          return GiveHandle(name, session, state, slot, device);
                        }
                      }
                      return kErrorNotFound;
                    });
}

// "0000:07:00.0", "00000000:07:00.0" or "07:00.0".
bool ParsePciAddress(const char* text, SimPci& pci) {
  uint32_t parts[4] = {};
  uint32_t count = 0;
  for (const char* at = text; count < 4; ++count) {
    char* end = nullptr;
    parts[count] = static_cast<uint32_t>(strtoul(at, &end, 16));
    if (end == at) {
      return false;
    }
    at = end + 1;
    if (*end == '\0') {
      ++count;
      break;
    }
    if (*end != ':' && *end != '.') {
      return false;
    }
  }
  bool has_domain = count == 4 || (count == 3 && strchr(text, '.') == nullptr);
  const uint32_t* rest = has_domain ? parts + 1 : parts;
  pci = {};
  pci.domain = has_domain ? parts[0] : 0;
  pci.bus = rest[0];
  pci.device = rest[1];
  return count >= 2;
}

void FillPci(const SimPci& pci, nvml::PciInfo& out) {
  out = {};
  (void)snprintf(out.bus_id_legacy, sizeof(out.bus_id_legacy), "%04X:%02X:%02X.0",
                 pci.domain & 0xffff, pci.bus & 0xff, pci.device & 0x1f);
  out.domain = pci.domain;
  out.bus = pci.bus;
  out.device = pci.device;
  out.pci_device_id = pci.device_id << 16 | pci.vendor_id;
  out.pci_sub_system_id = pci.subsystem_device << 16 | pci.subsystem_vendor;
  (void)snprintf(out.bus_id, sizeof(out.bus_id), "%08X:%02X:%02X.0", pci.domain, pci.bus & 0xff,
                 pci.device & 0x1f);
}

}  // namespace

void FillPciInfo(const SimPci& pci, nvml::PciInfo* out) {
  FillPci(pci, *out);
}

void FillPciInfo(const SimPci& pci, nvml::PciInfoV2* out) {
  nvml::PciInfo full{};
  FillPci(pci, full);
  memcpy(out->bus_id, full.bus_id_legacy, sizeof(out->bus_id));
  out->domain = full.domain;
  out->bus = full.bus;
  out->device = full.device;
  out->pci_device_id = full.pci_device_id;
  out->pci_sub_system_id = full.pci_sub_system_id;
}

KGPU_NVML nvmlDeviceGetHandleByIndex_v2(uint32_t index, Device* device) {
  return SystemCall("nvmlDeviceGetHandleByIndex", device != nullptr,
                    [&](const Session& session, const SimState& state) {
                      if (index >= session.gpu_count) {
                        return kErrorInvalidArgument;
                      }
                      return GiveHandle("nvmlDeviceGetHandleByIndex", session, state,
                                        session.gpus[index].slot, device);
                    });
}

KGPU_NVML nvmlDeviceGetHandleByIndex(uint32_t index, Device* device) {
  return SystemCall("nvmlDeviceGetHandleByIndex", device != nullptr,
                    [&](const Session& session, const SimState& state) {
                      uint32_t permitted = 0;
                      for (uint32_t i = 0; i < session.gpu_count; ++i) {
                        if (session.gpus[i].is_permitted && permitted++ == index) {
                          return GiveHandle("nvmlDeviceGetHandleByIndex", session, state,
                                            session.gpus[i].slot, device);
                        }
                      }
                      return kErrorInvalidArgument;
                    });
}

// MIG devices have UUIDs too, and are found by them.
KGPU_NVML nvmlDeviceGetHandleByUUID(const char* uuid, Device* device) {
  if (uuid == nullptr || strncmp(uuid, "MIG-", 4) != 0) {
    return FindHandle("nvmlDeviceGetHandleByUUID", uuid != nullptr, device, [&](const SimGpu& gpu) {
      return strncmp(gpu.uuid, uuid, sizeof(gpu.uuid)) == 0;
    });
  }
  auto find = [&](const SimGpu& gpu, uint32_t slot) {
    for (uint32_t gi = 0; gi < kMaxGpuInstances; ++gi) {
      for (uint32_t ci = 0; ci < kMaxComputeInstances; ++ci) {
        const SimComputeInstance* instance = FindComputeInstance(gpu, gi, ci);
        if (instance != nullptr && strncmp(instance->uuid, uuid, sizeof(instance->uuid)) == 0) {
          *device = MigHandle(slot, gi, ci);
          return true;
        }
      }
    }
    return false;
  };
  return SystemCall("nvmlDeviceGetHandleByUUID", device != nullptr,
                    [&](const Session& session, const SimState& state) {
                      for (uint32_t i = 0; i < session.gpu_count; ++i) {
                        if (find(state.gpus[session.gpus[i].slot], session.gpus[i].slot)) {
                          return CheckGpu(session, state, session.gpus[i].slot);
                        }
                      }
                      return kErrorNotFound;
                    });
}

KGPU_NVML nvmlDeviceGetHandleBySerial(const char* serial, Device* device) {
  return FindHandle(
      "nvmlDeviceGetHandleBySerial", serial != nullptr, device, [&](const SimGpu& gpu) {
        return gpu.serial[0] != '\0' && strncmp(gpu.serial, serial, sizeof(gpu.serial)) == 0;
      });
}

KGPU_NVML nvmlDeviceGetHandleByPciBusId_v2(const char* bus_id, Device* device) {
  SimPci wanted{};
  if (bus_id == nullptr || !ParsePciAddress(bus_id, wanted)) {
    return FindHandle("nvmlDeviceGetHandleByPciBusId", false, device,
                      [](const SimGpu&) { return false; });
  }
  return FindHandle("nvmlDeviceGetHandleByPciBusId", true, device, [&](const SimGpu& gpu) {
    return gpu.pci.domain == wanted.domain && gpu.pci.bus == wanted.bus &&
           gpu.pci.device == wanted.device;
  });
}

KGPU_NVML nvmlDeviceGetHandleByPciBusId(const char*, Device*)
    KGPU_NVML_ALIAS(nvmlDeviceGetHandleByPciBusId_v2);

KGPU_NVML nvmlDeviceGetPciInfo_v3(Device device, nvml::PciInfo* pci) {
  return GpuCall("nvmlDeviceGetPciInfo", device, pci != nullptr, [&](const SimGpu& gpu) {
    FillPciInfo(gpu.pci, pci);
    return kSuccess;
  });
}

KGPU_NVML nvmlDeviceGetPciInfo_v2(Device device, nvml::PciInfoV2* pci) {
  return GpuCall("nvmlDeviceGetPciInfo", device, pci != nullptr, [&](const SimGpu& gpu) {
    FillPciInfo(gpu.pci, pci);
    return kSuccess;
  });
}

KGPU_NVML nvmlDeviceGetPciInfo(Device, nvml::PciInfoV2*) KGPU_NVML_ALIAS(nvmlDeviceGetPciInfo_v2);

// A MIG device's index is its place among its GPU's.
KGPU_NVML nvmlDeviceGetIndex(Device device, uint32_t* index) {
  Target target;
  Return checked = CheckArguments(index != nullptr, device, target);
  if (checked != kSuccess) {
    return checked;
  }
  return SlotCall(
      "nvmlDeviceGetIndex", target.slot, [&](const Session& session, const SimState& state) {
        *index = IndexOfSlot(session, target.slot);
        if (!target.is_mig) {
          return kSuccess;
        }
        const SimGpu& gpu = state.gpus[target.slot];
        *index = 0;
        for (uint32_t flat = 0; flat < kMaxGpuInstances * kMaxComputeInstances; ++flat) {
          uint32_t gi = flat / kMaxComputeInstances;
          uint32_t ci = flat % kMaxComputeInstances;
          if (gi == target.gpu_instance && ci == target.compute_instance) {
            break;
          }
          *index += FindComputeInstance(gpu, gi, ci) != nullptr ? 1 : 0;
        }
        return kSuccess;
      });
}

KGPU_NVML nvmlDeviceGetUUID(Device device, char* uuid, uint32_t length) {
  return DeviceCall(
      "nvmlDeviceGetUUID", device, uuid != nullptr, [&](const SimGpu& gpu, const Target& target) {
        if (!target.is_mig) {
          return PutText(gpu.uuid, uuid, length);
        }
        return PutText(FindComputeInstance(gpu, target.gpu_instance, target.compute_instance)->uuid,
                       uuid, length);
      });
}

KGPU_NVML nvmlDeviceGetSerial(Device device, char* serial, uint32_t length) {
  return GetText("nvmlDeviceGetSerial", device, serial, length,
                 [](const SimGpu& gpu) -> auto& { return gpu.serial; });
}

KGPU_NVML nvmlDeviceGetVbiosVersion(Device device, char* version, uint32_t length) {
  return GetText("nvmlDeviceGetVbiosVersion", device, version, length,
                 [](const SimGpu& gpu) -> auto& { return gpu.vbios; });
}

KGPU_NVML nvmlDeviceGetBoardPartNumber(Device device, char* number, uint32_t length) {
  return GetText("nvmlDeviceGetBoardPartNumber", device, number, length,
                 [](const SimGpu& gpu) -> auto& { return gpu.board_part_number; });
}

KGPU_NVML nvmlDeviceGetInforomImageVersion(Device device, char* version, uint32_t length) {
  return GetText("nvmlDeviceGetInforomImageVersion", device, version, length,
                 [](const SimGpu& gpu) -> auto& { return gpu.inforom_image; });
}

KGPU_NVML nvmlDeviceGetInforomVersion(Device device, int32_t object, char* version,
                                      uint32_t length) {
  return GpuCall("nvmlDeviceGetInforomVersion", device, version != nullptr, [&](const SimGpu& gpu) {
    switch (object) {
      case nvml::kInforomOem:
        return PutText(gpu.inforom_oem, version, length);
      case nvml::kInforomEcc:
        return PutText(gpu.inforom_ecc, version, length);
      case nvml::kInforomPower:
        return PutText(gpu.inforom_power, version, length);
      default:
        return kErrorInvalidArgument;
    }
  });
}

KGPU_NVML nvmlDeviceGetGspFirmwareVersion(Device device, char* version) {
  return GetText("nvmlDeviceGetGspFirmwareVersion", device, version, 64,
                 [](const SimGpu& gpu) -> auto& { return gpu.gsp_firmware; });
}

KGPU_NVML nvmlDeviceGetGspFirmwareMode(Device device, uint32_t* is_enabled,
                                       uint32_t* default_mode) {
  return GpuCall("nvmlDeviceGetGspFirmwareMode", device,
                 is_enabled != nullptr && default_mode != nullptr, [&](const SimGpu& gpu) {
                   *is_enabled = gpu.gsp_firmware[0] != '\0' ? 1 : 0;
                   *default_mode = *is_enabled;
                   return kSuccess;
                 });
}

KGPU_NVML nvmlDeviceGetBrand(Device device, uint32_t* brand) {
  return GetValue("nvmlDeviceGetBrand", device, brand, [](const SimGpu& gpu) { return gpu.brand; });
}

KGPU_NVML nvmlDeviceGetArchitecture(Device device, uint32_t* architecture) {
  return GetValue("nvmlDeviceGetArchitecture", device, architecture,
                  [](const SimGpu& gpu) { return gpu.architecture; });
}

KGPU_NVML nvmlDeviceGetCudaComputeCapability(Device device, int32_t* major, int32_t* minor) {
  return DeviceCall("nvmlDeviceGetCudaComputeCapability", device,
                    major != nullptr && minor != nullptr, [&](const SimGpu& gpu, const Target&) {
                      *major = static_cast<int32_t>(gpu.cc_major);
                      *minor = static_cast<int32_t>(gpu.cc_minor);
                      return kSuccess;
                    });
}

KGPU_NVML nvmlDeviceGetMinorNumber(Device device, uint32_t* minor) {
  return GetValue("nvmlDeviceGetMinorNumber", device, minor,
                  [](const SimGpu& gpu) { return gpu.minor; });
}

KGPU_NVML nvmlDeviceGetNumGpuCores(Device device, uint32_t* cores) {
  return GetValue("nvmlDeviceGetNumGpuCores", device, cores,
                  [](const SimGpu& gpu) { return gpu.cuda_cores; });
}

KGPU_NVML nvmlDeviceGetBoardId(Device device, uint32_t* id) {
  return GetValue("nvmlDeviceGetBoardId", device, id,
                  [](const SimGpu& gpu) { return gpu.board_id; });
}

KGPU_NVML nvmlDeviceGetModuleId(Device device, uint32_t* id) {
  return GetValue("nvmlDeviceGetModuleId", device, id,
                  [](const SimGpu& gpu) { return gpu.module_id; });
}

KGPU_NVML nvmlDeviceGetMultiGpuBoard(Device device, uint32_t* is_multi) {
  return GetValue("nvmlDeviceGetMultiGpuBoard", device, is_multi,
                  [](const SimGpu& gpu) { return gpu.is_multi_gpu_board; });
}

KGPU_NVML nvmlDeviceGetIrqNum(Device device, uint32_t* irq) {
  return GetValue("nvmlDeviceGetIrqNum", device, irq, [](const SimGpu& gpu) { return gpu.irq; });
}

KGPU_NVML nvmlDeviceGetBusType(Device device, uint32_t* type) {
  return GetValue("nvmlDeviceGetBusType", device, type,
                  [](const SimGpu& gpu) { return gpu.bus_type; });
}

KGPU_NVML nvmlDeviceOnSameBoard(Device first, Device second, int32_t* on_same) {
  Target other;
  Return checked = CheckArguments(on_same != nullptr, second, other);
  if (checked != kSuccess) {
    return checked;
  }
  uint32_t board = 0;
  Return result = GetValue("nvmlDeviceOnSameBoard", second, &board,
                           [](const SimGpu& gpu) { return gpu.board_id; });
  if (result != kSuccess) {
    return result;
  }
  return GpuCall("nvmlDeviceOnSameBoard", first, true, [&](const SimGpu& gpu) {
    *on_same = gpu.board_id == board ? 1 : 0;
    return kSuccess;
  });
}

}  // namespace kgpu::sim
