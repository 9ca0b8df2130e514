// The payloads of measurement requests. Part of protocol.h, same rules.
#pragma once

#include "src/gpu/probe/protocol.h"

namespace kgpu::probe {

inline constexpr uint32_t kMaxFans = 8;         // per GPU; more are not read
inline constexpr uint32_t kMaxProcesses = 256;  // per GPU; more are left out
inline constexpr uint32_t kProcessesPerPage = 120;

// The single values of a GPU, in NVML's units unless a comment gives another.
enum class SampleField : uint32_t {
  kGpuUtilization,  // percent, as the others
  kDutyCycle,       // thousandths of a percent
  kMemoryUtilization,
  kEncoderUtilization,
  kDecoderUtilization,
  kJpegUtilization,
  kOfaUtilization,
  kMemoryTotal,  // bytes
  kMemoryReserved,
  kMemoryUsed,
  kMemoryFree,
  kBar1Total,
  kBar1Used,
  kTemperature,  // degrees Celsius
  kMemoryTemperature,
  kTemperatureSlowdown,
  kTemperatureShutdown,
  kTemperatureGpuMax,
  kTemperatureMemoryMax,
  kPower,  // mW
  kPowerLimit,
  kEnergy,         // mJ
  kClockGraphics,  // MHz
  kClockSm,
  kClockMemory,
  kClockVideo,
  kMaxClockSm,
  kMaxClockMemory,
  kThrottleReasons,   // nvml::kThrottle…
  kPowerViolation,    // ns
  kThermalViolation,  // ns
  kEccVolatileCorrected,
  kEccVolatileUncorrected,
  kEccAggregateCorrected,
  kEccAggregateUncorrected,
  kRemapsCorrected,
  kRemapsUncorrected,
  kRemapPending,
  kRemapFailed,
  kSpareRowsMax,  // banks with all spare rows left; the next ones have fewer and fewer
  kSpareRowsHigh,
  kSpareRowsPartial,
  kSpareRowsLow,
  kSpareRowsNone,
  kRetiredSingleBit,
  kRetiredDoubleBit,
  kRetiredPending,
  kPcieGeneration,
  kPcieMaxGeneration,
  kPcieWidth,
  kPcieMaxWidth,
  kPcieReplays,
  kPcieSent,  // bytes per second
  kPcieReceived,
  kPerformanceState,
  kFabricState,
  kRecoveryAction,
  kFabricStatus,   // an nvml::Return, once the registration is complete
  kFabricHealth,   // nvml::FabricHealth
  kSramThreshold,  // the GPU's internal memory has exceeded its error threshold
};
inline constexpr uint32_t kSampleFieldCount = 60;

// GPM metrics in NVML's units: percent, or MiB per second.
enum class ProfilingField : uint32_t {
  kGraphics,
  kSm,
  kOccupancy,
  kTensor,
  kFp64,
  kFp32,
  kFp16,
  kDram,
  kPcieSent,
  kPcieReceived,
  kNvLinkSent,
  kNvLinkReceived,
};
inline constexpr uint32_t kProfilingFieldCount = 12;

// A value is valid if its bit in `has` is set.
struct ProfilingValues {
  uint32_t has;
  uint32_t reserved;
  double values[kProfilingFieldCount];
};

struct SamplePayload {  // of kSampleGpu
  uint64_t has;         // one bit per SampleField
  int64_t values[kSampleFieldCount];
  ProfilingValues profiling;
  uint32_t wants_second;  // a value is missing because it is a rate and this was the first sample
  uint32_t fan_count;
  uint32_t fans[kMaxFans];  // percent
};
static_assert(kSampleFieldCount <= 64);

enum class LinkField : uint32_t {
  kReplayErrors,
  kRecoveryErrors,
  kCrcFlitErrors,
  kCrcDataErrors,
  kSentKib,
  kReceivedKib,
};
inline constexpr uint32_t kLinkFieldCount = 6;

struct LinkSampleEntry {
  uint32_t link;
  uint32_t is_active;
  uint32_t has;
  uint32_t reserved;
  uint64_t values[kLinkFieldCount];
};

struct LinkSamplePayload {  // of kSampleNvLinks
  uint32_t count;
  uint32_t reserved;
  LinkSampleEntry links[kMaxNvLinks];
};

struct ProcessEntry {
  uint32_t pid;
  uint32_t kind;              // a ProcessKind of src/gpu/device/sample.h, by number
  uint32_t gpu_instance;      // or nvml::kNoInstance
  uint32_t compute_instance;  // or nvml::kNoInstance
  uint64_t memory;            // bytes, or nvml::kValueNotAvailable
  uint8_t has_utilization;
  uint8_t sm;  // percent
  uint8_t memory_utilization;
  uint8_t encoder;
  uint8_t decoder;
  uint8_t reserved[3];
};
static_assert(sizeof(ProcessEntry) == 32);
inline constexpr uint32_t kProcessCompute = 0;
inline constexpr uint32_t kProcessGraphics = 1;
inline constexpr uint32_t kProcessMps = 2;

struct ProcessPayload {  // of kSampleProcesses
  uint32_t count;        // on this page
  uint32_t has_more;     // there is a next page
  ProcessEntry processes[kProcessesPerPage];
};

struct MigSamplePayload {  // of kSampleMig
  uint32_t gpu_instance;
  uint32_t compute_instance;
  uint32_t has_memory;
  uint32_t reserved;
  uint64_t memory_total;  // bytes
  uint64_t memory_reserved;
  uint64_t memory_used;
  uint64_t memory_free;
  ProfilingValues profiling;
};

static_assert(sizeof(ReplyHeader) + sizeof(SamplePayload) <= kMaxFrameSize);
static_assert(sizeof(ReplyHeader) + sizeof(LinkSamplePayload) <= kMaxFrameSize);
static_assert(sizeof(ReplyHeader) + sizeof(ProcessPayload) <= kMaxFrameSize);

}  // namespace kgpu::probe
