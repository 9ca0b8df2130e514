// MIG: mode and devices.
#include <fcntl.h>

#include <initializer_list>

#include "testing/driver/libnvidia_ml/call.h"
#include "testing/driver/libnvidia_ml/change.h"
#include "testing/driver/libnvidia_ml/mig_profiles.h"

namespace kgpu::sim {

using nvml::kErrorInvalidArgument;
using nvml::kErrorNotFound;
using nvml::kErrorNotSupported;
using nvml::kSuccess;

namespace {

bool IsMigOn(const SimGpu& gpu) {
  return gpu.mig.is_capable != 0 && gpu.mig.mode != 0;
}

}  // namespace

KGPU_NVML nvmlDeviceGetMigMode(Device device, uint32_t* current, uint32_t* pending) {
  return GpuCall("nvmlDeviceGetMigMode", device, current != nullptr && pending != nullptr,
                 [&](const SimGpu& gpu) {
                   if (gpu.mig.is_capable == 0) {
                     return kErrorNotSupported;
                   }
                   *current = gpu.mig.mode;
                   *pending = gpu.mig.pending_mode;
                   return kSuccess;
                 });
}

KGPU_NVML nvmlDeviceSetMigMode(Device device, uint32_t mode, Return* activation) {
  if (activation == nullptr || mode > 1) {
    return GpuCall("nvmlDeviceSetMigMode", device, false, [](const SimGpu&) { return kSuccess; });
  }
  Return result = ChangeGpu("nvmlDeviceSetMigMode", device, "mig-mode", mode != 0 ? "on" : "off");
  // The driver tries the reset that some models need. On a GPU in use the mode stays pending.
  *activation =
      result == kSuccess ? ChangeGpu("nvmlDeviceSetMigMode", device, "mig-activate", "") : result;
  return result;
}

KGPU_NVML nvmlDeviceGetMaxMigDeviceCount(Device device, uint32_t* count) {
  return GetValue("nvmlDeviceGetMaxMigDeviceCount", device, count,
                  [](const SimGpu& gpu) { return IsMigOn(gpu) ? gpu.mig.compute_slice_count : 0; });
}

KGPU_NVML nvmlDeviceIsMigDeviceHandle(Device device, uint32_t* is_mig) {
  Target target;
  Return checked = CheckArguments(is_mig != nullptr, device, target);
  if (checked == kSuccess) {
    *is_mig = target.is_mig ? 1 : 0;
  }
  return checked;
}

KGPU_NVML nvmlDeviceGetDeviceHandleFromMigDeviceHandle(Device mig_device, Device* device) {
  Target target;
  Return checked = CheckArguments(device != nullptr, mig_device, target);
  if (checked != kSuccess) {
    return checked;
  }
  if (!target.is_mig) {
    return kErrorInvalidArgument;
  }
  *device = GpuHandle(target.slot);
  return kSuccess;
}

namespace {

// The capability nodes of a compute instance and its parent open for this process.
bool MayUse(const Session& session, uint32_t gi_minor, uint32_t ci_minor) {
  for (uint32_t minor : {gi_minor, ci_minor}) {
    char node[48];
    (void)snprintf(node, sizeof(node), "dev/nvidia-caps/nvidia-cap%u", minor);
    if (ProbeNode(session.root, node, O_RDONLY) != Node::kOpens) {
      return false;
    }
  }
  return true;
}

struct MigDevice {
  uint32_t gpu_instance;
  uint32_t compute_instance;
  uint32_t gi_minor;
  uint32_t ci_minor;
};

constexpr uint32_t kMaxMigDevices = kMaxGpuInstances * kMaxComputeInstances;

uint32_t ListMigDevices(const SimGpu& gpu, MigDevice (&devices)[kMaxMigDevices]) {
  uint32_t count = 0;
  for (uint32_t gi = 0; gi < kMaxGpuInstances; ++gi) {
    for (uint32_t ci = 0; ci < kMaxComputeInstances; ++ci) {
      if (const SimComputeInstance* instance = FindComputeInstance(gpu, gi, ci)) {
        devices[count++] = {.gpu_instance = gi,
                            .compute_instance = ci,
                            .gi_minor = gpu.mig.instances[gi].cap_minor,
                            .ci_minor = instance->cap_minor};
      }
    }
  }
  return count;
}

}  // namespace

// Nodes are probed outside of the seqlock: opening files takes long.
KGPU_NVML nvmlDeviceGetMigDeviceHandleByIndex(Device device, uint32_t index, Device* mig_device) {
  Target target;
  Return result = CheckArguments(mig_device != nullptr, device, target);
  if (result != kSuccess) {
    return result;
  }
  MigDevice devices[kMaxMigDevices];
  uint32_t count = 0;
  result = GpuCall("nvmlDeviceGetMigDeviceHandleByIndex", device, true, [&](const SimGpu& gpu) {
    if (!IsMigOn(gpu)) {
      return kErrorNotSupported;
    }
    count = ListMigDevices(gpu, devices);
    return index < gpu.mig.compute_slice_count ? kSuccess : kErrorInvalidArgument;
  });
  SessionRef session;
  if (result != kSuccess || !session) {
    return result;
  }
  uint32_t visible = 0;
  for (uint32_t i = 0; i < count; ++i) {
    if (MayUse(*session, devices[i].gi_minor, devices[i].ci_minor) && visible++ == index) {
      *mig_device = MigHandle(target.slot, devices[i].gpu_instance, devices[i].compute_instance);
      return kSuccess;
    }
  }
  return kErrorNotFound;
}

namespace {

template <typename Get>
Return MigId(const char* name, Device device, uint32_t* id, Get&& get) {
  return DeviceCall(name, device, id != nullptr, [&](const SimGpu&, const Target& target) {
    if (!target.is_mig) {
      return kErrorNotSupported;
    }
    *id = get(target);
    return kSuccess;
  });
}

}  // namespace

KGPU_NVML nvmlDeviceGetGpuInstanceId(Device device, uint32_t* id) {
  return MigId("nvmlDeviceGetGpuInstanceId", device, id,
               [](const Target& target) { return target.gpu_instance; });
}

KGPU_NVML nvmlDeviceGetComputeInstanceId(Device device, uint32_t* id) {
  return MigId("nvmlDeviceGetComputeInstanceId", device, id,
               [](const Target& target) { return target.compute_instance; });
}

namespace {

void FillAttributes(const SimMigProfile& profile, uint32_t slices, nvml::DeviceAttributes& out) {
  out = {.multiprocessor_count = profile.compute_slices == 0
                                     ? 0
                                     : profile.multiprocessors * slices / profile.compute_slices,
         .shared_copy_engine_count = profile.copy_engines,
         .shared_decoder_count = profile.decoders,
         .shared_encoder_count = profile.encoders,
         .shared_jpeg_count = profile.jpeg_engines,
         .shared_ofa_count = profile.ofa_engines,
         .gpu_instance_slice_count = profile.compute_slices,
         .compute_instance_slice_count = slices,
         .memory_size_mb = profile.memory_mib};
}

}  // namespace

KGPU_NVML nvmlDeviceGetAttributes_v2(Device device, nvml::DeviceAttributes* attributes) {
  return DeviceCall(
      "nvmlDeviceGetAttributes", device, attributes != nullptr,
      [&](const SimGpu& gpu, const Target& target) {
        const SimMigProfile* profile =
            target.is_mig ? ProfileOfInstance(gpu, target.gpu_instance) : nullptr;
        if (profile == nullptr) {
          return kErrorNotSupported;
        }
        FillAttributes(
            *profile,
            FindComputeInstance(gpu, target.gpu_instance, target.compute_instance)->compute_slices,
            *attributes);
        return kSuccess;
      });
}

KGPU_NVML nvmlDeviceGetAttributes(Device, nvml::DeviceAttributes*)
    KGPU_NVML_ALIAS(nvmlDeviceGetAttributes_v2);

KGPU_NVML nvmlDeviceGetName(Device device, char* name, uint32_t length) {
  return DeviceCall(
      "nvmlDeviceGetName", device, name != nullptr, [&](const SimGpu& gpu, const Target& target) {
        const SimMigProfile* profile =
            target.is_mig ? ProfileOfInstance(gpu, target.gpu_instance) : nullptr;
        if (profile == nullptr) {
          return PutText(gpu.name, name, length);
        }
        char mig[64];
        char text[192];
        MigName(
            *profile,
            FindComputeInstance(gpu, target.gpu_instance, target.compute_instance)->compute_slices,
            mig, sizeof(mig));
        (void)snprintf(text, sizeof(text), "%.95s MIG %s", gpu.name, mig);
        return PutText(text, name, length);
      });
}

}  // namespace kgpu::sim
