// HostFacts in the form that conditions are compared with.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "src/gpu/cuda/requirement.h"
#include "src/gpu/cuda/requirement_reader.h"
#include "src/gpu/cuda/version.h"

namespace kgpu::cuda {

// Visible GPUs that are the same to every condition.
struct GpuKind {
  std::string name;  // of the first of them
  std::optional<ComputeCapability> compute;
  std::string brand;  // empty: unknown
};

struct Facts {
  std::optional<DriverVersion> driver;
  std::optional<CudaVersion> cuda;
  bool is_cuda_from_driver = false;  // from our table, since the host did not report it
  std::vector<GpuKind> gpus;         // never empty: holds an unknown one if none is visible
};

Facts FactsOf(const HostFacts& host);

// Whether the host has the value that the condition is about.
bool IsKnown(const Condition& condition, const Facts& facts, const GpuKind& gpu);
// Also true if it has not.
bool Meets(const Condition& condition, const Facts& facts, const GpuKind& gpu);

}  // namespace kgpu::cuda
