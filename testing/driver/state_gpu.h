// One simulated GPU: everything that an NVML client may query. Plain data shared between processes.
// kUnsupported in a 32-bit field, kUnsupported64 in a 64-bit field or an empty text mean that the
// model lacks it: the library then returns NVML_ERROR_NOT_SUPPORTED.
#pragma once

#include <cstdint>

#include "testing/driver/state_mig.h"

namespace kgpu::sim {

inline constexpr uint32_t kUnsupported = 0xffffffffU;
inline constexpr uint64_t kUnsupported64 = 0xffffffffffffffffULL;
inline constexpr uint32_t kMaxGpus = 64;
inline constexpr uint32_t kMaxNvLinks = 18;
inline constexpr uint32_t kMaxProcesses = 128;  // per GPU
inline constexpr uint32_t kMaxRetiredPages = 64;
inline constexpr uint32_t kMaxKnobs = 4;
inline constexpr uint32_t kCpuMaskWords = 16;  // 1,024 CPUs

// Slows calls down, makes them hang or refuses them. If `function` is set, only the NVML function
// of that name, without version suffix: "nvmlDeviceGetTemperature" also slows
// nvmlDeviceGetTemperatureV.
struct SimKnob {
  uint32_t hang;  // 1: calls wait until healed
  uint32_t is_set;
  uint64_t slow_ns;   // added to each call
  char function[64];  // empty: every function
  uint32_t refusal;   // the Return of each call; 0: it is answered
  uint32_t padding;
};

struct SimPci {
  uint32_t domain;
  uint32_t bus;
  uint32_t device;
  uint32_t function;
  uint32_t vendor_id;         // 0x10de
  uint32_t device_id;         // 0x20b2
  uint32_t subsystem_vendor;  // 0x10de
  uint32_t subsystem_device;  // 0x147f
  uint32_t class_code;        // 0x030200 "3D controller", 0x030000 "VGA"
  uint32_t revision;
};

enum NvLinkRemoteType : uint32_t {  // NVML_NVLINK_DEVICE_TYPE_*
  kRemoteGpu = 0,
  kRemoteIbmNpu = 1,
  kRemoteSwitch = 2,
  kRemoteUnknown = 255,
};

struct SimNvLink {
  uint32_t exists;
  uint32_t is_active;
  uint32_t version;      // NVLink generation: 3 on A100
  uint32_t remote_type;  // NvLinkRemoteType
  SimPci remote;
  uint32_t remote_link;
  uint32_t speed_mbps;  // MB/s of one direction: 25000 on A100
  uint64_t errors[4];   // by NVML_NVLINK_ERROR_DL_*: replay, recovery, CRC flit, CRC data
  uint64_t tx_kib;      // sent, and received, at SimGpu::settled_ns
  uint64_t rx_kib;
};

// Counters by NVML_MEMORY_LOCATION_*: 0 L1, 1 L2, 2 device memory, 3 register file, 4 texture
// memory, 5 texture shared memory, 6 CBU, 7 SRAM.
inline constexpr uint32_t kEccLocations = 8;
struct SimEcc {
  uint32_t is_capable;
  uint32_t mode;  // 1 enabled
  uint32_t pending_mode;
  uint32_t default_mode;
  uint64_t volatile_corrected[kEccLocations];
  uint64_t volatile_uncorrected[kEccLocations];
  uint64_t aggregate_corrected[kEccLocations];
  uint64_t aggregate_uncorrected[kEccLocations];
  uint32_t is_sram_threshold_exceeded;
  uint32_t padding;
};

struct SimRetiredPage {
  uint64_t address;
  uint64_t timestamp_us;
  uint32_t cause;  // 0 multiple single bit errors, 1 double bit error
  uint32_t padding;
};

struct SimRemap {
  uint32_t is_capable;  // Ampere and newer; older models retire pages
  uint32_t corrected;
  uint32_t uncorrected;
  uint32_t is_pending;
  uint32_t has_failed;
  uint32_t histogram[5];  // banks with max, high, partial, low, no spare rows
};

enum ProcessKind : uint32_t { kCompute = 0, kGraphics = 1, kMps = 2 };

struct SimProcess {
  uint32_t pid;   // 0: free slot
  uint32_t kind;  // ProcessKind
  uint64_t used_bytes;
  uint32_t gpu_instance;  // kUnsupported: none
  uint32_t compute_instance;
  uint32_t sm_util;  // percent
  uint32_t mem_util;
  uint32_t enc_util;
  uint32_t dec_util;
  char name[92];
  uint32_t is_client;  // 1: uses libcuda.so.1 over a connection to the server, and ends with it
};

struct SimClocks {  // MHz, by NVML_CLOCK_*: graphics, SM, memory, video
  uint32_t current[4];
  uint32_t maximum[4];
  uint32_t application[4];
  uint32_t default_application[4];
  uint32_t supported_memory[4];  // 0 ends the list; highest first
  uint32_t supported_graphics_min;
  uint32_t supported_graphics_step;  // 15
};

struct SimPower {  // milliwatts
  uint32_t usage;
  uint32_t limit;
  uint32_t default_limit;
  uint32_t minimum_limit;
  uint32_t maximum_limit;
  uint32_t is_management_capable;
  uint64_t energy_mj;  // millijoules since the driver was loaded, at SimGpu::settled_ns
};

struct SimTemperature {  // degrees Celsius
  uint32_t gpu;
  uint32_t memory;  // HBM, kUnsupported on GDDR boards
  uint32_t shutdown;
  uint32_t slowdown;
  uint32_t memory_max;
  uint32_t gpu_max;
  uint32_t has_no_thresholds;  // 1: limits are reported as T.Limit only, as newer drivers may do
  uint32_t padding;
};

struct SimPcie {
  uint32_t generation;
  uint32_t generation_max;      // of GPU and slot together
  uint32_t generation_gpu_max;  // of the GPU alone
  uint32_t width;
  uint32_t width_max;
  uint32_t replay_counter;
  uint32_t tx_kib_s;  // KB/s as NVML counts them
  uint32_t rx_kib_s;
  uint64_t tx_bytes;  // sent, and received, at SimGpu::settled_ns
  uint64_t rx_bytes;
};

// GPM counters, in percent. kUnsupported: derived from the utilisation.
struct SimGpm {
  uint32_t is_capable;  // Hopper and newer
  uint32_t graphics;
  uint32_t sm;
  uint32_t occupancy;
  uint32_t tensor;
  uint32_t fp64;
  uint32_t fp32;
  uint32_t fp16;
  uint32_t dram;
  uint32_t padding;
};

struct SimUtilization {  // percent
  uint32_t gpu;
  uint32_t memory;
  uint32_t encoder;
  uint32_t decoder;
  uint32_t jpeg;
  uint32_t ofa;
};

struct SimGpu {
  uint32_t is_present;   // 0: free slot, or removed
  uint32_t is_lost;      // fell off the bus
  uint32_t incarnation;  // increases when the slot is reused
  uint32_t minor;        // N of /dev/nvidia<N>; kUnsupported is not allowed
  char uuid[48];         // "GPU-…"
  char name[96];
  char serial[32];
  char board_part_number[32];
  char vbios[32];
  char inforom_image[24];  // "G503.0203.00.02"
  char inforom_oem[24];
  char inforom_ecc[24];
  char inforom_power[24];
  char gsp_firmware[48];  // empty: GSP off
  SimPci pci;
  uint32_t brand;         // NVML_BRAND_*
  uint32_t architecture;  // NVML_DEVICE_ARCH_*
  uint32_t cc_major;
  uint32_t cc_minor;
  uint32_t cuda_cores;
  uint32_t multiprocessors;
  uint32_t memory_bus_width;
  uint32_t board_id;
  uint32_t module_id;  // kUnsupported off SXM boards
  uint32_t is_multi_gpu_board;
  uint32_t irq;
  uint32_t bus_type;      // NVML_BUS_TYPE_*: 2 PCIe
  uint64_t memory_total;  // bytes
  uint64_t memory_reserved;
  uint64_t memory_used;  // besides what the processes use
  uint64_t bar1_total;
  uint64_t bar1_used;
  SimPower power;
  SimClocks clocks;
  SimTemperature temperature;
  SimUtilization utilization;
  SimPcie pcie;
  SimEcc ecc;
  SimRemap remap;
  uint32_t fan_count;  // 0: passive
  uint32_t fan_percent;
  uint32_t performance_state;  // 0…15
  uint32_t compute_mode;       // 0 default, 2 prohibited, 3 exclusive process
  uint32_t persistence_mode;
  uint32_t display_mode;
  uint32_t display_active;
  uint32_t accounting_mode;
  uint64_t throttle_reasons;  // nvmlClocksEventReason* bits
  uint64_t supported_throttle_reasons;
  uint64_t supported_events;  // nvmlEventType* bits
  int32_t numa_node;          // -1: none
  uint32_t retired_page_count;
  uint32_t retired_pages_pending;
  uint32_t retirement_is_capable;
  uint64_t cpu_mask[kCpuMaskWords];
  uint8_t topology[kMaxGpus];  // NVML_TOPOLOGY_* to the GPU in each slot: 0, 10, 20, 30, 40, 50
  SimRetiredPage retired_pages[kMaxRetiredPages];
  uint32_t nvlink_count;
  uint32_t fabric_state;    // kUnsupported; 0 not supported, 1 not started, 2, 3 completed
  uint32_t fabric_cluster;  // last bytes of the cluster's UUID; 0: all of it is zero
  uint32_t fabric_clique;
  SimNvLink nvlinks[kMaxNvLinks];
  SimMig mig;
  SimKnob knobs[kMaxKnobs];
  SimProcess processes[kMaxProcesses];
  SimGpm gpm;
  // Counters are correct as of this moment and advance from it by the current rates; see
  // counters.h. CLOCK_BOOTTIME; 0: they do not advance.
  uint64_t settled_ns;
  uint64_t power_violation_ns;
  uint64_t thermal_violation_ns;
  uint32_t nvlink_tx_kib_s;  // of each active link
  uint32_t nvlink_rx_kib_s;
  uint32_t recovery_action;  // nvmlDeviceGpuRecoveryAction_t
  uint32_t fabric_status;    // a Return, of a registration that is completed
  uint32_t last_xid;         // 0: none since the driver was loaded or healed
  uint32_t reset_required;   // 1: only a GPU reset (Heal) repairs it
  uint32_t fabric_health;    // nvml::FabricHealth; older libraries do not report it
  uint32_t context_mib;      // of each CUDA context; 0: kDefaultContextMib
  uint32_t is_unlisted;      // 1: not counted by NVML, while PCI and /proc show it
  uint32_t virtualization;   // NVML_GPU_VIRTUALIZATION_MODE_*: 0 none, 2 a vGPU of a guest
};

inline constexpr uint32_t kDefaultContextMib = 308;
constexpr uint64_t ContextBytes(const SimGpu& gpu) {
  return uint64_t{gpu.context_mib != 0 ? gpu.context_mib : kDefaultContextMib} << 20;
}

}  // namespace kgpu::sim
