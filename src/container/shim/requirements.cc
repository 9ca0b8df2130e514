#include "src/container/shim/requirements.h"

#include <algorithm>
#include <string>

#include "src/container/shim/cuda_compat.h"
#include "src/gpu/cuda/requirement.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"

namespace kgpu::shim {
namespace {

cuda::HostFacts FactsOf(const inject::Book& book, const Grant& grant) {
  cuda::HostFacts facts{book.driver_version, book.cuda_version, {}};
  for (const inject::BookDevice* gpu : grant.gpus) {
    facts.gpus.push_back(
        {fmt::format("GPU {}", gpu->names.front()), gpu->compute_capability, gpu->brand});
  }
  return facts;
}

// Only GPUs of data centers run a user-space driver that is newer than their module.
const inject::BookDevice* GpuWithoutCompat(const Grant& grant) {
  const auto found = std::ranges::find_if(grant.gpus, [](const inject::BookDevice* gpu) {
    const std::string brand = ToLower(gpu->brand);
    return brand.starts_with("geforce") || brand.starts_with("titan");
  });
  return found == grant.gpus.end() ? nullptr : *found;
}

// Why the admin's libraries do not help; OK when they are in the grant now.
Status TryCompat(const std::vector<std::string>& env, const Config& config,
                 const inject::Book& book, const sys::Root& root, Grant& grant) {
  if (const inject::BookDevice* gpu = GpuWithoutCompat(grant); gpu != nullptr) {
    return FailedPrecondition("GPU {} ({}) does not run them", gpu->names.front(), gpu->brand);
  }
  ASSIGN_OR_RETURN(const CompatLibraries compat, ReadCompatLibraries(root, config.cuda_compat));
  cuda::HostFacts facts = FactsOf(book, grant);
  facts.cuda_version = compat.cuda_version;
  if (cuda::CheckEnvironment(env, facts).outcome != cuda::Outcome::kSatisfied) {
    return FailedPrecondition("they are those of CUDA {}", compat.cuda_version);
  }
  UseCompatLibraries(compat, book, grant.book_edits);
  grant.notes.push_back(fmt::format("with the forward-compatibility libraries of CUDA {} in {}",
                                    compat.cuda_version, config.cuda_compat));
  return OkStatus();
}

}  // namespace

Status MeetRequirements(const std::vector<std::string_view>& env, const Config& config,
                        BookReader& books, const sys::Root& root, Grant& grant) {
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
  ASSIGN_OR_RETURN(const inject::Book* book, books.Get());
  cuda::Verdict verdict = cuda::CheckEnvironment(demands, FactsOf(*book, grant));
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
  if (const Status status = TryCompat(demands, config, *book, root, grant); !status.ok()) {
    return FailedPrecondition("{} (the forward-compatibility libraries in {} do not help: {})",
                              verdict.reason, config.cuda_compat, Message(status));
  }
  return OkStatus();
}

}  // namespace kgpu::shim
