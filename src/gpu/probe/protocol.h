// The protocol between kgpu-probe and its parent: fixed-layout frames, one per message of a
// SOCK_SEQPACKET socketpair. Both ends are built from the same tree; the version protects against a
// probe left over from another release. The parent trusts nothing in a frame
// (src/gpu/probe/decode.h). Depends on fixed-width integers only: the probe has no libstdc++.
// Picture: docs/how-it-works/probe.md.
#pragma once

#include <cstddef>
#include <cstdint>

#include "src/gpu/nvml/abi.h"

namespace kgpu::probe {

inline constexpr uint32_t kMagic = 0x6b677075;  // "kgpu"
inline constexpr uint16_t kProtocolVersion = 4;
inline constexpr size_t kMaxFrameSize = 4096;

// A request that takes longer than this reports its progress, so that the parent's deadline applies
// to each driver call, not to the whole request.
inline constexpr uint32_t kProgressIntervalMs = 50;

inline constexpr uint32_t kMaxGpus = 128;       // per host; more are not read
inline constexpr uint32_t kMaxMigDevices = 32;  // per GPU; drivers allow 7 today
inline constexpr uint32_t kMaxNvLinks = nvml::kMaxNvLinks;

enum class FrameKind : uint16_t {
  kHello = 1,    // probe → parent, once, first
  kRequest = 2,  // parent → probe
  kReply = 3,    // probe → parent, one per request, in the order of the requests
  kEvent = 4,    // probe → parent, at any time after kStartEvents
  kProgress =
      5,  // probe → parent: the request `id` consists of many driver calls, one has returned
};

enum class Op : uint32_t {
  kPing = 1,         // no payload
  kInit = 2,         // InitPayload: loads the library and calls nvmlInit
  kDriverInfo = 3,   // DriverPayload
  kGpu = 4,          // GpuPayload; gpu: NVML index
  kMigDevice = 5,    // MigPayload; gpu, index: of the MIG device
  kNvLinks = 6,      // NvLinkPayload; gpu
  kTopology = 7,     // TopologyPayload; gpu
  kWatchEvents = 8,  // WatchPayload; gpu: registers for the events this GPU supports
  kStartEvents = 9,  // no payload: starts the thread that waits for events
  kShutdown = 10,    // no payload; the probe exits after the reply
  // Measurements: sample_protocol.h.
  kSampleGpu = 11,        // SamplePayload; gpu. Must come first for a GPU in each round
  kSampleNvLinks = 12,    // LinkSamplePayload; gpu
  kSampleProcesses = 13,  // ProcessPayload; gpu, index: page. Page 0 queries the driver
  kSampleMig = 14,        // MigSamplePayload; gpu, index: of the MIG device
  // MIG layouts: mig_protocol.h. Changes need root.
  kMigProfiles = 15,        // MigProfilesPayload; gpu
  kMigInstances = 16,       // MigInstancesPayload; gpu
  kMigSetMode = 17,         // MigModePayload; gpu, index: 1 on, 0 off
  kMigCreateGpu = 18,       // GpuInstancePayload; gpu, index: MigPlace
  kMigDestroyGpu = 19,      // no payload; gpu, index: id of the GPU instance
  kMigCreateCompute = 20,   // ComputeInstancePayload; gpu, index: MigPart with slices
  kMigDestroyCompute = 21,  // no payload; gpu, index: MigPart with an id
  // No payload; gpu, index: 1 leaves the GPU out, 0 takes it back. Calls for a GPU that is left out
  // are answered with "timeout" and do not reach the driver.
  kLeaveOut = 22,
};
inline constexpr uint32_t kLastOp = 22;

// Requests whose driver calls are about `gpu` alone, or about it and GPUs that are not left out.
constexpr bool IsOfOneGpu(Op op) {
  return op >= Op::kGpu && op != Op::kStartEvents && op != Op::kShutdown && op != Op::kLeaveOut;
}

struct FrameHeader {
  uint32_t magic;
  uint16_t version;
  uint16_t kind;
  uint32_t size;  // of the whole frame, in bytes
  uint32_t id;    // of the request; 0 in hello and event frames
};
static_assert(sizeof(FrameHeader) == 16);

struct HelloFrame {
  FrameHeader header;
  uint32_t pid;
  char build[32];  // version of kgpu
};

struct RequestFrame {
  FrameHeader header;
  uint32_t op;
  uint32_t gpu;
  uint32_t index;
};
static_assert(sizeof(RequestFrame) == 28);

// Head of every reply; the payload of `op` follows completely, or not at all if `result` is not
// success and there is nothing to report.
struct ReplyHeader {
  FrameHeader header;
  uint32_t op;
  int32_t result;  // nvml::Return of the decisive call
  uint32_t payload_size;
  uint32_t reserved;
};
static_assert(sizeof(ReplyHeader) == 32);

struct InitPayload {
  char error[256];  // the loader's message if the library could not be loaded
};

struct DriverPayload {
  int32_t driver_version_result;
  int32_t nvml_version_result;
  int32_t cuda_version_result;
  int32_t cuda_version;  // 12020 is 12.2
  uint32_t gpu_count;
  char driver_version[nvml::kSystemVersionSize];
  char nvml_version[nvml::kSystemVersionSize];
};

// What is requested of a GPU. Each field has its own result: the field is valid if its result is
// success; any other result says why it is not.
enum class GpuField : uint32_t {
  kUuid,
  kMinor,
  kPci,
  kName,
  kBrand,
  kArchitecture,
  kCompute,
  kMemory,
  kSerial,
  kVbios,
  kEcc,
  kMig,
  kMaxMig,
  kNuma,
  kFabric,
};
inline constexpr uint32_t kGpuFieldCount = 15;

struct PciAddress {
  uint32_t domain;
  uint32_t bus;
  uint32_t device;
};

struct GpuPayload {
  int32_t results[kGpuFieldCount];
  uint32_t minor;
  PciAddress pci;
  uint32_t pci_device_id;  // device id in the upper half, vendor id in the lower
  int32_t brand;
  uint32_t architecture;
  int32_t compute_major;
  int32_t compute_minor;
  uint32_t is_ecc_enabled;
  uint32_t is_mig_enabled;
  uint32_t is_mig_pending;
  uint32_t max_mig_devices;
  uint32_t numa_node;
  uint32_t fabric_state;  // nvml::kFabricState…
  int32_t fabric_status;  // nvml::Return of the registration with the fabric
  uint32_t fabric_clique;
  uint64_t memory_bytes;
  uint64_t reserved_bytes;  // of it, for driver and firmware; 0 from drivers that do not tell
  uint8_t fabric_cluster[16];
  char uuid[nvml::kUuidV2Size];
  char name[nvml::kNameV2Size];
  char serial[nvml::kSerialSize];
  char vbios[nvml::kVbiosVersionSize];
};

enum class MigField : uint32_t {
  kUuid,
  kName,
  kGpuInstance,
  kComputeInstance,
  kAttributes,
  kInstanceInfo,  // profile and placement; some drivers require privileges
};
inline constexpr uint32_t kMigFieldCount = 6;

struct MigPayload {
  int32_t results[kMigFieldCount];
  uint32_t gpu_instance;
  uint32_t compute_instance;
  uint32_t gpu_instance_slices;
  uint32_t compute_instance_slices;
  uint32_t multiprocessors;
  uint32_t copy_engines;
  uint32_t decoders;
  uint32_t encoders;
  uint32_t jpeg_engines;
  uint32_t ofa_engines;
  uint32_t profile_id;
  uint32_t placement_start;
  uint32_t placement_size;
  uint64_t memory_mib;
  char uuid[nvml::kUuidV2Size];
  char name[nvml::kNameV2Size];
};

struct NvLinkEntry {
  uint32_t link;
  uint32_t is_active;
  uint32_t version;     // 0: unknown
  int32_t device_type;  // nvml::NvLinkDeviceType of the other end
  uint32_t has_remote;  // `remote` is set
  PciAddress remote;
};

struct NvLinkPayload {
  uint32_t count;      // entries used; without links that the GPU does not have
  int32_t bad_result;  // the first result that is a fault, else success
  NvLinkEntry links[kMaxNvLinks];
};

struct TopologyPayload {
  uint32_t count;            // of `levels`: the number of GPUs
  int16_t levels[kMaxGpus];  // by NVML index: nvml::TopologyLevel, or kNoTopologyLevel
};
inline constexpr int16_t kNoTopologyLevel = -1;

struct WatchPayload {
  uint64_t event_types;  // registered ones
};

struct EventFrame {
  FrameHeader header;
  int32_t result;  // success: an event; otherwise what nvmlEventSetWait answered
  uint32_t gpu;    // NVML index at the time of kWatchEvents, or kUnknownGpu
  uint64_t type;   // one of nvml::kEvent…
  uint64_t data;   // the XID
  uint32_t gpu_instance;
  uint32_t compute_instance;
  char uuid[nvml::kUuidV2Size];  // empty if unknown
};
inline constexpr uint32_t kUnknownGpu = 0xFFFFFFFFU;

// The events worth waking up for. Clock and power changes are frequent and change nothing that the
// inventory shows.
inline constexpr uint64_t kWantedEvents =
    nvml::kEventXidCritical | nvml::kEventDoubleBitEcc | nvml::kEventSingleBitEcc |
    nvml::kEventMigConfig | nvml::kEventGpuUnavailable | nvml::kEventGpuRecoveryAction;

static_assert(sizeof(ReplyHeader) + sizeof(NvLinkPayload) <= kMaxFrameSize);
static_assert(sizeof(ReplyHeader) + sizeof(GpuPayload) <= kMaxFrameSize);

}  // namespace kgpu::probe
