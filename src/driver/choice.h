// Which driver, of which kind, from where: a function of the facts and of what is asked for.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "src/base/status.h"
#include "src/driver/host_facts.h"
#include "src/driver/plan.h"

namespace kgpu::driver {

// What an admin asks for. Unset: what suits the host decides.
struct Request {
  std::string cuda;     // "12.4": the least CUDA that the driver must have
  std::string version;  // "580" or "580.95.05"
  std::optional<ModuleKind> kind;
  std::optional<SourceKind> source;
  std::string file;                      // of kRunFile and kLocalRepo, as the host names it
  std::optional<Generation> generation;  // plans for GPUs that are not here yet
  bool container_only = true;            // no parts for a display
};

struct Choice {
  std::string version;  // whole or a branch
  unsigned branch = 0;
  ModuleKind kind = ModuleKind::kOpen;
  SourceKind source = SourceKind::kDistribution;
  std::string file;
  std::vector<std::string> why;
  std::vector<std::string> notes;
};

// Errors: InvalidArgument (a flag, or flags that contradict each other or the GPUs),
// FailedPrecondition (nothing fits; the text says what would), Unimplemented (a distribution or
// combination that is not served).
StatusOr<Choice> Choose(const HostFacts& facts, const Request& request);

}  // namespace kgpu::driver
