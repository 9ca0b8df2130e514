// The types of the driver API's functions: MemAllocFn is that of cuMemAlloc in its newest version,
// MemAllocV1Fn that of an older one with other arguments. Variants for the default stream of each
// thread (_ptds, _ptsz) have the same types.
#pragma once

#include "src/gpu/cuda_abi/abi.h"

namespace kgpu::cuda_api {

// The library, its functions, devices.
using InitFn = Result(unsigned flags);
using GetErrorTextFn = Result(Result error, const char** text);
using DriverGetVersionFn = Result(int* version);
using GetProcAddressV1Fn = Result(const char* name, void** function, int cuda_version,
                                  uint64_t flags);
using GetProcAddressFn = Result(const char* name, void** function, int cuda_version, uint64_t flags,
                                ProcAddressStatus* status);
using GetExportTableFn = Result(const void** table, const Uuid* id);
using DeviceGetCountFn = Result(int* count);
using DeviceGetFn = Result(Device* device, int ordinal);
using DeviceGetNameFn = Result(char* name, int length, Device device);
using DeviceGetUuidFn = Result(Uuid* uuid, Device device);
using DeviceTotalMemFn = Result(size_t* bytes, Device device);
using DeviceGetAttributeFn = Result(int* value, Attribute attribute, Device device);

// Contexts.
using CtxCreateFn = Result(Context* context, unsigned flags, Device device);  // v1, v2
using CtxCreateV3Fn = Result(Context* context, ExecAffinityParam* affinities, int count,
                             unsigned flags, Device device);
using CtxCreateV4Fn = Result(Context* context, ContextCreateParams* params, unsigned flags,
                             Device device);
using CtxDestroyFn = Result(Context context);
using CtxGetCurrentFn = Result(Context* context);
using CtxSetCurrentFn = Result(Context context);
using CtxPushCurrentFn = Result(Context context);
using CtxPopCurrentFn = Result(Context* context);
using CtxGetDeviceFn = Result(Device* device);
using CtxSynchronizeFn = Result();
using DevicePrimaryCtxRetainFn = Result(Context* context, Device device);
using DevicePrimaryCtxReleaseFn = Result(Device device);
using DevicePrimaryCtxResetFn = Result(Device device);
using DevicePrimaryCtxGetStateFn = Result(Device device, unsigned* flags, int* is_active);

// Modules and launches.
using ModuleLoadDataExFn = Result(Module* module, const void* image, unsigned option_count,
                                  JitOption* options, void** values);
using ModuleGetFunctionFn = Result(Function* function, Module module, const char* name);
using LaunchKernelFn = Result(Function function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                              unsigned block_x, unsigned block_y, unsigned block_z,
                              unsigned shared_bytes, Stream stream, void** arguments, void** extra);
using LaunchKernelExFn = Result(const LaunchConfig* config, Function function, void** arguments,
                                void** extra);
using LaunchCooperativeKernelFn = Result(Function function, unsigned grid_x, unsigned grid_y,
                                         unsigned grid_z, unsigned block_x, unsigned block_y,
                                         unsigned block_z, unsigned shared_bytes, Stream stream,
                                         void** arguments);

// Linear memory.
using MemGetInfoFn = Result(size_t* free, size_t* total);
using MemGetInfoV1Fn = Result(uint32_t* free, uint32_t* total);
using MemAllocFn = Result(DevicePointer* pointer, size_t size);
using MemAllocV1Fn = Result(DevicePointerV1* pointer, uint32_t size);
using MemAllocPitchFn = Result(DevicePointer* pointer, size_t* pitch, size_t width, size_t height,
                               unsigned element_size);
using MemAllocPitchV1Fn = Result(DevicePointerV1* pointer, uint32_t* pitch, uint32_t width,
                                 uint32_t height, unsigned element_size);
using MemAllocManagedFn = Result(DevicePointer* pointer, size_t size, unsigned flags);
using MemFreeFn = Result(DevicePointer pointer);
using MemFreeV1Fn = Result(DevicePointerV1 pointer);
using MemGetAddressRangeFn = Result(DevicePointer* base, size_t* size, DevicePointer pointer);
using PointerGetAttributeFn = Result(void* value, PointerAttribute attribute,
                                     DevicePointer pointer);
using PointerGetAttributesFn = Result(unsigned count, PointerAttribute* attributes, void** values,
                                      DevicePointer pointer);
using MemcpyHtoDFn = Result(DevicePointer to, const void* from, size_t size);
using MemcpyDtoHFn = Result(void* to, DevicePointer from, size_t size);
using MemcpyDtoDFn = Result(DevicePointer to, DevicePointer from, size_t size);
using MemcpyHtoDAsyncFn = Result(DevicePointer to, const void* from, size_t size, Stream stream);
using MemsetD8Fn = Result(DevicePointer to, unsigned char value, size_t count);
using MemsetD32Fn = Result(DevicePointer to, unsigned value, size_t count);

// Pinned memory of the host.
using MemAllocHostFn = Result(void** pointer, size_t size);
using MemAllocHostV1Fn = Result(void** pointer, uint32_t size);
using MemHostAllocFn = Result(void** pointer, size_t size, unsigned flags);
using MemFreeHostFn = Result(void* pointer);
using MemHostRegisterFn = Result(void* pointer, size_t size, unsigned flags);
using MemHostUnregisterFn = Result(void* pointer);
using MemHostGetDevicePointerFn = Result(DevicePointer* pointer, void* host, unsigned flags);
using MemHostGetFlagsFn = Result(unsigned* flags, void* host);

// Allocations in the order of a stream, and their pools.
using MemAllocAsyncFn = Result(DevicePointer* pointer, size_t size, Stream stream);
using MemAllocFromPoolAsyncFn = Result(DevicePointer* pointer, size_t size, MemoryPool pool,
                                       Stream stream);
using MemFreeAsyncFn = Result(DevicePointer pointer, Stream stream);
using MemPoolCreateFn = Result(MemoryPool* pool, const PoolProperties* properties);
using MemPoolDestroyFn = Result(MemoryPool pool);
using MemPoolTrimToFn = Result(MemoryPool pool, size_t bytes_to_keep);
using MemPoolAttributeFn = Result(MemoryPool pool, PoolAttribute attribute, void* value);
using MemPoolSetAccessFn = Result(MemoryPool pool, const AccessDescription* accesses, size_t count);
using MemPoolGetAccessFn = Result(AccessFlags* flags, MemoryPool pool, Location* location);
using MemPoolExportToShareableHandleFn = Result(void* handle, MemoryPool pool, HandleType type,
                                                uint64_t flags);
using MemPoolImportFromShareableHandleFn = Result(MemoryPool* pool, void* handle, HandleType type,
                                                  uint64_t flags);
using MemPoolExportPointerFn = Result(PoolPointerExport* data, DevicePointer pointer);
using MemPoolImportPointerFn = Result(DevicePointer* pointer, MemoryPool pool,
                                      PoolPointerExport* data);
using DeviceGetMemPoolFn = Result(MemoryPool* pool, Device device);  // and …GetDefaultMemPool
using DeviceSetMemPoolFn = Result(Device device, MemoryPool pool);

// Virtual memory.
using MemAddressReserveFn = Result(DevicePointer* pointer, size_t size, size_t alignment,
                                   DevicePointer address, uint64_t flags);
using MemAddressFreeFn = Result(DevicePointer pointer, size_t size);
using MemCreateFn = Result(AllocationHandle* handle, size_t size,
                           const AllocationProperties* properties, uint64_t flags);
using MemReleaseFn = Result(AllocationHandle handle);
using MemMapFn = Result(DevicePointer pointer, size_t size, size_t offset, AllocationHandle handle,
                        uint64_t flags);
using MemUnmapFn = Result(DevicePointer pointer, size_t size);
using MemSetAccessFn = Result(DevicePointer pointer, size_t size, const AccessDescription* accesses,
                              size_t count);
using MemGetAllocationGranularityFn = Result(size_t* granularity,
                                             const AllocationProperties* properties,
                                             Granularity option);
using MemGetAllocationPropertiesFn = Result(AllocationProperties* properties,
                                            AllocationHandle handle);
using MemExportToShareableHandleFn = Result(void* handle, AllocationHandle allocation,
                                            HandleType type, uint64_t flags);
using MemImportFromShareableHandleFn = Result(AllocationHandle* allocation, void* handle,
                                              HandleType type);
using MemRetainAllocationHandleFn = Result(AllocationHandle* handle, void* pointer);

// Arrays.
using ArrayCreateFn = Result(Array* array, const ArrayDescriptor* descriptor);
using ArrayCreateV1Fn = Result(Array* array, const ArrayDescriptorV1* descriptor);
using Array3dCreateFn = Result(Array* array, const Array3dDescriptor* descriptor);
using Array3dCreateV1Fn = Result(Array* array, const Array3dDescriptorV1* descriptor);
using ArrayDestroyFn = Result(Array array);
using ArrayGetDescriptorFn = Result(ArrayDescriptor* descriptor, Array array);
using Array3dGetDescriptorFn = Result(Array3dDescriptor* descriptor, Array array);
using ArrayGetMemoryRequirementsFn = Result(ArrayMemoryRequirements* requirements, Array array,
                                            Device device);
using MipmappedArrayCreateFn = Result(MipmappedArray* array, const Array3dDescriptor* descriptor,
                                      unsigned levels);
using MipmappedArrayDestroyFn = Result(MipmappedArray array);
using MipmappedArrayGetLevelFn = Result(Array* level_array, MipmappedArray array, unsigned level);

// Between processes, and from other APIs.
using IpcGetMemHandleFn = Result(IpcMemoryHandle* handle, DevicePointer pointer);
using IpcOpenMemHandleFn = Result(DevicePointer* pointer, IpcMemoryHandle handle, unsigned flags);
using IpcCloseMemHandleFn = Result(DevicePointer pointer);
using IpcGetEventHandleFn = Result(IpcEventHandle* handle, Event event);
using IpcOpenEventHandleFn = Result(Event* event, IpcEventHandle handle);
using ImportExternalMemoryFn = Result(ExternalMemory* memory,
                                      const ExternalMemoryDescription* description);
using ExternalMemoryGetMappedBufferFn = Result(DevicePointer* pointer, ExternalMemory memory,
                                               const ExternalMemoryBuffer* buffer);
using DestroyExternalMemoryFn = Result(ExternalMemory memory);

// Graphs.
using GraphCreateFn = Result(Graph* graph, unsigned flags);
using GraphDestroyFn = Result(Graph graph);
using GraphAddKernelNodeFn = Result(GraphNode* node, Graph graph, const GraphNode* after,
                                    size_t after_count, const KernelNodeParams* params);
using GraphAddMemAllocNodeFn = Result(GraphNode* node, Graph graph, const GraphNode* after,
                                      size_t after_count, MemoryAllocationNodeParams* params);
using GraphAddMemFreeNodeFn = Result(GraphNode* node, Graph graph, const GraphNode* after,
                                     size_t after_count, DevicePointer pointer);
using GraphAddNodeV1Fn = Result(GraphNode* node, Graph graph, const GraphNode* after,
                                size_t after_count, GraphNodeParams* params);
using GraphAddNodeFn = Result(GraphNode* node, Graph graph, const GraphNode* after,
                              const void* edges, size_t after_count, GraphNodeParams* params);
using GraphMemAllocNodeGetParamsFn = Result(GraphNode node, MemoryAllocationNodeParams* params);
using GraphInstantiateV2Fn = Result(GraphExec* exec, Graph graph, GraphNode* error_node, char* log,
                                    size_t log_size);  // v1, v2
using GraphInstantiateWithFlagsFn = Result(GraphExec* exec, Graph graph, uint64_t flags);
using GraphInstantiateWithParamsFn = Result(GraphExec* exec, Graph graph,
                                            GraphInstantiateParams* params);
using GraphLaunchFn = Result(GraphExec exec, Stream stream);
using GraphExecDestroyFn = Result(GraphExec exec);
using DeviceGraphMemTrimFn = Result(Device device);
using DeviceGraphMemAttributeFn = Result(Device device, GraphMemoryAttribute attribute,
                                         void* value);

// Streams and events.
using StreamCreateFn = Result(Stream* stream, unsigned flags);
using StreamBeginCaptureFn = Result(Stream stream, CaptureMode mode);
using StreamEndCaptureFn = Result(Stream stream, Graph* graph);
using StreamIsCapturingFn = Result(Stream stream, CaptureStatus* status);
using StreamSynchronizeFn = Result(Stream stream);  // and …Query
using StreamDestroyFn = Result(Stream stream);
using EventCreateFn = Result(Event* event, unsigned flags);
using EventSynchronizeFn = Result(Event event);  // and …Query
using EventDestroyFn = Result(Event event);

}  // namespace kgpu::cuda_api
