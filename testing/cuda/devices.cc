// cuInit, and what is asked of devices.
#include <fcntl.h>

#include <cstring>

#include "testing/cuda/library.h"

namespace kgpu::simcuda {
namespace {

using cuda_api::Device;
using cuda_api::kInvalidValue;
using cuda_api::kSuccess;

// "GPU-" or "MIG-" and the hex digits of a UUID.
void ParseUuid(const char* text, cuda_api::Uuid* uuid) {
  uint32_t digits = 0;
  memset(uuid, 0, sizeof(*uuid));
  for (const char* at = text + 4; *at != '\0' && digits < 32; ++at) {
    const char c = *at;
    const bool is_digit = c >= '0' && c <= '9';
    if (is_digit || (c >= 'a' && c <= 'f')) {
      const int value = is_digit ? c - '0' : c - 'a' + 10;
      uuid->bytes[digits / 2] |= static_cast<uint8_t>(digits % 2 == 0 ? value << 4 : value);
      ++digits;
    }
  }
}

Result GetUuid(const char* name, cuda_api::Uuid* uuid, Device ordinal, bool of_mig) {
  VisibleDevice device{};
  const Result result = EnterDevice(name, ordinal, &device);
  if (result != kSuccess || uuid == nullptr) {
    return result != kSuccess ? result : kInvalidValue;
  }
  return ReadGpu(device, [&](const sim::SimGpu& gpu) {
    const sim::SimComputeInstance* instance =
        device.is_mig && of_mig ? InstanceOf(gpu, device) : nullptr;
    ParseUuid(instance != nullptr ? instance->uuid : gpu.uuid, uuid);
  });
}

// What all models have in common. Source: the tables of the CUDA C++ programming guide.
struct FixedAttribute {
  cuda_api::Attribute attribute;
  int value;
};
constexpr FixedAttribute kFixedAttributes[] = {
    {cuda_api::kMaxThreadsPerBlock, 1024},
    {cuda_api::kMaxBlockDimX, 1024},
    {cuda_api::kMaxBlockDimY, 1024},
    {cuda_api::kMaxBlockDimZ, 64},
    {cuda_api::kMaxGridDimX, INT32_MAX},
    {cuda_api::kMaxGridDimY, 65535},
    {cuda_api::kMaxGridDimZ, 65535},
    {cuda_api::kMaxSharedMemoryPerBlock, 49152},
    {cuda_api::kTotalConstantMemory, 65536},
    {cuda_api::kWarpSize, 32},
    {cuda_api::kMaxPitch, INT32_MAX},
    {cuda_api::kIntegrated, 0},
    {cuda_api::kCanMapHostMemory, 1},
    {cuda_api::kConcurrentKernels, 1},
    {cuda_api::kAsyncEngineCount, 2},
    {cuda_api::kUnifiedAddressing, 1},
    {cuda_api::kManagedMemory, 1},
    {cuda_api::kConcurrentManagedAccess, 1},
    {cuda_api::kCooperativeLaunch, 1},
    {cuda_api::kVirtualMemoryManagement, 1},
    {cuda_api::kHandleTypePosixFileDescriptor, 1},
    {cuda_api::kMemoryPoolsSupported, 1},
    {cuda_api::kMempoolSupportedHandleTypes, cuda_api::kHandlePosixFileDescriptor},
};

// -1: unknown.
int AttributeOf(const sim::SimGpu& gpu, const VisibleDevice& device,
                cuda_api::Attribute attribute) {
  const sim::SimMigProfile* profile = device.is_mig ? ProfileOf(gpu, device) : nullptr;
  switch (attribute) {
    case cuda_api::kMultiprocessorCount:
      return static_cast<int>(profile != nullptr ? profile->multiprocessors : gpu.multiprocessors);
    case cuda_api::kComputeMode:
      return static_cast<int>(gpu.compute_mode);
    case cuda_api::kEccEnabled:
      return static_cast<int>(gpu.ecc.mode);
    case cuda_api::kPciBusId:
      return static_cast<int>(gpu.pci.bus);
    case cuda_api::kPciDeviceId:
      return static_cast<int>(gpu.pci.device);
    case cuda_api::kPciDomainId:
      return static_cast<int>(gpu.pci.domain);
    case cuda_api::kComputeCapabilityMajor:
      return static_cast<int>(gpu.cc_major);
    case cuda_api::kComputeCapabilityMinor:
      return static_cast<int>(gpu.cc_minor);
    default:
      break;
  }
  for (const FixedAttribute& fixed : kFixedAttributes) {
    if (fixed.attribute == attribute) {
      return fixed.value;
    }
  }
  return -1;
}

// Without /dev/nvidia-uvm CUDA does not start, though NVML does.
Result CheckUvm(const sim::Session& session) {
  return sim::ProbeNode(session.root, "dev/nvidia-uvm", O_RDWR) == sim::Node::kOpens
             ? kSuccess
             : cuda_api::kUnknown;
}

Result Init() {
  const Lock lock;
  Library& library = State();
  if (library.is_ready || library.is_forked) {
    return library.is_ready ? kSuccess : cuda_api::kNotInitialized;
  }
  const Result opened = ResultOf(sim::OpenSession());
  if (opened != kSuccess) {
    return opened;
  }
  const sim::SessionRef session;
  FindDevices(*session, &library);
  const Result uvm = library.device_count == 0 ? cuda_api::kNoDevice : CheckUvm(*session);
  library.is_ready = uvm == kSuccess;
  if (library.is_ready) {
    PrepareForForks();
  } else {
    (void)sim::CloseSession();
  }
  return uvm;
}

}  // namespace
}  // namespace kgpu::simcuda

using kgpu::cuda_api::kInvalidValue;
using kgpu::cuda_api::kNotInitialized;
using kgpu::cuda_api::kSuccess;
using kgpu::cuda_api::Result;
using kgpu::sim::SimGpu;
using kgpu::simcuda::EnterDevice;
using kgpu::simcuda::EnterSystem;
using kgpu::simcuda::VisibleDevice;

KGPU_CUDA cuInit(unsigned flags) {
  if (flags != 0) {
    return kInvalidValue;
  }
  const Result result = kgpu::simcuda::Init();
  return result == kSuccess ? EnterSystem("cuInit") : result;
}

KGPU_CUDA cuDriverGetVersion(int* version) {
  const kgpu::sim::SessionRef session;
  if (version == nullptr || !session) {
    return version == nullptr ? kInvalidValue : kNotInitialized;
  }
  *version = static_cast<int>(session->shared.state->driver.cuda_version);
  return kSuccess;
}

KGPU_CUDA cuDeviceGetCount(int* count) {
  const Result result = EnterSystem("cuDeviceGetCount");
  if (result != kSuccess || count == nullptr) {
    return result != kSuccess ? result : kInvalidValue;
  }
  *count = static_cast<int>(kgpu::simcuda::State().device_count);
  return kSuccess;
}

KGPU_CUDA cuDeviceGet(kgpu::cuda_api::Device* device, int ordinal) {
  VisibleDevice unused{};
  const Result result = EnterDevice("cuDeviceGet", ordinal, &unused);
  if (result != kSuccess || device == nullptr) {
    return result != kSuccess ? result : kInvalidValue;
  }
  *device = ordinal;
  return kSuccess;
}

KGPU_CUDA cuDeviceGetName(char* name, int length, kgpu::cuda_api::Device ordinal) {
  VisibleDevice device{};
  const Result result = EnterDevice("cuDeviceGetName", ordinal, &device);
  if (result != kSuccess || name == nullptr || length <= 0) {
    return result != kSuccess ? result : kInvalidValue;
  }
  return kgpu::simcuda::ReadGpu(device, [&](const SimGpu& gpu) {
    const auto* profile = device.is_mig ? kgpu::simcuda::ProfileOf(gpu, device) : nullptr;
    (void)snprintf(name, static_cast<size_t>(length), "%.95s%s%.31s", gpu.name,
                   profile != nullptr ? " MIG " : "", profile != nullptr ? profile->name : "");
  });
}

KGPU_CUDA cuDeviceGetUuid(kgpu::cuda_api::Uuid* uuid, kgpu::cuda_api::Device device) {
  return kgpu::simcuda::GetUuid("cuDeviceGetUuid", uuid, device, false);
}
KGPU_CUDA cuDeviceGetUuid_v2(kgpu::cuda_api::Uuid* uuid, kgpu::cuda_api::Device device) {
  return kgpu::simcuda::GetUuid("cuDeviceGetUuid", uuid, device, true);
}

KGPU_CUDA cuDeviceTotalMem_v2(size_t* bytes, kgpu::cuda_api::Device ordinal) {
  VisibleDevice device{};
  const Result result = EnterDevice("cuDeviceTotalMem", ordinal, &device);
  if (result != kSuccess || bytes == nullptr) {
    return result != kSuccess ? result : kInvalidValue;
  }
  return kgpu::simcuda::ReadGpu(device, [&](const SimGpu& gpu) {
    const auto* profile = device.is_mig ? kgpu::simcuda::ProfileOf(gpu, device) : nullptr;
    *bytes = profile != nullptr ? profile->memory_mib << 20 : gpu.memory_total;
  });
}

KGPU_CUDA cuDeviceTotalMem(uint32_t* bytes, kgpu::cuda_api::Device device) {
  size_t all = 0;
  const Result result = bytes == nullptr ? kInvalidValue : cuDeviceTotalMem_v2(&all, device);
  if (result == kSuccess) {
    *bytes = all < UINT32_MAX ? static_cast<uint32_t>(all) : UINT32_MAX;
  }
  return result;
}

KGPU_CUDA cuDeviceGetAttribute(int* value, kgpu::cuda_api::Attribute attribute,
                               kgpu::cuda_api::Device ordinal) {
  VisibleDevice device{};
  const Result result = EnterDevice("cuDeviceGetAttribute", ordinal, &device);
  if (result != kSuccess || value == nullptr) {
    return result != kSuccess ? result : kInvalidValue;
  }
  const Result read = kgpu::simcuda::ReadGpu(device, [&](const SimGpu& gpu) {
    *value = kgpu::simcuda::AttributeOf(gpu, device, attribute);
  });
  return read == kSuccess && *value < 0 ? kInvalidValue : read;
}

KGPU_CUDA cuDeviceGetPCIBusId(char* text, int length, kgpu::cuda_api::Device ordinal) {
  VisibleDevice device{};
  const Result result = EnterDevice("cuDeviceGetPCIBusId", ordinal, &device);
  if (result != kSuccess || text == nullptr || length < 13) {
    return result != kSuccess ? result : kInvalidValue;
  }
  return kgpu::simcuda::ReadGpu(device, [&](const SimGpu& gpu) {
    (void)snprintf(text, static_cast<size_t>(length), "%04x:%02x:%02x.%x", gpu.pci.domain,
                   gpu.pci.bus, gpu.pci.device, gpu.pci.function);
  });
}
