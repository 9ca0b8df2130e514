// NVLink and the NVLink fabric.
#include "testing/driver/libnvidia_ml/call.h"
#include "testing/driver/libnvidia_ml/pci_info.h"

namespace kgpu::sim {

using nvml::kErrorInvalidArgument;
using nvml::kErrorNotSupported;
using nvml::kSuccess;

namespace {

// `read` gets a link that the board has. A link beyond what NVML knows is an invalid argument.
template <typename Read>
Return LinkCall(const char* name, Device device, uint32_t link, bool has_arguments, Read&& read) {
  return GpuCall(name, device, has_arguments, [&](const SimGpu& gpu) {
    if (gpu.nvlink_count == 0) {
      return kErrorNotSupported;
    }
    if (link >= gpu.nvlink_count || link >= kMaxNvLinks) {
      return kErrorInvalidArgument;
    }
    return gpu.nvlinks[link].exists != 0 ? read(gpu.nvlinks[link]) : kErrorNotSupported;
  });
}

template <typename Info>
Return RemotePci(Device device, uint32_t link, Info* pci) {
  return LinkCall("nvmlDeviceGetNvLinkRemotePciInfo", device, link, pci != nullptr,
                  [&](const SimNvLink& entry) {
                    if (entry.is_active == 0) {
                      return kErrorNotSupported;
                    }
                    FillPciInfo(entry.remote, pci);
                    return kSuccess;
                  });
}

}  // namespace

KGPU_NVML nvmlDeviceGetNvLinkState(Device device, uint32_t link, nvml::EnableState* is_active) {
  return LinkCall(
      "nvmlDeviceGetNvLinkState", device, link, is_active != nullptr, [&](const SimNvLink& entry) {
        *is_active = entry.is_active != 0 ? nvml::kFeatureEnabled : nvml::kFeatureDisabled;
        return kSuccess;
      });
}

KGPU_NVML nvmlDeviceGetNvLinkVersion(Device device, uint32_t link, uint32_t* version) {
  return LinkCall("nvmlDeviceGetNvLinkVersion", device, link, version != nullptr,
                  [&](const SimNvLink& entry) { return Put(entry.version, version); });
}

KGPU_NVML nvmlDeviceGetNvLinkRemotePciInfo_v2(Device device, uint32_t link, nvml::PciInfo* pci) {
  return RemotePci(device, link, pci);
}

KGPU_NVML nvmlDeviceGetNvLinkRemotePciInfo(Device device, uint32_t link, nvml::PciInfoV2* pci) {
  return RemotePci(device, link, pci);
}

KGPU_NVML nvmlDeviceGetNvLinkRemoteDeviceType(Device device, uint32_t link, uint32_t* type) {
  return LinkCall("nvmlDeviceGetNvLinkRemoteDeviceType", device, link, type != nullptr,
                  [&](const SimNvLink& entry) {
                    switch (entry.remote_type) {
                      case kRemoteGpu:
                        *type = nvml::kNvLinkDeviceGpu;
                        break;
                      case kRemoteSwitch:
                        *type = nvml::kNvLinkDeviceSwitch;
                        break;
                      case kRemoteIbmNpu:
                        *type = nvml::kNvLinkDeviceIbmNpu;
                        break;
                      default:
                        *type = nvml::kNvLinkDeviceUnknown;
                    }
                    return kSuccess;
                  });
}

KGPU_NVML nvmlDeviceGetNvLinkCapability(Device device, uint32_t link, int32_t capability,
                                        uint32_t* has) {
  bool is_known = capability >= nvml::kNvLinkP2p && capability <= nvml::kNvLinkValid;
  return LinkCall("nvmlDeviceGetNvLinkCapability", device, link, has != nullptr && is_known,
                  [&](const SimNvLink& entry) {
                    bool is_plain =
                        capability == nvml::kNvLinkP2p || capability == nvml::kNvLinkP2pAtomics;
                    *has = capability == nvml::kNvLinkValid || (is_plain && entry.is_active != 0);
                    return kSuccess;
                  });
}

KGPU_NVML nvmlDeviceGetNvLinkErrorCounter(Device device, uint32_t link, int32_t counter,
                                          uint64_t* count) {
  return LinkCall("nvmlDeviceGetNvLinkErrorCounter", device, link,
                  count != nullptr && counter >= 0 && counter <= 4, [&](const SimNvLink& entry) {
                    return counter < 4 ? Put(entry.errors[counter], count) : kErrorNotSupported;
                  });
}

namespace {

template <typename Info>
Return FillFabric(const SimGpu& gpu, Info& info) {
  if (gpu.fabric_state == kUnsupported) {
    return kErrorNotSupported;
  }
  memset(info.cluster_uuid, 0, sizeof(info.cluster_uuid));
  if (gpu.fabric_cluster != 0) {
    info.cluster_uuid[0] = 0x6b;
    info.cluster_uuid[14] = static_cast<uint8_t>(gpu.fabric_cluster >> 8);
    info.cluster_uuid[15] = static_cast<uint8_t>(gpu.fabric_cluster);
  }
  info.status = static_cast<int32_t>(gpu.fabric_status);
  info.clique_id = gpu.fabric_clique;
  info.state = static_cast<uint8_t>(gpu.fabric_state);
  return kSuccess;
}

}  // namespace

KGPU_NVML nvmlDeviceGetGpuFabricInfo(Device device, nvml::FabricInfo* info) {
  return GpuCall("nvmlDeviceGetGpuFabricInfo", device, info != nullptr,
                 [&](const SimGpu& gpu) { return FillFabric(gpu, *info); });
}

// Only in libraries newer than 535.
KGPU_NVML nvmlDeviceGetGpuFabricInfoV(Device device, nvml::FabricInfoV2* info) {
  return GpuCall("nvmlDeviceGetGpuFabricInfo", device, info != nullptr, [&](const SimGpu& gpu) {
    if (info->version != nvml::StructVersion<nvml::FabricInfoV2>(2)) {
      return nvml::kErrorArgumentVersionMismatch;
    }
    info->health_mask = gpu.fabric_health;
    return FillFabric(gpu, *info);
  });
}

}  // namespace kgpu::sim
