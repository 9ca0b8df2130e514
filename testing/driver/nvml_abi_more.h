// The part of NVML's binary interface that production does not use but other clients of the
// simulated library do. Same rules as src/nvml/abi.h: a name of ours is NVML's without its "nvml"
// and "_t". Source: NVML API reference.
#pragma once

#include "src/nvml/abi.h"

namespace kgpu::nvml {

using ComputeInstance = struct nvmlComputeInstance_st*;
using Unit = struct nvmlUnit_st*;

// What NVML_STRUCT_VERSION builds for the struct `T` of that version.
template <typename T>
constexpr uint32_t StructVersion(uint32_t version) {
  return static_cast<uint32_t>(sizeof(T)) | (version << 24);
}

inline constexpr uint32_t kClockTypes = 4;        // nvmlClockType_t
inline constexpr int32_t kClockGraphics = 0;      // NVML_CLOCK_GRAPHICS
inline constexpr int32_t kClockSm = 1;            // NVML_CLOCK_SM
inline constexpr int32_t kClockMemory = 2;        // NVML_CLOCK_MEM
inline constexpr int32_t kPstateUnknown = 32;     // NVML_PSTATE_UNKNOWN
inline constexpr uint32_t kMaxPstates = 16;       // NVML_MAX_GPU_PERF_PSTATES
inline constexpr uint32_t kThermalSensors = 3;    // NVML_MAX_THERMAL_SENSORS_PER_GPU
inline constexpr uint32_t kThermalTargetGpu = 1;  // NVML_THERMAL_TARGET_GPU

enum ClockId : int32_t {  // nvmlClockId_t
  kClockIdCurrent = 0,
  kClockIdApplication = 1,
  kClockIdApplicationDefault = 2,
  kClockIdCustomerBoostMax = 3,
};

enum TemperatureThreshold : int32_t {  // nvmlTemperatureThresholds_t
  kThresholdShutdown = 0,
  kThresholdSlowdown = 1,
  kThresholdMemoryMax = 2,
  kThresholdGpuMax = 3,
};

enum InforomObject : int32_t { kInforomOem = 0, kInforomEcc = 1, kInforomPower = 2 };
enum EccBits : int32_t { kEccCorrected = 0, kEccUncorrected = 1 };  // nvmlMemoryErrorType_t
enum EccCounter : int32_t { kEccVolatile = 0, kEccAggregate = 1 };  // nvmlEccCounterType_t
enum PcieCounter : int32_t { kPcieTxBytes = 0, kPcieRxBytes = 1 };  // nvmlPcieUtilCounter_t

enum P2pStatus : int32_t { kP2pOk = 0, kP2pGpuNotSupported = 2, kP2pNotSupported = 5 };
enum P2pIndex : int32_t {  // nvmlGpuP2PCapsIndex_t
  kP2pRead = 0,
  kP2pWrite = 1,
  kP2pNvLink = 2,
  kP2pAtomics = 3,
  kP2pPci = 4,
};

enum NvLinkCapability : int32_t {  // nvmlNvLinkCapability_t
  kNvLinkP2p = 0,
  kNvLinkSysmemAccess = 1,
  kNvLinkP2pAtomics = 2,
  kNvLinkSysmemAtomics = 3,
  kNvLinkSliBridge = 4,
  kNvLinkValid = 5,
};

enum SamplingType : int32_t {  // nvmlSamplingType_t
  kSamplePower = 0,
  kSampleGpu = 1,
  kSampleMemory = 2,
  kSampleEncoder = 3,
  kSampleDecoder = 4,
  kSampleSmClock = 5,
  kSampleMemoryClock = 6,
};

enum ValueType : int32_t {  // nvmlValueType_t
  kValueDouble = 0,
  kValueUint = 1,
  kValueUlong = 2,
  kValueUlongLong = 3,
  kValueSignedLongLong = 4,
  kValueSignedInt = 5,
};

union Value {
  double real;
  int32_t signed_int;
  uint32_t uint;
  uint64_t ulong;
  int64_t signed_long;
};

struct Sample {
  uint64_t timestamp_us;
  Value value;
};
static_assert(sizeof(Value) == 8 && sizeof(Sample) == 16);

struct FieldValue {
  uint32_t field_id;
  uint32_t scope_id;
  int64_t timestamp_us;
  int64_t latency_us;
  int32_t value_type;
  int32_t nvml_return;
  Value value;
};
static_assert(sizeof(FieldValue) == 40 && offsetof(FieldValue, value) == 32);

struct Utilization {
  uint32_t gpu;
  uint32_t memory;
};

struct Bar1Memory {
  uint64_t total;
  uint64_t free;
  uint64_t used;
};
static_assert(sizeof(Bar1Memory) == 24);

struct ProcessInfoV1 {
  uint32_t pid;
  uint64_t used_gpu_memory;
};
struct ProcessInfo {  // v2 and v3
  uint32_t pid;
  uint64_t used_gpu_memory;
  uint32_t gpu_instance_id;
  uint32_t compute_instance_id;
};
static_assert(sizeof(ProcessInfoV1) == 16 && sizeof(ProcessInfo) == 24);

struct ProcessUtilizationSample {
  uint32_t pid;
  uint64_t timestamp_us;
  uint32_t sm;
  uint32_t memory;
  uint32_t encoder;
  uint32_t decoder;
};
static_assert(sizeof(ProcessUtilizationSample) == 32);

struct EccErrorCounts {  // nvmlEccErrorCounts_t
  uint64_t l1_cache;
  uint64_t l2_cache;
  uint64_t device_memory;
  uint64_t register_file;
};
static_assert(sizeof(EccErrorCounts) == 32);

struct SramEccStatus {  // nvmlEccSramErrorStatus_v1_t
  uint32_t version;
  uint64_t aggregate_parity;  // uncorrectable, as the next
  uint64_t aggregate_sec_ded;
  uint64_t aggregate_corrected;
  uint64_t volatile_parity;
  uint64_t volatile_sec_ded;
  uint64_t volatile_corrected;
  uint64_t aggregate_sources[5];  // L2, SM, PCIe, microcontroller, other
  uint32_t is_threshold_exceeded;
};
static_assert(StructVersion<SramEccStatus>(1) == 0x01000068);

struct PowerValueV2 {  // nvmlPowerValue_v2_t
  uint32_t version;
  uint8_t scope;  // 0: the GPU
  uint32_t milliwatts;
};
static_assert(StructVersion<PowerValueV2>(2) == 0x0200000c);

struct RowRemapperHistogram {
  uint32_t max;
  uint32_t high;
  uint32_t partial;
  uint32_t low;
  uint32_t none;
};
static_assert(sizeof(RowRemapperHistogram) == 20);

struct ViolationTime {
  uint64_t reference_ns;
  uint64_t violation_ns;
};

struct TemperatureV1 {  // nvmlTemperature_v1_t
  uint32_t version;
  int32_t sensor;
  int32_t celsius;
};
static_assert(StructVersion<TemperatureV1>(1) == 0x0100000c);

struct ThermalSettings {  // nvmlGpuThermalSettings_t
  uint32_t count;
  struct {
    int32_t controller;
    int32_t default_min;
    int32_t default_max;
    int32_t current;
    int32_t target;
  } sensor[kThermalSensors];
};
static_assert(sizeof(ThermalSettings) == 64);

struct DynamicPstates {  // nvmlGpuDynamicPstatesInfo_t
  uint32_t flags;
  struct {
    uint32_t is_present;
    uint32_t percentage;
    uint32_t increase_threshold;
    uint32_t decrease_threshold;
  } utilization[8];
};
static_assert(sizeof(DynamicPstates) == 132);

struct BridgeChipHierarchy {
  uint8_t count;
  struct {
    int32_t type;
    uint32_t firmware;
  } chips[128];
};
static_assert(sizeof(BridgeChipHierarchy) == 1028);

struct FbcStats {
  uint32_t sessions;
  uint32_t average_fps;
  uint32_t average_latency;
};

struct FabricInfoV2 {  // nvmlGpuFabricInfo_v2_t
  uint32_t version;
  uint8_t cluster_uuid[16];
  int32_t status;
  uint32_t clique_id;
  uint8_t state;
  uint32_t health_mask;
};
static_assert(StructVersion<FabricInfoV2>(2) == 0x02000024);

struct GpuInstanceProfileInfo {
  uint32_t id;
  uint32_t is_p2p_supported;
  uint32_t slice_count;
  uint32_t instance_count;
  uint32_t multiprocessor_count;
  uint32_t copy_engine_count;
  uint32_t decoder_count;
  uint32_t encoder_count;
  uint32_t jpeg_count;
  uint32_t ofa_count;
  uint64_t memory_size_mb;
};
static_assert(sizeof(GpuInstanceProfileInfo) == 48);

struct GpuInstanceProfileInfoV2 {
  uint32_t version;
  uint32_t id;
  uint32_t is_p2p_supported;
  uint32_t slice_count;
  uint32_t instance_count;
  uint32_t multiprocessor_count;
  uint32_t copy_engine_count;
  uint32_t decoder_count;
  uint32_t encoder_count;
  uint32_t jpeg_count;
  uint32_t ofa_count;
  uint64_t memory_size_mb;
  char name[kNameV2Size];
};
static_assert(StructVersion<GpuInstanceProfileInfoV2>(2) == 0x02000098);

struct GpuInstanceProfileInfoV3 {
  uint32_t version;
  uint32_t id;
  uint32_t slice_count;
  uint32_t instance_count;
  uint32_t multiprocessor_count;
  uint32_t copy_engine_count;
  uint32_t decoder_count;
  uint32_t encoder_count;
  uint32_t jpeg_count;
  uint32_t ofa_count;
  uint64_t memory_size_mb;
  char name[kNameV2Size];
  uint32_t capabilities;
};
static_assert(StructVersion<GpuInstanceProfileInfoV3>(3) == 0x03000098);

struct ComputeInstanceProfileInfo {
  uint32_t id;
  uint32_t slice_count;
  uint32_t instance_count;
  uint32_t multiprocessor_count;
  uint32_t shared_copy_engine_count;
  uint32_t shared_decoder_count;
  uint32_t shared_encoder_count;
  uint32_t shared_jpeg_count;
  uint32_t shared_ofa_count;
};
static_assert(sizeof(ComputeInstanceProfileInfo) == 36);

struct ComputeInstanceProfileInfoV2 {
  uint32_t version;
  ComputeInstanceProfileInfo info;
  char name[kNameV2Size];
};
static_assert(StructVersion<ComputeInstanceProfileInfoV2>(2) == 0x02000088);

struct ComputeInstanceProfileInfoV3 {
  uint32_t version;
  ComputeInstanceProfileInfo info;
  char name[kNameV2Size];
  uint32_t capabilities;
};
static_assert(StructVersion<ComputeInstanceProfileInfoV3>(3) == 0x0300008c);

struct ComputeInstanceInfo {
  Device device;
  GpuInstance gpu_instance;
  uint32_t id;
  uint32_t profile_id;
  Placement placement;  // compute slices
};
static_assert(sizeof(ComputeInstanceInfo) == 2 * sizeof(void*) + 16);

// nvmlEventData_t as the first version of nvmlEventSetWait fills it.
struct EventDataV1 {
  Device device;
  uint64_t event_type;
  uint64_t event_data;
};
static_assert(sizeof(EventDataV1) == 24);

}  // namespace kgpu::nvml
