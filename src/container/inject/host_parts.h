// Everything on a host that a container with GPUs may need, found once, with the container engine's
// paths.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "src/container/inject/capability.h"
#include "src/gpu/device/snapshot.h"
#include "src/host/inspect/device_nodes.h"
#include "src/host/inspect/driver_root.h"
#include "src/host/inspect/elf.h"
#include "src/platform/base/status.h"

namespace kgpu::inject {

// A device node, and the engine's path for it.
struct NodePart {
  host::DeviceFile file;    // with the path in the container
  std::string engine_path;  // as the engine opens it
};

struct LibraryPart {
  std::string name;         // "libcuda.so.535.104.05"
  std::string soname;       // "libcuda.so.1"; may be empty or the name itself
  std::string engine_path;  // the real file
  host::ElfMachine machine = host::ElfMachine::kUnknown;
};

// A program, configuration or firmware file, or a socket.
struct FilePart {
  std::string container_path;
  std::string engine_path;  // the real file
  CapabilitySet needed_by;
  bool is_socket = false;
};

struct HostParts {
  std::string driver_version;
  host::ElfMachine machine = host::ElfMachine::kUnknown;  // of the 64-bit libraries
  std::vector<LibraryPart> libraries;
  std::vector<FilePart> files;                      // by container path
  std::vector<std::pair<unsigned, NodePart>> gpus;  // by minor
  std::vector<std::pair<unsigned, NodePart>> caps;  // by minor
  std::vector<std::pair<device::PciBusId, NodePart>> dri;
  std::vector<NodePart> control;   // nvidiactl, nvidia-uvm, nvidia-uvm-tools: those that exist
  std::vector<NodePart> graphics;  // nvidia-modeset, if it exists
  std::vector<std::string> notes;  // what is unreadable or odd, with the fix
};

// Finds the parts of the driver whose version matches the kernel module of `snapshot`. Errors:
// NotFound (no driver libraries below the driver root, no /dev), FailedPrecondition (libraries of
// another version than the kernel module), each with the fix.
StatusOr<HostParts> FindHostParts(const host::DriverRoot& root, const device::Snapshot& snapshot);

}  // namespace kgpu::inject
