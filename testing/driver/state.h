// The whole state of the simulated driver as one block of plain data. The state server owns it in a
// memfd and changes it in place; the simulated libraries map it read-only and read it under the
// seqlock. The host-tree builder fills it from a profile. Nothing here allocates or has a
// constructor.
#pragma once

#include <cstdint>
#include <type_traits>

#include "testing/driver/state_gpu.h"

namespace kgpu::sim {

inline constexpr uint64_t kStateMagic = 0x6174735370676bULL;  // "kgpSsta"
inline constexpr uint32_t kStateLayout = 4;  // increases with every layout change below
inline constexpr uint32_t kMaxEvents = 256;

// Where the state server listens below the simulated host's root (nvidia-persistenced's path), and
// where it keeps its own files.
inline constexpr char kSocketPath[] = "run/nvidia-persistenced/socket";
inline constexpr char kSocketPathVar[] = "var/run/nvidia-persistenced/socket";
inline constexpr char kStateFile[] = ".kgpu-sim/state";

// An event clients can wait for. Source: nvmlEventData_t, nvmlEventType*.
struct SimEvent {
  uint64_t sequence;      // 1, 2, 3, … over the life of the state
  uint64_t type;          // one nvmlEventType* bit
  uint64_t data;          // XID number for XID events
  uint32_t gpu;           // slot
  uint32_t gpu_instance;  // kUnsupported: the whole GPU
  uint32_t compute_instance;
  uint32_t padding;
};

struct SimDriver {
  uint32_t is_loaded;
  uint32_t cuda_version;     // 12020 for 12.2
  char version[32];          // of the loaded module: "535.261.03"
  char library_version[32];  // of the user-space files in the host tree
  uint32_t is_open_module;   // the open kernel module
  uint32_t nvidia_major;     // 195
  uint32_t uvm_major;
  uint32_t caps_major;
  uint32_t nvswitch_major;  // 0: no switches
  uint32_t nvswitch_count;
  uint32_t imex_major;   // of nvidia-caps-imex-channels; 0: none
  uint32_t highest_bus;  // of the host's other PCI devices, such as NVSwitches; 0: there are none
};

struct SimState {
  uint64_t magic;     // kStateMagic
  uint32_t layout;    // kStateLayout
  uint32_t size;      // sizeof(SimState)
  uint64_t sequence;  // seqlock: odd while the server writes
  uint64_t version;   // increases with every change
  SimDriver driver;
  SimKnob knobs[kMaxKnobs];  // for every GPU and for calls without one
  uint64_t event_count;      // events so far; the newest is events[(event_count-1) % kMaxEvents]
  SimEvent events[kMaxEvents];
  uint32_t gpu_count;  // slots in use, removed ones included: gpus[0 … gpu_count)
  uint32_t padding;
  char profile[64];       // name of the profile the state came from
  SimGpu gpus[kMaxGpus];  // last, so that a state file can end after gpu_count of them
};

static_assert(std::is_trivially_copyable_v<SimState> && std::is_standard_layout_v<SimState>);
static_assert(std::has_unique_object_representations_v<SimState>, "padding must be explicit");

}  // namespace kgpu::sim
