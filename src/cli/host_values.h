// Values that completion offers and only the host knows: its GPUs. Asks the agent where one runs,
// else the kernel's files; never the driver, which may take seconds to answer.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "src/platform/base/status.h"
#include "src/platform/commands/candidates.h"
#include "src/platform/sys/root.h"

namespace kgpu::cli {

// Which host a line is about, by its flags, else by the environment.
struct HostSource {
  std::string host_root;  // empty: "/"
  std::string run_dir;
};
HostSource HostSourceOf(const commands::TypedLine& line,
                        const std::vector<std::string>& environment);

// For the kind "GPU" the indexes and the UUIDs; empty for any other.
std::vector<commands::Candidate> HostValuesOf(const HostSource& source, std::string_view kind);

// GPUs in the order of their PCI addresses. Source: /proc/driver/nvidia/gpus/*/information.
std::vector<commands::Candidate> GpusOfKernel(const sys::Root& host);

// GPUs and MIG devices of what the agent answers to /v1/devices. Errors: InvalidArgument.
StatusOr<std::vector<commands::Candidate>> GpusOfAgent(std::string_view json);

}  // namespace kgpu::cli
