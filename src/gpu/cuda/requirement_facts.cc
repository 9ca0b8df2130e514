#include "src/gpu/cuda/requirement_facts.h"

#include <algorithm>
#include <utility>

#include "src/gpu/cuda/compatibility.h"
#include "src/platform/base/strings.h"

namespace kgpu::cuda {
namespace {

template <typename T>
std::optional<T> ReadFact(const std::string& text) {
  StatusOr<T> value = T::Parse(text);
  return value.ok() ? std::optional(*value) : std::nullopt;
}

void AddKind(const GpuFacts& gpu, std::vector<GpuKind>& kinds) {
  GpuKind kind{gpu.name, ReadFact<ComputeCapability>(gpu.compute_capability), ToLower(gpu.brand)};
  const bool is_there = std::ranges::any_of(kinds, [&kind](const GpuKind& other) {
    return other.compute == kind.compute && other.brand == kind.brand;
  });
  if (!is_there) {
    kinds.push_back(std::move(kind));
  }
}

}  // namespace

Facts FactsOf(const HostFacts& host) {
  Facts facts;
  facts.driver = ReadFact<DriverVersion>(host.driver_version);
  facts.cuda = ReadFact<CudaVersion>(host.cuda_version);
  // A driver of a branch after all that we know may support more than the last CUDA that we know.
  if (!facts.cuda && facts.driver &&
      facts.driver->branch() <= Toolkits().front().least_driver.branch()) {
    facts.cuda = HighestCuda(*facts.driver);
    facts.is_cuda_from_driver = facts.cuda.has_value();
  }
  for (const GpuFacts& gpu : host.gpus) {
    AddKind(gpu, facts.gpus);
  }
  if (facts.gpus.empty()) {
    facts.gpus.emplace_back();
  }
  return facts;
}

bool IsKnown(const Condition& condition, const Facts& facts, const GpuKind& gpu) {
  switch (condition.property) {
    case Property::kCuda:
      return facts.cuda.has_value();
    case Property::kDriver:
      return facts.driver.has_value();
    case Property::kArch:
      return gpu.compute.has_value();
    case Property::kBrand:
      return !gpu.brand.empty();
  }
  return false;
}

bool Meets(const Condition& condition, const Facts& facts, const GpuKind& gpu) {
  if (!IsKnown(condition, facts, gpu)) {
    return true;
  }
  switch (condition.property) {
    case Property::kCuda:
      return Holds(condition, facts.cuda.value_or(CudaVersion()).numbers());
    case Property::kDriver:
      return Holds(condition, facts.driver.value_or(DriverVersion()).numbers);
    case Property::kArch:
      return Holds(condition, gpu.compute.value_or(ComputeCapability()).numbers());
    case Property::kBrand:
      return Holds(condition, gpu.brand);
  }
  return false;
}

}  // namespace kgpu::cuda
