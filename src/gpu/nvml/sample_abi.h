// The part of NVML's binary interface for measurements: structures, constants and function types.
// Same rules as abi.h. Source: NVML API reference.
#pragma once

#include "src/gpu/nvml/abi.h"

namespace kgpu::nvml {

// What NVML_STRUCT_VERSION yields for the struct `T` in that version.
template <typename T>
constexpr uint32_t StructVersion(uint32_t version) {
  return static_cast<uint32_t>(sizeof(T)) | (version << 24);
}

// What the driver returns for a missing number: NVML_VALUE_NOT_AVAILABLE.
inline constexpr uint64_t kValueNotAvailable = 0xFFFFFFFFFFFFFFFFULL;

enum ClockType : int32_t {  // nvmlClockType_t
  kClockGraphics = 0,
  kClockSm = 1,
  kClockMemory = 2,
  kClockVideo = 3,
};

enum TemperatureThreshold : int32_t {  // nvmlTemperatureThresholds_t
  kThresholdShutdown = 0,
  kThresholdSlowdown = 1,
  kThresholdMemoryMax = 2,
  kThresholdGpuMax = 3,
};
inline constexpr int32_t kTemperatureSensorGpu = 0;  // nvmlTemperatureSensors_t

enum PcieCounter : int32_t { kPcieTxBytes = 0, kPcieRxBytes = 1 };  // nvmlPcieUtilCounter_t

enum PerfPolicy : int32_t { kPolicyPower = 0, kPolicyThermal = 1 };  // nvmlPerfPolicyType_t

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
  kValueUshort = 6,
};

union Value {
  double real;
  int32_t signed_int;
  uint32_t uint;
  uint64_t ulong;
  int64_t signed_long;
  uint16_t ushort;
};

struct Sample {
  uint64_t timestamp_us;
  Value value;
};
static_assert(sizeof(Value) == 8 && sizeof(Sample) == 16);

struct FieldValue {
  uint32_t field_id;
  uint32_t scope_id;  // for link fields: the link
  int64_t timestamp_us;
  int64_t latency_us;
  int32_t value_type;
  int32_t nvml_return;
  Value value;
};
static_assert(sizeof(FieldValue) == 40 && offsetof(FieldValue, value) == 32);

// NVML_FI_DEV_*: the fields that we read. A driver reports for each field whether it knows it.
enum FieldId : uint32_t {
  kFieldEccSbeVolatileTotal = 3,
  kFieldEccDbeVolatileTotal = 4,
  kFieldEccSbeAggregateTotal = 5,
  kFieldEccDbeAggregateTotal = 6,
  kFieldRetiredSbe = 29,
  kFieldRetiredDbe = 30,
  kFieldRetiredPending = 31,
  kFieldMemoryTemperature = 82,
  kFieldEnergy = 83,  // mJ
  kFieldPcieReplay = 94,
  kFieldNvLinkDataTx = 138,  // KiB, scope: link
  kFieldNvLinkDataRx = 139,
  kFieldRemappedCorrected = 142,
  kFieldRemappedUncorrected = 143,
  kFieldRemapPending = 144,
  kFieldRemapFailed = 145,
  // T.Limit, Ada and newer: the margin at which it happens, signed; 0 or negative.
  kFieldShutdownTLimit = 193,
  kFieldSlowdownTLimit = 194,
  kFieldMemoryMaxTLimit = 195,
  kFieldGpuMaxTLimit = 196,
  kFieldPcieTxBytes = 197,  // counters, driver 565 and newer
  kFieldPcieRxBytes = 198,
  kFieldNvLinkSentBytes = 202,  // NVLink 5 and newer; scope: link
  kFieldNvLinkReceivedBytes = 204,
  kFieldRecoveryAction = 230,  // nvmlDeviceGpuRecoveryAction_t, driver 570 and newer
};

enum RecoveryAction : uint32_t {  // nvmlDeviceGpuRecoveryAction_t
  kRecoveryNone = 0,
  kRecoveryGpuReset = 1,
  kRecoveryNodeReboot = 2,
  kRecoveryDrainP2p = 3,
  kRecoveryDrainAndReset = 4,
};

enum NvLinkError : int32_t {  // nvmlNvLinkErrorCounter_t
  kNvLinkReplay = 0,
  kNvLinkRecovery = 1,
  kNvLinkCrcFlit = 2,
  kNvLinkCrcData = 3,
};

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
  uint64_t used_gpu_memory;  // or kValueNotAvailable
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

struct FabricInfoV2 {  // nvmlGpuFabricInfo_v2_t
  uint32_t version;
  uint8_t cluster_uuid[16];
  int32_t status;
  uint32_t clique_id;
  uint8_t state;
  uint32_t health_mask;  // kFabric…: two bits each; 0 unknown, 1 yes, 2 no
};
static_assert(StructVersion<FabricInfoV2>(2) == 0x02000024);
// The shift of the two bits of each: NVML_GPU_FABRIC_HEALTH_MASK_SHIFT_….
enum FabricHealth : uint32_t {
  kFabricDegradedBandwidth = 0,
  kFabricRouteRecovery = 2,
  kFabricRouteUnhealthy = 4,
  kFabricAccessTimeoutRecovery = 6,
};
constexpr bool IsFabric(uint64_t mask, FabricHealth trouble) {
  return (mask >> trouble & 3) == 1;
}

struct SramEccStatus {  // nvmlEccSramErrorStatus_v1_t
  uint32_t version;
  uint64_t aggregate_parity;  // uncorrectable, like the next ones
  uint64_t aggregate_sec_ded;
  uint64_t aggregate_corrected;
  uint64_t volatile_parity;
  uint64_t volatile_sec_ded;
  uint64_t volatile_corrected;
  uint64_t aggregate_sources[5];  // L2, SM, PCIe, microcontroller, other
  uint32_t is_threshold_exceeded;
};
static_assert(StructVersion<SramEccStatus>(1) == 0x01000068);

struct MarginTemperatureV1 {  // nvmlMarginTemperature_v1_t
  uint32_t version;
  int32_t celsius;  // margin from now to where the GPU starts to slow down
};
static_assert(StructVersion<MarginTemperatureV1>(1) == 0x01000008);

// GPM: two samples of a device's counters, and what happened between them. Hopper and newer.
using GpmSample = struct nvmlGpmSample_st*;

struct GpmSupport {  // nvmlGpmSupport_t
  uint32_t version;  // kGpmSupportVersion
  uint32_t is_supported;
};
inline constexpr uint32_t kGpmSupportVersion = 1;

struct GpmMetric {  // nvmlGpmMetric_t
  uint32_t id;      // kGpm…
  int32_t nvml_return;
  double value;
  const char* short_name;
  const char* long_name;
  const char* unit;
};
static_assert(sizeof(GpmMetric) == 40 && offsetof(GpmMetric, value) == 8);

// nvmlGpmMetricsGet_t. The array has 98 entries in driver 535 and more in later ones; nothing reads
// past `count`.
inline constexpr uint32_t kMaxGpmMetrics = 98;
struct GpmMetrics {
  uint32_t version;  // kGpmMetricsVersion
  uint32_t count;
  GpmSample older;
  GpmSample newer;
  GpmMetric metrics[kMaxGpmMetrics];
};
static_assert(offsetof(GpmMetrics, metrics) == 24);
inline constexpr uint32_t kGpmMetricsVersion = 1;

enum GpmMetricId : uint32_t {  // NVML_GPM_METRIC_*; percent, or MiB/s
  kGpmGraphicsUtil = 1,
  kGpmSmUtil = 2,
  kGpmSmOccupancy = 3,
  kGpmAnyTensorUtil = 5,
  kGpmDramBandwidthUtil = 10,
  kGpmFp64Util = 11,
  kGpmFp32Util = 12,
  kGpmFp16Util = 13,
  kGpmPcieTx = 20,
  kGpmPcieRx = 21,
  kGpmNvLinkTotalRx = 60,
  kGpmNvLinkTotalTx = 61,
};

using DeviceGetUtilizationFn = Return(Device, Utilization*);
using DeviceGetEngineUtilizationFn = Return(Device, uint32_t* percent, uint32_t* period_us);
using DeviceGetSamplesFn = Return(Device, int32_t type, uint64_t last_seen_us, int32_t* value_type,
                                  uint32_t* count, Sample*);
using DeviceGetBar1MemoryFn = Return(Device, Bar1Memory*);
using DeviceGetTemperatureFn = Return(Device, int32_t sensor, uint32_t* celsius);
using DeviceGetTemperatureVFn = Return(Device, TemperatureV1*);
using DeviceGetMarginTemperatureFn = Return(Device, MarginTemperatureV1*);
using DeviceGetTypedUintFn = Return(Device, int32_t type, uint32_t* value);
using DeviceGetIndexedUintFn = Return(Device, uint32_t index, uint32_t* value);
using DeviceGetUlongFn = Return(Device, uint64_t* value);
using DeviceGetViolationFn = Return(Device, int32_t policy, ViolationTime*);
using DeviceGetHistogramFn = Return(Device, RowRemapperHistogram*);
using DeviceGetFabricInfoVFn = Return(Device, FabricInfoV2*);
using DeviceGetSramEccStatusFn = Return(Device, SramEccStatus*);
using DeviceGetFieldValuesFn = Return(Device, int32_t count, FieldValue*);
using DeviceGetNvLinkErrorFn = Return(Device, uint32_t link, int32_t counter, uint64_t* value);
using DeviceGetProcessesFn = Return(Device, uint32_t* count, ProcessInfo*);      // _v3, _v2
using DeviceGetProcessesV1Fn = Return(Device, uint32_t* count, ProcessInfoV1*);  // v1
using DeviceGetProcessUtilizationFn = Return(Device, ProcessUtilizationSample*, uint32_t* count,
                                             uint64_t last_seen_us);
using GpmSampleAllocFn = Return(GpmSample*);
using GpmSampleFreeFn = Return(GpmSample);
using GpmSampleGetFn = Return(Device, GpmSample);
using GpmMigSampleGetFn = Return(Device, uint32_t gpu_instance, GpmSample);
using GpmMetricsGetFn = Return(GpmMetrics*);
using GpmQueryDeviceSupportFn = Return(Device, GpmSupport*);

}  // namespace kgpu::nvml
