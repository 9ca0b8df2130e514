// The part of CUDA's driver API that we use: types and constants of NVIDIA's libcuda.so.1, in C
// layout. Shared by the helper that calls it and the simulated library that answers. Source: the
// CUDA driver API reference.
#pragma once

#include <cstddef>
#include <cstdint>

namespace kgpu::cuda_api {

enum Result : int32_t {  // CUresult
  kSuccess = 0,
  kInvalidValue = 1,
  kOutOfMemory = 2,
  kNotInitialized = 3,
  kStubLibrary = 34,
  kDeviceUnavailable = 46,
  kNoDevice = 100,
  kInvalidDevice = 101,
  kInvalidContext = 201,
  kNoBinaryForGpu = 209,
  kEccUncorrectable = 214,
  kInvalidPtx = 218,
  kJitCompilerNotFound = 221,
  kUnsupportedPtxVersion = 222,
  kJitCompilationDisabled = 223,
  kInvalidHandle = 400,
  kNotFound = 500,
  kNotReady = 600,
  kIllegalAddress = 700,
  kLaunchOutOfResources = 701,
  kLaunchTimeout = 702,
  kMisalignedAddress = 716,
  kNotPermitted = 800,
  kSystemNotReady = 802,
  kDriverMismatch = 803,
  kCompatNotSupported = 804,
  kUnknown = 999,
};

using Device = int32_t;          // CUdevice: the handle of an ordinal
using DevicePointer = uint64_t;  // CUdeviceptr
using Context = struct OpaqueContext*;
using Module = struct OpaqueModule*;
using Function = struct OpaqueFunction*;
using Stream = struct OpaqueStream*;
using Event = struct OpaqueEvent*;

struct Uuid {  // CUuuid
  uint8_t bytes[16];
};

enum Attribute : int32_t {  // CUdevice_attribute
  kMaxThreadsPerBlock = 1,
  kMaxGridDimX = 5,
  kWarpSize = 10,
  kMultiprocessorCount = 16,
  kPciBusId = 33,
  kPciDeviceId = 34,
  kPciDomainId = 50,
  kComputeCapabilityMajor = 75,
  kComputeCapabilityMinor = 76,
};

enum JitOption : int32_t {  // CUjit_option
  kJitInfoLogBuffer = 3,
  kJitInfoLogBufferSize = 4,
  kJitErrorLogBuffer = 5,
  kJitErrorLogBufferSize = 6,
};

using InitFn = Result(unsigned flags);
using GetErrorTextFn = Result(Result error, const char** text);
using DriverGetVersionFn = Result(int* version);
using DeviceGetCountFn = Result(int* count);
using DeviceGetFn = Result(Device* device, int ordinal);
using DeviceGetNameFn = Result(char* name, int length, Device device);
using DeviceGetUuidFn = Result(Uuid* uuid, Device device);
using DeviceTotalMemFn = Result(size_t* bytes, Device device);
using DeviceGetAttributeFn = Result(int* value, Attribute attribute, Device device);
using CtxCreateFn = Result(Context* context, unsigned flags, Device device);
using CtxDestroyFn = Result(Context context);
using CtxSynchronizeFn = Result();
using ModuleLoadDataExFn = Result(Module* module, const void* image, unsigned option_count,
                                  JitOption* options, void** values);
using ModuleGetFunctionFn = Result(Function* function, Module module, const char* name);
using MemGetInfoFn = Result(size_t* free, size_t* total);
using MemAllocFn = Result(DevicePointer* pointer, size_t size);
using MemFreeFn = Result(DevicePointer pointer);
using MemAllocHostFn = Result(void** pointer, size_t size);
using MemFreeHostFn = Result(void* pointer);
using MemcpyHtoDFn = Result(DevicePointer to, const void* from, size_t size);
using MemcpyDtoHFn = Result(void* to, DevicePointer from, size_t size);
using MemcpyDtoDFn = Result(DevicePointer to, DevicePointer from, size_t size);
using LaunchKernelFn = Result(Function function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                              unsigned block_x, unsigned block_y, unsigned block_z,
                              unsigned shared_bytes, Stream stream, void** arguments, void** extra);

}  // namespace kgpu::cuda_api
