// The part of NVML's binary interface that we use, declared by us: return codes, constants,
// structures with their exact layout, function types. Building needs nothing of NVIDIA's header.
// Depends on <cstdint> only: the probe and the simulated driver share it. Source: NVML API
// reference (nvmlReturn_t, nvmlPciInfo_t, …). Our names are NVML's without "nvml" and "_t": PciInfo
// is nvmlPciInfo_t, DeviceGetNameFn the type of nvmlDeviceGetName.
#pragma once

#include <cstddef>
#include <cstdint>

namespace kgpu::nvml {

// nvmlReturn_t. Newer drivers may return codes that are not listed here.
enum Return : int32_t {
  kSuccess = 0,
  kErrorUninitialized = 1,
  kErrorInvalidArgument = 2,
  kErrorNotSupported = 3,
  kErrorNoPermission = 4,
  kErrorAlreadyInitialized = 5,
  kErrorNotFound = 6,
  kErrorInsufficientSize = 7,
  kErrorInsufficientPower = 8,
  kErrorDriverNotLoaded = 9,
  kErrorTimeout = 10,
  kErrorIrqIssue = 11,
  kErrorLibraryNotFound = 12,
  kErrorFunctionNotFound = 13,
  kErrorCorruptedInforom = 14,
  kErrorGpuIsLost = 15,
  kErrorResetRequired = 16,
  kErrorOperatingSystem = 17,
  kErrorLibRmVersionMismatch = 18,
  kErrorInUse = 19,
  kErrorMemory = 20,
  kErrorNoData = 21,
  kErrorVgpuEccNotSupported = 22,
  kErrorInsufficientResources = 23,
  kErrorFreqNotSupported = 24,
  kErrorArgumentVersionMismatch = 25,
  kErrorDeprecated = 26,
  kErrorNotReady = 27,
  kErrorGpuNotFound = 28,
  kErrorInvalidState = 29,
  kErrorResetTypeNotSupported = 30,
  kErrorUnknown = 999,
};

// Opaque handles: valid in the process that got them, until nvmlShutdown.
using Device = struct nvmlDevice_st*;
using EventSet = struct nvmlEventSet_st*;
using GpuInstance = struct nvmlGpuInstance_st*;

// Buffer sizes that NVML guarantees to be sufficient, including the terminator.
inline constexpr uint32_t kPciBusIdSize = 32;
inline constexpr uint32_t kPciBusIdLegacySize = 16;
inline constexpr uint32_t kUuidSize = 80;
inline constexpr uint32_t kUuidV2Size = 96;
inline constexpr uint32_t kNameSize = 64;
inline constexpr uint32_t kNameV2Size = 96;
inline constexpr uint32_t kSerialSize = 30;
inline constexpr uint32_t kVbiosVersionSize = 32;
inline constexpr uint32_t kSystemVersionSize = 80;
inline constexpr uint32_t kMaxNvLinks = 36;

inline constexpr uint32_t kInitFlagNoGpus = 1U << 0;  // nvmlInit succeeds on a host without a GPU
inline constexpr uint32_t kInitFlagNoAttach = 1U << 1;

// What the driver returns where no instance applies.
inline constexpr uint32_t kNoInstance = 0xFFFFFFFFU;

enum EnableState : int32_t { kFeatureDisabled = 0, kFeatureEnabled = 1 };

// nvmlBrandType_t.
enum Brand : int32_t {
  kBrandUnknown = 0,
  kBrandQuadro = 1,
  kBrandTesla = 2,
  kBrandNvs = 3,
  kBrandGrid = 4,
  kBrandGeForce = 5,
  kBrandTitan = 6,
  kBrandNvidiaVapps = 7,
  kBrandNvidiaVpc = 8,
  kBrandNvidiaVcs = 9,
  kBrandNvidiaVws = 10,
  kBrandNvidiaCloudGaming = 11,
  kBrandQuadroRtx = 12,
  kBrandNvidiaRtx = 13,
  kBrandNvidia = 14,
  kBrandGeForceRtx = 15,
  kBrandTitanRtx = 16,
};

// nvmlDeviceArchitecture_t.
inline constexpr uint32_t kArchKepler = 2;
inline constexpr uint32_t kArchMaxwell = 3;
inline constexpr uint32_t kArchPascal = 4;
inline constexpr uint32_t kArchVolta = 5;
inline constexpr uint32_t kArchTuring = 6;
inline constexpr uint32_t kArchAmpere = 7;
inline constexpr uint32_t kArchAda = 8;
inline constexpr uint32_t kArchHopper = 9;
inline constexpr uint32_t kArchBlackwell = 10;
inline constexpr uint32_t kArchRubin = 13;
inline constexpr uint32_t kArchUnknown = 0xFFFFFFFFU;

// nvmlGpuTopologyLevel_t.
enum TopologyLevel : int32_t {
  kTopologyInternal = 0,
  kTopologySingle = 10,
  kTopologyMultiple = 20,
  kTopologyHostBridge = 30,
  kTopologyNode = 40,
  kTopologySystem = 50,
};

// nvmlIntNvLinkDeviceType_t.
enum NvLinkDeviceType : int32_t {
  kNvLinkDeviceGpu = 0x00,
  kNvLinkDeviceIbmNpu = 0x01,
  kNvLinkDeviceSwitch = 0x02,
  kNvLinkDeviceUnknown = 0xFF,
};

// nvmlEventType*.
inline constexpr uint64_t kEventSingleBitEcc = 0x01;
inline constexpr uint64_t kEventDoubleBitEcc = 0x02;
inline constexpr uint64_t kEventPState = 0x04;
inline constexpr uint64_t kEventXidCritical = 0x08;
inline constexpr uint64_t kEventClock = 0x10;
inline constexpr uint64_t kEventPowerSource = 0x80;
inline constexpr uint64_t kEventMigConfig = 0x100;
inline constexpr uint64_t kEventSingleBitEccStorm = 0x200;
inline constexpr uint64_t kEventDramRetirement = 0x400;
inline constexpr uint64_t kEventDramRetirementFailure = 0x800;
inline constexpr uint64_t kEventNonFatalPoison = 0x1000;
inline constexpr uint64_t kEventFatalPoison = 0x2000;
inline constexpr uint64_t kEventGpuUnavailable = 0x4000;
inline constexpr uint64_t kEventGpuRecoveryAction = 0x8000;

// nvmlPciInfo_t as nvmlDeviceGetPciInfo_v3 fills it. The older functions write at most as many
// bytes and leave bus_id alone: they fill PciInfoV2.
struct PciInfo {
  char bus_id_legacy[kPciBusIdLegacySize];
  uint32_t domain;
  uint32_t bus;
  uint32_t device;
  uint32_t pci_device_id;  // device id in the upper 16 bits, vendor id in the lower
  uint32_t pci_sub_system_id;
  char bus_id[kPciBusIdSize];
};
static_assert(sizeof(PciInfo) == 68 && offsetof(PciInfo, bus_id) == 36);

struct PciInfoV2 {
  char bus_id[kPciBusIdLegacySize];
  uint32_t domain;
  uint32_t bus;
  uint32_t device;
  uint32_t pci_device_id;
  uint32_t pci_sub_system_id;
  uint32_t reserved[4];
};
static_assert(sizeof(PciInfoV2) == 52 && offsetof(PciInfoV2, pci_device_id) == 28);

struct Memory {  // nvmlMemory_t, bytes
  uint64_t total;
  uint64_t free;
  uint64_t used;
};
static_assert(sizeof(Memory) == 24);

struct MemoryV2 {    // nvmlMemory_v2_t, bytes
  uint32_t version;  // kMemoryV2Version, set by the caller
  uint64_t total;
  uint64_t reserved;
  uint64_t free;
  uint64_t used;
};
static_assert(sizeof(MemoryV2) == 40 && offsetof(MemoryV2, total) == 8);
inline constexpr uint32_t kMemoryV2Version = sizeof(MemoryV2) | (2U << 24);

struct DeviceAttributes {  // nvmlDeviceAttributes_t: engines and slices of a MIG device
  uint32_t multiprocessor_count;
  uint32_t shared_copy_engine_count;
  uint32_t shared_decoder_count;
  uint32_t shared_encoder_count;
  uint32_t shared_jpeg_count;
  uint32_t shared_ofa_count;
  uint32_t gpu_instance_slice_count;
  uint32_t compute_instance_slice_count;
  uint64_t memory_size_mb;  // MiB
};
static_assert(sizeof(DeviceAttributes) == 40 && offsetof(DeviceAttributes, memory_size_mb) == 32);

struct FabricInfo {  // nvmlGpuFabricInfo_t
  uint8_t cluster_uuid[16];
  int32_t status;  // a Return, for the GPU's registration with the fabric
  uint32_t clique_id;
  uint8_t state;  // kFabricState…
};
static_assert(sizeof(FabricInfo) == 28);
inline constexpr uint8_t kFabricStateCompleted = 3;  // NVML_GPU_FABRIC_STATE_COMPLETED

struct Placement {  // nvmlGpuInstancePlacement_t: memory slices
  uint32_t start;
  uint32_t size;
};

struct GpuInstanceInfo {  // nvmlGpuInstanceInfo_t
  Device device;
  uint32_t id;
  uint32_t profile_id;
  Placement placement;
};
static_assert(sizeof(GpuInstanceInfo) == sizeof(void*) + 16);

// nvmlEventData_t. The first version of nvmlEventSetWait ends after event_data.
struct EventData {
  Device device;
  uint64_t event_type;
  uint64_t event_data;  // the XID of an XID event; 999 when unknown
  uint32_t gpu_instance_id;
  uint32_t compute_instance_id;
};
static_assert(sizeof(EventData) == 32 && offsetof(EventData, gpu_instance_id) == 24);

// Function types. Comments name the symbols, newest first; an older symbol has the same signature
// unless it has a type of its own.
using InitFn = Return();                    // nvmlInit_v2, nvmlInit
using InitWithFlagsFn = Return(uint32_t);   // nvmlInitWithFlags
using ShutdownFn = Return();                // nvmlShutdown
using ErrorStringFn = const char*(Return);  // nvmlErrorString
using SystemGetDriverVersionFn = Return(char* version, uint32_t length);
using SystemGetNvmlVersionFn = Return(char* version, uint32_t length);  // …GetNVMLVersion
using SystemGetCudaDriverVersionFn = Return(int32_t* version);          // _v2, v1; 12020 is 12.2
using DeviceGetCountFn = Return(uint32_t* count);                       // _v2, v1
using DeviceGetHandleByIndexFn = Return(uint32_t index, Device*);       // _v2, v1

// nvmlDeviceGet{Name,UUID,Serial,VbiosVersion}.
using DeviceGetTextFn = Return(Device, char* text, uint32_t length);
// nvmlDeviceGet{MinorNumber,Index,NumaNodeId,MaxMigDeviceCount,GpuInstanceId,ComputeInstanceId,
// Architecture}.
using DeviceGetUintFn = Return(Device, uint32_t* value);
using DeviceGetPciInfoFn = Return(Device, PciInfo*);      // _v3
using DeviceGetPciInfoV2Fn = Return(Device, PciInfoV2*);  // _v2, v1
using DeviceGetBrandFn = Return(Device, Brand*);
using DeviceGetCudaComputeCapabilityFn = Return(Device, int32_t* major, int32_t* minor);
using DeviceGetMemoryInfoFn = Return(Device, Memory*);
using DeviceGetMemoryInfoV2Fn = Return(Device, MemoryV2*);  // nvmlDeviceGetMemoryInfo_v2
using DeviceGetEccModeFn = Return(Device, EnableState* current, EnableState* pending);
using DeviceGetMigModeFn = Return(Device, uint32_t* current, uint32_t* pending);

using DeviceGetMigDeviceHandleByIndexFn = Return(Device, uint32_t index, Device* mig_device);
using DeviceGetFabricInfoFn = Return(Device, FabricInfo*);
using DeviceGetAttributesFn = Return(Device, DeviceAttributes*);  // _v2, v1
using DeviceGetGpuInstanceByIdFn = Return(Device, uint32_t id, GpuInstance*);
using GpuInstanceGetInfoFn = Return(GpuInstance, GpuInstanceInfo*);

using DeviceGetNvLinkStateFn = Return(Device, uint32_t link, EnableState*);
using DeviceGetNvLinkVersionFn = Return(Device, uint32_t link, uint32_t* version);
using DeviceGetNvLinkRemotePciInfoFn = Return(Device, uint32_t link, PciInfo*);      // _v2
using DeviceGetNvLinkRemotePciInfoV1Fn = Return(Device, uint32_t link, PciInfoV2*);  // v1
using DeviceGetNvLinkRemoteDeviceTypeFn = Return(Device, uint32_t link, NvLinkDeviceType*);
using DeviceGetTopologyCommonAncestorFn = Return(Device, Device, TopologyLevel*);

using EventSetCreateFn = Return(EventSet*);
using EventSetFreeFn = Return(EventSet);
using EventSetWaitFn = Return(EventSet, EventData*, uint32_t timeout_ms);  // _v2, v1
using DeviceRegisterEventsFn = Return(Device, uint64_t event_types, EventSet);
using DeviceGetSupportedEventTypesFn = Return(Device, uint64_t* event_types);

}  // namespace kgpu::nvml
