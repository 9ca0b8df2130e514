#include "src/container/shim/requirements.h"

#include <algorithm>
#include <string>

#include "src/container/shim/cuda_compat.h"
#include "src/gpu/cuda/requirement.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"

namespace kgpu::shim {
namespace {

cuda::HostFacts FactsOf(const inject::InjectionIndex& index, const Grant& grant) {
  cuda::HostFacts facts{index.driver_version, index.cuda_version, {}};
  for (const inject::IndexDevice* gpu : grant.gpus) {
    facts.gpus.push_back(
        {fmt::format("GPU {}", gpu->names.front()), gpu->compute_capability, gpu->brand});
  }
  return facts;
}

// Only GPUs of data centers run a user-space driver that is newer than their module.
const inject::IndexDevice* GpuWithoutCompat(const Grant& grant) {
  const auto found = std::ranges::find_if(grant.gpus, [](const inject::IndexDevice* gpu) {
    const std::string brand = ToLower(gpu->brand);
    return brand.starts_with("geforce") || brand.starts_with("titan");
  });
  return found == grant.gpus.end() ? nullptr : *found;
}

// Why the admin's libraries do not help; OK when they are in the grant now.
Status TryCompat(const std::vector<std::string>& env, const Config& config,
                 const inject::InjectionIndex& index, const sys::Root& root, Grant& grant) {
  if (const inject::IndexDevice* gpu = GpuWithoutCompat(grant); gpu != nullptr) {
    return FailedPrecondition("GPU {} ({}) does not support them", gpu->names.front(), gpu->brand);
  }
  ASSIGN_OR_RETURN(const CompatLibraries compat, ReadCompatLibraries(root, config.cuda_compat));
  cuda::HostFacts facts = FactsOf(index, grant);
  facts.cuda_version = compat.cuda_version;
  if (cuda::CheckEnvironment(env, facts).outcome != cuda::Outcome::kSatisfied) {
    return FailedPrecondition("they are those of CUDA {}", compat.cuda_version);
  }
  UseCompatLibraries(compat, index, grant.index_edits);
  grant.notes.push_back(fmt::format("with the forward-compatibility libraries of CUDA {} in {}",
                                    compat.cuda_version, config.cuda_compat));
  return OkStatus();
}

}  // namespace

Status MeetRequirements(const std::vector<std::string_view>& env, const Config& config,
                        IndexReader& reader, const sys::Root& root, Grant& grant) {
  std::vector<std::string> demands;
  for (const std::string_view variable : env) {
    if (variable.starts_with("NVIDIA_REQUIRE_") ||
        variable.starts_with("NVIDIA_DISABLE_REQUIRE=") || variable.starts_with("CUDA_VERSION=")) {
      demands.emplace_back(variable);
    }
  }
  if (demands.empty() || !grant.has_driver) {
    return OkStatus();
  }
  ASSIGN_OR_RETURN(const inject::InjectionIndex* index, reader.Get());
  cuda::Verdict verdict = cuda::CheckEnvironment(demands, FactsOf(*index, grant));
  std::ranges::move(verdict.notes, std::back_inserter(grant.notes));
  if (verdict.outcome == cuda::Outcome::kSatisfied) {
    return OkStatus();
  }
  if (verdict.outcome == cuda::Outcome::kMalformed) {
    return InvalidArgument("{}", verdict.reason);
  }
  if (config.cuda_compat.empty()) {
    return FailedPrecondition("{}", verdict.reason);
  }
  if (const Status status = TryCompat(demands, config, *index, root, grant); !status.ok()) {
    return FailedPrecondition("{} (the forward-compatibility libraries in {} do not help: {})",
                              verdict.reason, config.cuda_compat, Message(status));
  }
  return OkStatus();
}

}  // namespace kgpu::shim
