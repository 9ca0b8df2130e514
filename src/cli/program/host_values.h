// Completion values that only the host knows: its GPUs. Queries the agent if one runs, else reads
// the kernel's files; never the driver, which may take seconds to answer.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "src/platform/base/status.h"
#include "src/platform/commands/candidates.h"
#include "src/platform/sys/root.h"

namespace kgpu::cli {

// The host of a command line, from its flags, else from the environment.
struct HostSource {
  std::string host_root;  // empty: "/"
  std::string run_dir;
};
HostSource HostSourceOf(const commands::TypedLine& line,
                        const std::vector<std::string>& environment);

// For the kind "GPU": UUIDs, and indexes if the agent reports them; empty for any other kind.
std::vector<commands::Candidate> HostValuesOf(const HostSource& source, std::string_view kind);

// UUIDs sorted by PCI address: the kernel does not know NVML's indexes, which skip a GPU that the
// driver cannot use. Source: /proc/driver/nvidia/gpus/*/information.
std::vector<commands::Candidate> GpusOfKernel(const sys::Root& host);

// Indexes and UUIDs of GPUs, and UUIDs of MIG devices, in the agent's response to /v1/devices.
// Errors: InvalidArgument.
StatusOr<std::vector<commands::Candidate>> GpusOfAgent(std::string_view json);

}  // namespace kgpu::cli
