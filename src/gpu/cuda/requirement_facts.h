// HostFacts as values that conditions are compared with.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "src/gpu/cuda/requirement.h"
#include "src/gpu/cuda/requirement_reader.h"
#include "src/gpu/cuda/version.h"

namespace kgpu::cuda {

// Visible GPUs that no condition can tell apart.
struct GpuKind {
  std::string name;  // of the first of them
  std::optional<ComputeCapability> compute;
  std::string brand;  // empty: not known
};

struct Facts {
  std::optional<DriverVersion> driver;
  std::optional<CudaVersion> cuda;
  bool is_cuda_from_driver = false;  // by our table, since the host did not say
  std::vector<GpuKind> gpus;         // never empty: nothing is known of what is not visible
};

Facts FactsOf(const HostFacts& host);

// Whether the host says anything of what the condition is about.
bool IsKnown(const Condition& condition, const Facts& facts, const GpuKind& gpu);
// True, too, where it does not.
bool Meets(const Condition& condition, const Facts& facts, const GpuKind& gpu);

}  // namespace kgpu::cuda
