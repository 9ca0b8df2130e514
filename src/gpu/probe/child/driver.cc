#include "src/gpu/probe/child/driver.h"

#include <cstring>

#include "src/gpu/probe/child/clock.h"

namespace kgpu::probe::child {
namespace {

uint64_t NowMs() {
  return MicrosecondsOf(CLOCK_MONOTONIC) / 1000;
}

// A library that fills a buffer to its last byte must not make us send an unterminated text.
template <size_t kSize>
void Terminate(char (&text)[kSize]) {
  text[kSize - 1] = '\0';
}

uint32_t Index(GpuField field) {
  return static_cast<uint32_t>(field);
}
uint32_t Index(MigField field) {
  return static_cast<uint32_t>(field);
}

// The answer is about what the device can do, not about its state.
bool IsAbsent(nvml::Return result) {
  return result == nvml::kErrorNotSupported || result == nvml::kErrorFunctionNotFound ||
         result == nvml::kErrorInvalidArgument || result == nvml::kErrorNotFound ||
         result == nvml::kErrorNoPermission;
}

}  // namespace

void Driver::BeginRequest(uint32_t request_id) {
  request_id_ = request_id;
  last_progress_ms_ = NowMs();
}

void Driver::NoteProgress() {
  const uint64_t now = NowMs();
  if (now - last_progress_ms_ >= kProgressIntervalMs) {
    last_progress_ms_ = now;
    FrameHeader frame{};
    channel_.Send(&frame, sizeof(frame), FrameKind::kProgress, request_id_);
  }
}

nvml::Return Driver::Init(const char* library_path, InitPayload* payload) {
  if (!library_.Load(library_path)) {
    // The payload is zeroed: a text that is cut keeps its terminator.
    const char* error = library_.error();
    memcpy(payload->error, error, strnlen(error, sizeof(payload->error) - 1));
    return nvml::kErrorLibraryNotFound;
  }
  return Call(nvml::kInit);
}

nvml::Return Driver::LeaveOut(uint32_t gpu, bool is_left_out) {
  if (gpu >= kMaxGpus) {
    return nvml::kErrorInvalidArgument;
  }
  is_left_out_[gpu] = is_left_out;
  return nvml::kSuccess;
}

nvml::Return Driver::ReadDriver(DriverPayload* payload) {
  payload->driver_version_result =
      Call(nvml::kSystemGetDriverVersion, payload->driver_version, nvml::kSystemVersionSize);
  payload->nvml_version_result =
      Call(nvml::kSystemGetNvmlVersion, payload->nvml_version, nvml::kSystemVersionSize);
  payload->cuda_version_result = Call(nvml::kSystemGetCudaDriverVersion, &payload->cuda_version);
  Terminate(payload->driver_version);
  Terminate(payload->nvml_version);
  const nvml::Return result = Call(nvml::kDeviceGetCount, &payload->gpu_count);
  if (payload->gpu_count > kMaxGpus) {
    payload->gpu_count = kMaxGpus;
  }
  return result;
}

nvml::Return Driver::ReadPci(nvml::Device device, GpuPayload* payload) {
  // Older functions leave the tail of the structure alone, none of them writes past it.
  union {
    nvml::PciInfo newest;
    nvml::PciInfoV2 older;
  } info;
  memset(&info, 0, sizeof(info));
  nvml::Return result = Call(nvml::kDeviceGetPciInfo, device, &info.newest);
  if (result == nvml::kErrorFunctionNotFound) {
    result = Call(nvml::kDeviceGetPciInfoV2, device, &info.older);
  }
  // The numbers are in the same place in both.
  payload->pci = {
      .domain = info.newest.domain, .bus = info.newest.bus, .device = info.newest.device};
  payload->pci_device_id = info.newest.pci_device_id;
  return result;
}

nvml::Return Driver::ReadMemory(nvml::Device device, GpuPayload* payload) {
  nvml::MemoryV2 newest{};
  newest.version = nvml::kMemoryV2Version;
  nvml::Return result = Call(nvml::kDeviceGetMemoryInfoV2, device, &newest);
  payload->memory_bytes = newest.total;
  payload->reserved_bytes = newest.reserved;
  if (result == nvml::kErrorFunctionNotFound || result == nvml::kErrorArgumentVersionMismatch ||
      result == nvml::kErrorNotSupported) {
    nvml::Memory older{};
    result = Call(nvml::kDeviceGetMemoryInfo, device, &older);
    payload->memory_bytes = older.total;
  }
  return result;
}

void Driver::ReadFabric(nvml::Device device, GpuPayload* payload) {
  nvml::FabricInfo fabric{};
  payload->results[Index(GpuField::kFabric)] = Call(nvml::kDeviceGetGpuFabricInfo, device, &fabric);
  payload->fabric_state = fabric.state;
  payload->fabric_status = fabric.status;
  payload->fabric_clique = fabric.clique_id;
  memcpy(payload->fabric_cluster, fabric.cluster_uuid, sizeof(fabric.cluster_uuid));
}

nvml::Return Driver::ReadGpu(uint32_t gpu, GpuPayload* payload) {
  nvml::Device device = nullptr;
  if (const nvml::Return result = Handle(gpu, &device); result != nvml::kSuccess) {
    return result;
  }
  int32_t* results = payload->results;
  results[Index(GpuField::kUuid)] =
      Call(nvml::kDeviceGetUuid, device, payload->uuid, nvml::kUuidV2Size);
  results[Index(GpuField::kMinor)] = Call(nvml::kDeviceGetMinorNumber, device, &payload->minor);
  results[Index(GpuField::kPci)] = ReadPci(device, payload);
  results[Index(GpuField::kName)] =
      Call(nvml::kDeviceGetName, device, payload->name, nvml::kNameV2Size);
  auto brand = nvml::kBrandUnknown;
  results[Index(GpuField::kBrand)] = Call(nvml::kDeviceGetBrand, device, &brand);
  payload->brand = brand;
  results[Index(GpuField::kArchitecture)] =
      Call(nvml::kDeviceGetArchitecture, device, &payload->architecture);
  results[Index(GpuField::kCompute)] = Call(nvml::kDeviceGetCudaComputeCapability, device,
                                            &payload->compute_major, &payload->compute_minor);
  results[Index(GpuField::kMemory)] = ReadMemory(device, payload);
  results[Index(GpuField::kSerial)] =
      Call(nvml::kDeviceGetSerial, device, payload->serial, nvml::kSerialSize);
  results[Index(GpuField::kVbios)] =
      Call(nvml::kDeviceGetVbiosVersion, device, payload->vbios, nvml::kVbiosVersionSize);
  auto ecc = nvml::kFeatureDisabled;
  auto pending_ecc = nvml::kFeatureDisabled;
  results[Index(GpuField::kEcc)] = Call(nvml::kDeviceGetEccMode, device, &ecc, &pending_ecc);
  payload->is_ecc_enabled = ecc == nvml::kFeatureEnabled ? 1 : 0;
  results[Index(GpuField::kMig)] =
      Call(nvml::kDeviceGetMigMode, device, &payload->is_mig_enabled, &payload->is_mig_pending);
  results[Index(GpuField::kMaxMig)] =
      Call(nvml::kDeviceGetMaxMigDeviceCount, device, &payload->max_mig_devices);
  results[Index(GpuField::kNuma)] = Call(nvml::kDeviceGetNumaNodeId, device, &payload->numa_node);
  if (payload->max_mig_devices > kMaxMigDevices) {
    payload->max_mig_devices = kMaxMigDevices;
  }
  ReadFabric(device, payload);
  Terminate(payload->uuid);
  Terminate(payload->name);
  Terminate(payload->serial);
  Terminate(payload->vbios);
  return nvml::kSuccess;
}

nvml::Return Driver::ReadInstance(uint32_t gpu, MigPayload* payload) {
  nvml::Device device = nullptr;
  nvml::GpuInstance instance = nullptr;
  nvml::GpuInstanceInfo info{};
  nvml::Return result = Handle(gpu, &device);
  if (result == nvml::kSuccess) {
    result = Call(nvml::kDeviceGetGpuInstanceById, device, payload->gpu_instance, &instance);
  }
  if (result == nvml::kSuccess) {
    result = Call(nvml::kGpuInstanceGetInfo, instance, &info);
  }
  payload->profile_id = info.profile_id;
  payload->placement_start = info.placement.start;
  payload->placement_size = info.placement.size;
  return result;
}

nvml::Return Driver::ReadMigDevice(uint32_t gpu, uint32_t index, MigPayload* payload) {
  nvml::Device parent = nullptr;
  nvml::Device device = nullptr;
  nvml::Return result = Handle(gpu, &parent);
  if (result == nvml::kSuccess) {
    result = Call(nvml::kDeviceGetMigDeviceHandleByIndex, parent, index, &device);
  }
  if (result != nvml::kSuccess) {
    return result;
  }
  int32_t* results = payload->results;
  results[Index(MigField::kUuid)] =
      Call(nvml::kDeviceGetUuid, device, payload->uuid, nvml::kUuidV2Size);
  results[Index(MigField::kName)] =
      Call(nvml::kDeviceGetName, device, payload->name, nvml::kNameV2Size);
  results[Index(MigField::kGpuInstance)] =
      Call(nvml::kDeviceGetGpuInstanceId, device, &payload->gpu_instance);
  results[Index(MigField::kComputeInstance)] =
      Call(nvml::kDeviceGetComputeInstanceId, device, &payload->compute_instance);
  nvml::DeviceAttributes attributes{};
  results[Index(MigField::kAttributes)] = Call(nvml::kDeviceGetAttributes, device, &attributes);
  payload->gpu_instance_slices = attributes.gpu_instance_slice_count;
  payload->compute_instance_slices = attributes.compute_instance_slice_count;
  payload->multiprocessors = attributes.multiprocessor_count;
  payload->copy_engines = attributes.shared_copy_engine_count;
  payload->decoders = attributes.shared_decoder_count;
  payload->encoders = attributes.shared_encoder_count;
  payload->jpeg_engines = attributes.shared_jpeg_count;
  payload->ofa_engines = attributes.shared_ofa_count;
  payload->memory_mib = attributes.memory_size_mb;
  results[Index(MigField::kInstanceInfo)] = ReadInstance(gpu, payload);
  Terminate(payload->uuid);
  Terminate(payload->name);
  return nvml::kSuccess;
}

nvml::Return Driver::ReadNvLink(nvml::Device device, uint32_t link, NvLinkEntry* entry) {
  auto state = nvml::kFeatureDisabled;
  const nvml::Return result = Call(nvml::kDeviceGetNvLinkState, device, link, &state);
  if (result != nvml::kSuccess) {
    return result;
  }
  entry->link = link;
  entry->is_active = state == nvml::kFeatureEnabled ? 1 : 0;
  entry->device_type = nvml::kNvLinkDeviceUnknown;
  if (entry->is_active == 0) {
    return result;
  }
  (void)Call(nvml::kDeviceGetNvLinkVersion, device, link, &entry->version);
  auto type = nvml::kNvLinkDeviceUnknown;
  if (Call(nvml::kDeviceGetNvLinkRemoteDeviceType, device, link, &type) == nvml::kSuccess) {
    entry->device_type = type;
  }
  nvml::PciInfo remote{};
  nvml::Return remote_result = Call(nvml::kDeviceGetNvLinkRemotePciInfo, device, link, &remote);
  if (remote_result == nvml::kErrorFunctionNotFound) {
    auto* older =
        reinterpret_cast<nvml::PciInfoV2*>(&remote);  // shorter, same place of the numbers
    remote_result = Call(nvml::kDeviceGetNvLinkRemotePciInfoV1, device, link, older);
  }
  entry->has_remote = remote_result == nvml::kSuccess ? 1 : 0;
  entry->remote = {.domain = remote.domain, .bus = remote.bus, .device = remote.device};
  return result;
}

nvml::Return Driver::ReadNvLinks(uint32_t gpu, NvLinkPayload* payload) {
  nvml::Device device = nullptr;
  if (const nvml::Return result = Handle(gpu, &device); result != nvml::kSuccess) {
    return result;
  }
  for (uint32_t link = 0; link < kMaxNvLinks; ++link) {
    const nvml::Return result = ReadNvLink(device, link, &payload->links[payload->count]);
    if (result == nvml::kSuccess) {
      ++payload->count;
    } else if (!IsAbsent(result)) {
      payload->bad_result = result;
      break;
    } else if (result != nvml::kErrorNotSupported) {
      break;  // past the last link; a board may leave single links out, those are "not supported"
    }
  }
  return nvml::kSuccess;
}

nvml::Return Driver::ReadTopology(uint32_t gpu, TopologyPayload* payload) {
  nvml::Device device = nullptr;
  nvml::Return result = Handle(gpu, &device);
  if (result == nvml::kSuccess) {
    result = Call(nvml::kDeviceGetCount, &payload->count);
  }
  if (result != nvml::kSuccess) {
    return result;
  }
  payload->count = payload->count > kMaxGpus ? kMaxGpus : payload->count;
  for (uint32_t peer = 0; peer < payload->count; ++peer) {
    payload->levels[peer] = kNoTopologyLevel;
    nvml::Device other = nullptr;
    auto level = nvml::kTopologySystem;
    if (peer != gpu && Handle(peer, &other) == nvml::kSuccess &&
        Call(nvml::kDeviceGetTopologyCommonAncestor, device, other, &level) == nvml::kSuccess) {
      payload->levels[peer] = static_cast<int16_t>(level);
    }
  }
  return nvml::kSuccess;
}

}  // namespace kgpu::probe::child
