// CUDA's driver API as a binary interface: result codes, handles and structures of NVIDIA's
// libcuda.so.1 in C layout, declared by us. Building needs nothing of NVIDIA's header. Depends on
// <cstdint> only: the helper that calls the library, the library that limits it and the simulated
// one that answers share it. Source: the CUDA driver API reference. Our names are CUDA's without
// "CU", "CUDA_" and "_st"; functions.h has the types of the functions.
#pragma once

#include <cstddef>
#include <cstdint>

namespace kgpu::cuda_api {

enum Result : int32_t {  // CUresult
  kSuccess = 0,
  kInvalidValue = 1,
  kOutOfMemory = 2,
  kNotInitialized = 3,
  kDeinitialized = 4,
  kStubLibrary = 34,
  kDeviceUnavailable = 46,
  kNoDevice = 100,
  kInvalidDevice = 101,
  kInvalidImage = 200,
  kInvalidContext = 201,
  kMapFailed = 205,
  kUnmapFailed = 206,
  kArrayIsMapped = 207,
  kAlreadyMapped = 208,
  kNoBinaryForGpu = 209,
  kNotMapped = 211,
  kEccUncorrectable = 214,
  kInvalidPtx = 218,
  kJitCompilerNotFound = 221,
  kUnsupportedPtxVersion = 222,
  kJitCompilationDisabled = 223,
  kOperatingSystem = 304,
  kInvalidHandle = 400,
  kIllegalState = 401,
  kNotFound = 500,
  kNotReady = 600,
  kIllegalAddress = 700,
  kLaunchOutOfResources = 701,
  kLaunchTimeout = 702,
  kPrimaryContextActive = 708,
  kContextIsDestroyed = 709,
  kHostMemoryAlreadyRegistered = 712,
  kHostMemoryNotRegistered = 713,
  kMisalignedAddress = 716,
  kCooperativeLaunchTooLarge = 720,
  kNotPermitted = 800,
  kNotSupported = 801,
  kSystemNotReady = 802,
  kDriverMismatch = 803,
  kCompatNotSupported = 804,
  kStreamCaptureUnsupported = 900,
  kStreamCaptureInvalidated = 901,
  kUnknown = 999,
};

using Device = int32_t;            // CUdevice: the handle of an ordinal
using DevicePointer = uint64_t;    // CUdeviceptr
using DevicePointerV1 = uint32_t;  // CUdeviceptr_v1, of functions from before CUDA 3.2
using Context = struct OpaqueContext*;
using Module = struct OpaqueModule*;
using Function = struct OpaqueFunction*;
using Stream = struct OpaqueStream*;
using Event = struct OpaqueEvent*;
using Array = struct OpaqueArray*;
using MipmappedArray = struct OpaqueMipmappedArray*;
using MemoryPool = struct OpaqueMemoryPool*;
using ExternalMemory = struct OpaqueExternalMemory*;
using Graph = struct OpaqueGraph*;
using GraphNode = struct OpaqueGraphNode*;
using GraphExec = struct OpaqueGraphExec*;
using AllocationHandle = uint64_t;  // CUmemGenericAllocationHandle

// CU_STREAM_LEGACY and CU_STREAM_PER_THREAD: streams that nobody creates.
inline constexpr uintptr_t kStreamLegacy = 1;
inline constexpr uintptr_t kStreamPerThread = 2;

struct Uuid {  // CUuuid
  uint8_t bytes[16];
};

enum Attribute : int32_t {  // CUdevice_attribute
  kMaxThreadsPerBlock = 1,
  kMaxBlockDimX = 2,
  kMaxBlockDimY = 3,
  kMaxBlockDimZ = 4,
  kMaxGridDimX = 5,
  kMaxGridDimY = 6,
  kMaxGridDimZ = 7,
  kMaxSharedMemoryPerBlock = 8,
  kTotalConstantMemory = 9,
  kWarpSize = 10,
  kMaxPitch = 11,
  kMultiprocessorCount = 16,
  kIntegrated = 18,
  kCanMapHostMemory = 19,
  kComputeMode = 20,
  kConcurrentKernels = 31,
  kEccEnabled = 32,
  kPciBusId = 33,
  kPciDeviceId = 34,
  kAsyncEngineCount = 40,
  kUnifiedAddressing = 41,
  kPciDomainId = 50,
  kComputeCapabilityMajor = 75,
  kComputeCapabilityMinor = 76,
  kManagedMemory = 83,
  kConcurrentManagedAccess = 89,
  kCooperativeLaunch = 95,
  kVirtualMemoryManagement = 102,
  kHandleTypePosixFileDescriptor = 103,
  kMemoryPoolsSupported = 115,
  kMempoolSupportedHandleTypes = 119,
};

enum JitOption : int32_t {  // CUjit_option
  kJitInfoLogBuffer = 3,
  kJitInfoLogBufferSize = 4,
  kJitErrorLogBuffer = 5,
  kJitErrorLogBufferSize = 6,
};

enum ContextFlag : uint32_t {  // CUctx_flags
  kContextSchedSpin = 0x01,
  kContextSchedYield = 0x02,
  kContextSchedBlockingSync = 0x04,
  kContextMapHost = 0x08,
  kContextLocalMemoryResizeToMax = 0x10,
};

struct ExecAffinityParam {  // CUexecAffinityParam
  int32_t type;             // 0: a number of multiprocessors
  uint32_t multiprocessors;
};

struct ContextCreateParams {  // CUctxCreateParams
  ExecAffinityParam* affinities;
  int32_t affinity_count;
  void* graphics_in_cuda;  // CUctxCigParam
};

// Where memory is. Source: CUmemorytype.
enum MemoryType : uint32_t { kTypeHost = 1, kTypeDevice = 2, kTypeArray = 3, kTypeUnified = 4 };

enum PointerAttribute : int32_t {  // CUpointer_attribute
  kPointerContext = 1,
  kPointerMemoryType = 2,
  kPointerDevicePointer = 3,
  kPointerHostPointer = 4,
  kPointerSyncMemops = 6,
  kPointerBufferId = 7,
  kPointerIsManaged = 8,
  kPointerDeviceOrdinal = 9,
  kPointerIsLegacyIpcCapable = 10,
  kPointerRangeStart = 11,
  kPointerRangeSize = 12,
  kPointerMapped = 13,
  kPointerAllowedHandleTypes = 14,
  kPointerIsRdmaCapable = 15,
  kPointerAccessFlags = 16,
  kPointerMemoryPool = 17,
  kPointerMappingSize = 18,
  kPointerMappingBase = 19,
};

enum HostAllocFlag : uint32_t {  // CU_MEMHOSTALLOC_*
  kHostPortable = 0x01,
  kHostDeviceMap = 0x02,
  kHostWriteCombined = 0x04,
};
enum HostRegisterFlag : uint32_t {  // CU_MEMHOSTREGISTER_*
  kRegisterPortable = 0x01,
  kRegisterDeviceMap = 0x02,
  kRegisterIoMemory = 0x04,
  kRegisterReadOnly = 0x08,
};
// CUmemAttach_flags.
enum AttachFlag : uint32_t { kAttachGlobal = 1, kAttachHost = 2, kAttachSingle = 4 };

// CUmemAllocationType.
enum AllocationType : int32_t { kAllocationInvalid = 0, kPinned = 1, kManaged = 2 };
enum HandleType : int32_t {  // CUmemAllocationHandleType
  kHandleNone = 0,
  kHandlePosixFileDescriptor = 1,
  kHandleWin32 = 2,
  kHandleWin32Kmt = 4,
  kHandleFabric = 8,
};
enum LocationType : int32_t {  // CUmemLocationType
  kLocationInvalid = 0,
  kLocationDevice = 1,
  kLocationHost = 2,
  kLocationHostNuma = 3,
  kLocationHostNumaCurrent = 4,
};
struct Location {  // CUmemLocation
  LocationType type;
  int32_t id;  // of a device: its ordinal
};

struct AllocationProperties {  // CUmemAllocationProp
  AllocationType type;
  HandleType requested_handle_types;
  Location location;
  void* win32_metadata;
  uint8_t compression_type;
  uint8_t is_rdma_capable;
  uint16_t usage;
  uint8_t reserved[4];
};
static_assert(sizeof(AllocationProperties) == 32);

// CUmemAccess_flags.
enum AccessFlags : int32_t { kAccessNone = 0, kAccessRead = 1, kAccessReadWrite = 3 };
struct AccessDescription {  // CUmemAccessDesc
  Location location;
  AccessFlags flags;
};
static_assert(sizeof(AccessDescription) == 12);

// CUmemAllocationGranularity_flags.
enum Granularity : int32_t { kGranularityMinimum = 0, kGranularityRecommended = 1 };

struct PoolProperties {  // CUmemPoolProps
  AllocationType type;
  HandleType handle_types;
  Location location;
  void* win32_security;
  size_t maximum_size;  // 0: the driver's choice
  uint16_t usage;
  uint8_t reserved[54];
};
static_assert(sizeof(PoolProperties) == 88);

enum PoolAttribute : int32_t {     // CUmemPool_attribute
  kPoolReuseFollowEvents = 1,      // int
  kPoolReuseOpportunistic = 2,     // int
  kPoolReuseInternal = 3,          // int
  kPoolReleaseThreshold = 4,       // uint64_t, bytes
  kPoolReservedMemoryCurrent = 5,  // uint64_t, bytes
  kPoolReservedMemoryHigh = 6,     // uint64_t, bytes; may be set to 0
  kPoolUsedMemoryCurrent = 7,      // uint64_t, bytes
  kPoolUsedMemoryHigh = 8,         // uint64_t, bytes; may be set to 0
};

struct PoolPointerExport {  // CUmemPoolPtrExportData
  uint8_t bytes[64];
};

struct IpcMemoryHandle {  // CUipcMemHandle
  uint8_t bytes[64];
};
struct IpcEventHandle {  // CUipcEventHandle
  uint8_t bytes[64];
};
inline constexpr uint32_t kIpcLazyEnablePeerAccess = 1;  // CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS

enum EventFlag : uint32_t {  // CUevent_flags
  kEventBlockingSync = 1,
  kEventDisableTiming = 2,
  kEventInterprocess = 4,
};

enum ArrayFormat : int32_t {  // CUarray_format; those with fixed bytes for each channel
  kFormatUint8 = 0x01,
  kFormatUint16 = 0x02,
  kFormatUint32 = 0x03,
  kFormatInt8 = 0x08,
  kFormatInt16 = 0x09,
  kFormatInt32 = 0x0a,
  kFormatHalf = 0x10,
  kFormatFloat = 0x20,
};
struct ArrayDescriptor {  // CUDA_ARRAY_DESCRIPTOR; sizes in elements
  size_t width;
  size_t height;
  ArrayFormat format;
  uint32_t channels;
};
static_assert(sizeof(ArrayDescriptor) == 24);
struct Array3dDescriptor {  // CUDA_ARRAY3D_DESCRIPTOR; sizes in elements
  size_t width;
  size_t height;
  size_t depth;
  ArrayFormat format;
  uint32_t channels;
  uint32_t flags;
};
static_assert(sizeof(Array3dDescriptor) == 40);
enum ArrayFlag : uint32_t {  // CUDA_ARRAY3D_*
  kArrayLayered = 0x01,
  kArraySurfaceLoadStore = 0x02,
  kArrayCubemap = 0x04,
  kArrayTextureGather = 0x08,
  kArraySparse = 0x40,
  kArrayDeferredMapping = 0x80,
};
struct ArrayMemoryRequirements {  // CUDA_ARRAY_MEMORY_REQUIREMENTS, bytes
  size_t size;
  size_t alignment;
  uint32_t reserved[4];
};

struct ArrayDescriptorV1 {  // CUDA_ARRAY_DESCRIPTOR_v1, of functions from before CUDA 3.2
  uint32_t width;
  uint32_t height;
  ArrayFormat format;
  uint32_t channels;
};
struct Array3dDescriptorV1 {  // CUDA_ARRAY3D_DESCRIPTOR_v1
  uint32_t width;
  uint32_t height;
  uint32_t depth;
  ArrayFormat format;
  uint32_t channels;
  uint32_t flags;
};

enum ExternalMemoryType : int32_t {  // CUexternalMemoryHandleType
  kExternalOpaqueFd = 1,
  kExternalOpaqueWin32 = 2,
  kExternalOpaqueWin32Kmt = 3,
  kExternalD3d12Heap = 4,
  kExternalD3d12Resource = 5,
  kExternalD3d11Resource = 6,
  kExternalD3d11ResourceKmt = 7,
  kExternalNvSciBuf = 8,
};
struct ExternalMemoryDescription {  // CUDA_EXTERNAL_MEMORY_HANDLE_DESC
  ExternalMemoryType type;
  union {
    int fd;
    struct {
      void* handle;
      const void* name;
    } win32;
    const void* nvscibuf;
  } handle;
  uint64_t size;
  uint32_t flags;
  uint32_t reserved[16];
};
static_assert(sizeof(ExternalMemoryDescription) == 104);
struct ExternalMemoryBuffer {  // CUDA_EXTERNAL_MEMORY_BUFFER_DESC
  uint64_t offset;
  uint64_t size;
  uint32_t flags;
  uint32_t reserved[16];
};
static_assert(sizeof(ExternalMemoryBuffer) == 88);

struct KernelNodeParamsV1 {  // CUDA_KERNEL_NODE_PARAMS_v1
  Function function;
  uint32_t grid[3];
  uint32_t block[3];
  uint32_t shared_bytes;
  void** arguments;
  void** extra;
};
struct KernelNodeParams {  // CUDA_KERNEL_NODE_PARAMS_v2
  Function function;
  uint32_t grid[3];
  uint32_t block[3];
  uint32_t shared_bytes;
  void** arguments;
  void** extra;
  void* kernel;  // CUkernel, if function is null
  Context context;
};
static_assert(sizeof(KernelNodeParamsV1) == 56 && sizeof(KernelNodeParams) == 72);

struct MemoryAllocationNodeParams {  // CUDA_MEM_ALLOC_NODE_PARAMS_v1 and _v2
  PoolProperties pool;
  const AccessDescription* accesses;
  size_t access_count;
  size_t size;
  DevicePointer pointer;  // set by cuGraphAddMemAllocNode
};
static_assert(sizeof(MemoryAllocationNodeParams) == 120);

enum GraphNodeType : int32_t {  // CUgraphNodeType
  kNodeKernel = 0,
  kNodeMemoryAllocation = 10,
  kNodeMemoryFree = 11,
};
struct GraphNodeParams {  // CUgraphNodeParams
  GraphNodeType type;
  int32_t reserved[3];
  union {
    int64_t size[29];
    KernelNodeParams kernel;
    MemoryAllocationNodeParams allocation;
    DevicePointer freed;
  };
  int64_t reserved_more;
};
static_assert(sizeof(GraphNodeParams) == 256);

enum GraphMemoryAttribute : int32_t {  // CUgraphMem_attribute: uint64_t, bytes
  kGraphUsedMemoryCurrent = 0,
  kGraphUsedMemoryHigh = 1,  // may be set to 0
  kGraphReservedMemoryCurrent = 2,
  kGraphReservedMemoryHigh = 3,  // may be set to 0
};
inline constexpr uint64_t kGraphAutoFreeOnLaunch = 1;  // CUDA_GRAPH_INSTANTIATE_FLAG_…

struct GraphInstantiateParams {  // CUDA_GRAPH_INSTANTIATE_PARAMS
  uint64_t flags;
  Stream upload_stream;
  GraphNode error_node;
  int32_t result;  // CUgraphInstantiateResult
};

// CUstreamCaptureMode and CUstreamCaptureStatus.
enum CaptureMode : int32_t { kCaptureGlobal = 0, kCaptureThreadLocal = 1, kCaptureRelaxed = 2 };
enum CaptureStatus : int32_t { kCaptureNone = 0, kCaptureActive = 1, kCaptureInvalidated = 2 };

struct LaunchConfig {  // CUlaunchConfig
  uint32_t grid[3];
  uint32_t block[3];
  uint32_t shared_bytes;
  Stream stream;
  void* attributes;  // CUlaunchAttribute[]
  uint32_t attribute_count;
};
static_assert(sizeof(LaunchConfig) == 56);

struct LaunchParams {  // CUDA_LAUNCH_PARAMS
  Function function;
  uint32_t grid[3];
  uint32_t block[3];
  uint32_t shared_bytes;
  Stream stream;
  void** arguments;
};
static_assert(sizeof(LaunchParams) == 56);

// What cuGetProcAddress_v2 found. Source: CUdriverProcAddressQueryResult.
enum ProcAddressStatus : int32_t {
  kProcFound = 0,
  kProcNotFound = 1,
  kProcVersionNotSufficient = 2,
};
enum ProcAddressFlag : uint64_t {  // CUdriverProcAddress_flags
  kProcDefault = 0,
  kProcLegacyStream = 1,
  kProcPerThreadStream = 2,
};

}  // namespace kgpu::cuda_api
