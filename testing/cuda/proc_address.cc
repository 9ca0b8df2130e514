// cuGetProcAddress: entry points by their names without a version, which is how CUDA's own runtime
// finds them.
#include <cstring>

#include "testing/cuda/library.h"

// Only the addresses count; the types stand where the functions do.
extern "C" {
void cuCtxCreate_v2();
void cuCtxDestroy_v2();
void cuCtxGetCurrent();
void cuCtxGetDevice();
void cuCtxSetCurrent();
void cuCtxSynchronize();
void cuDeviceGet();
void cuDeviceGetAttribute();
void cuDeviceGetCount();
void cuDeviceGetName();
void cuDeviceGetPCIBusId();
void cuDeviceGetUuid_v2();
void cuDevicePrimaryCtxRelease_v2();
void cuDevicePrimaryCtxRetain();
void cuDeviceTotalMem_v2();
void cuDriverGetVersion();
void cuEventCreate();
void cuEventDestroy_v2();
void cuEventElapsedTime();
void cuEventRecord();
void cuEventSynchronize();
void cuGetErrorName();
void cuGetErrorString();
void cuInit();
void cuLaunchKernel();
void cuMemAlloc_v2();
void cuMemAllocHost_v2();
void cuMemFree_v2();
void cuMemFreeHost();
void cuMemGetInfo_v2();
void cuMemcpyDtoD_v2();
void cuMemcpyDtoH_v2();
void cuMemcpyHtoD_v2();
void cuMemsetD8_v2();
void cuModuleGetFunction();
void cuModuleLoadData();
void cuModuleLoadDataEx();
void cuModuleUnload();
void cuStreamCreate();
void cuStreamDestroy_v2();
void cuStreamSynchronize();
}

namespace {

using kgpu::cuda_api::Result;

struct Entry {
  const char* name;
  void (*function)();
};

constexpr Entry kEntries[] = {
    {"cuCtxCreate", &cuCtxCreate_v2},
    {"cuCtxDestroy", &cuCtxDestroy_v2},
    {"cuCtxGetCurrent", &cuCtxGetCurrent},
    {"cuCtxGetDevice", &cuCtxGetDevice},
    {"cuCtxSetCurrent", &cuCtxSetCurrent},
    {"cuCtxSynchronize", &cuCtxSynchronize},
    {"cuDeviceGet", &cuDeviceGet},
    {"cuDeviceGetAttribute", &cuDeviceGetAttribute},
    {"cuDeviceGetCount", &cuDeviceGetCount},
    {"cuDeviceGetName", &cuDeviceGetName},
    {"cuDeviceGetPCIBusId", &cuDeviceGetPCIBusId},
    {"cuDeviceGetUuid", &cuDeviceGetUuid_v2},
    {"cuDevicePrimaryCtxRelease", &cuDevicePrimaryCtxRelease_v2},
    {"cuDevicePrimaryCtxRetain", &cuDevicePrimaryCtxRetain},
    {"cuDeviceTotalMem", &cuDeviceTotalMem_v2},
    {"cuDriverGetVersion", &cuDriverGetVersion},
    {"cuEventCreate", &cuEventCreate},
    {"cuEventDestroy", &cuEventDestroy_v2},
    {"cuEventElapsedTime", &cuEventElapsedTime},
    {"cuEventRecord", &cuEventRecord},
    {"cuEventSynchronize", &cuEventSynchronize},
    {"cuGetErrorName", &cuGetErrorName},
    {"cuGetErrorString", &cuGetErrorString},
    {"cuInit", &cuInit},
    {"cuLaunchKernel", &cuLaunchKernel},
    {"cuMemAlloc", &cuMemAlloc_v2},
    {"cuMemAllocHost", &cuMemAllocHost_v2},
    {"cuMemFree", &cuMemFree_v2},
    {"cuMemFreeHost", &cuMemFreeHost},
    {"cuMemGetInfo", &cuMemGetInfo_v2},
    {"cuMemcpyDtoD", &cuMemcpyDtoD_v2},
    {"cuMemcpyDtoH", &cuMemcpyDtoH_v2},
    {"cuMemcpyHtoD", &cuMemcpyHtoD_v2},
    {"cuMemsetD8", &cuMemsetD8_v2},
    {"cuModuleGetFunction", &cuModuleGetFunction},
    {"cuModuleLoadData", &cuModuleLoadData},
    {"cuModuleLoadDataEx", &cuModuleLoadDataEx},
    {"cuModuleUnload", &cuModuleUnload},
    {"cuStreamCreate", &cuStreamCreate},
    {"cuStreamDestroy", &cuStreamDestroy_v2},
    {"cuStreamSynchronize", &cuStreamSynchronize},
};

Result Find(const char* name, void** function) {
  if (name == nullptr || function == nullptr) {
    return kgpu::cuda_api::kInvalidValue;
  }
  *function = nullptr;
  for (const Entry& entry : kEntries) {
    if (strcmp(entry.name, name) == 0) {
      *function = reinterpret_cast<void*>(entry.function);
      return kgpu::cuda_api::kSuccess;
    }
  }
  return kgpu::cuda_api::kNotFound;
}

}  // namespace

KGPU_CUDA cuGetProcAddress(const char* name, void** function, int, uint64_t) {
  return Find(name, function);
}

// `status`: 0 found, 1 no such function. Source: CUdriverProcAddressQueryResult.
KGPU_CUDA cuGetProcAddress_v2(const char* name, void** function, int, uint64_t, int* status) {
  const Result result = Find(name, function);
  if (status != nullptr) {
    *status = result == kgpu::cuda_api::kSuccess ? 0 : 1;
  }
  return result;
}
