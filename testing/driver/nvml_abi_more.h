// The part of NVML's binary interface that production does not use but other clients of the
// simulated library do. Same rules as src/gpu/nvml/abi.h: a name of ours is NVML's without its
// "nvml" and "_t". Source: NVML API reference.
#pragma once

#include "src/gpu/nvml/mig_abi.h"
#include "src/gpu/nvml/sample_abi.h"

namespace kgpu::nvml {

using Unit = struct nvmlUnit_st*;

inline constexpr uint32_t kClockTypes = 4;        // nvmlClockType_t
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

enum InforomObject : int32_t { kInforomOem = 0, kInforomEcc = 1, kInforomPower = 2 };
enum EccBits : int32_t { kEccCorrected = 0, kEccUncorrected = 1 };  // nvmlMemoryErrorType_t
enum EccCounter : int32_t { kEccVolatile = 0, kEccAggregate = 1 };  // nvmlEccCounterType_t

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

struct EccErrorCounts {  // nvmlEccErrorCounts_t
  uint64_t l1_cache;
  uint64_t l2_cache;
  uint64_t device_memory;
  uint64_t register_file;
};
static_assert(sizeof(EccErrorCounts) == 32);

struct PowerValueV2 {  // nvmlPowerValue_v2_t
  uint32_t version;
  uint8_t scope;  // 0: the GPU
  uint32_t milliwatts;
};
static_assert(StructVersion<PowerValueV2>(2) == 0x0200000c);

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

// nvmlEventData_t as the first version of nvmlEventSetWait fills it.
struct EventDataV1 {
  Device device;
  uint64_t event_type;
  uint64_t event_data;
};
static_assert(sizeof(EventDataV1) == 24);

}  // namespace kgpu::nvml
