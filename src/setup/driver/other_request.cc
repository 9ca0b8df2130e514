#include "src/setup/driver/other_request.h"

#include <algorithm>

#include <fmt/format.h>

#include "src/gpu/cuda/compatibility.h"
#include "src/platform/base/status_macros.h"
#include "src/setup/driver/branches.h"

namespace kgpu::driver {
namespace {

// Either may be a branch, of which the other is a version.
bool IsOneOf(const std::string& version, const std::string& wanted) {
  return IsVersion(version, wanted) || IsVersion(wanted, version);
}

// If a plan names a branch, it is not known which of its versions was installed.
bool MayReach(const std::string& version, const cuda::DriverVersion& least) {
  const auto parsed = cuda::DriverVersion::Parse(version);
  if (!parsed.ok()) {
    return true;
  }
  if (version.find('.') != std::string::npos) {
    return *parsed >= least;
  }
  const Branch* branch = FindBranch(parsed->branch());
  return branch == nullptr ? parsed->branch() >= least.branch() : Reaches(*branch, least);
}

bool HasDisplay(const Plan& plan) {
  return std::ranges::any_of(plan.steps,
                             [](const Step& step) { return step.id.starts_with("display-"); });
}

}  // namespace

StatusOr<Demands> DemandsOf(const Request& request) {
  Demands demands;
  demands.kind = request.kind;
  if (!request.version.empty()) {
    RETURN_IF_ERROR(ParseVersion(request).status());
  }
  if (!request.cuda.empty()) {
    const auto parsed = cuda::CudaVersion::Parse(request.cuda);
    if (!parsed.ok()) {
      return Annotate(parsed.status(), "--cuda");
    }
    demands.cuda = *parsed;
  }
  return demands;
}

StatusOr<std::string> OtherThanAsked(const Request& request, const Plan& plan,
                                     const std::string& file_version) {
  ASSIGN_OR_RETURN(const Demands demands, DemandsOf(request));
  if (!request.version.empty() && !IsOneOf(plan.version, request.version)) {
    return fmt::format("it is not {}", request.version);
  }
  if (!file_version.empty() && !IsOneOf(plan.version, file_version)) {
    return fmt::format("it is not {}, the version of the file", file_version);
  }
  if (request.kind && *request.kind != plan.kind) {
    return fmt::format("its modules are the {} ones, not the {} ones", ToString(plan.kind),
                       ToString(*request.kind));
  }
  if (request.source && *request.source != plan.source) {
    return fmt::format("its source is {}, not {}", ToString(plan.source),
                       ToString(*request.source));
  }
  if (request.has_display && !HasDisplay(plan)) {
    return std::string("it has compute support only, not display");
  }
  const auto least = demands.cuda ? cuda::LeastDriver(*demands.cuda) : std::nullopt;
  if (demands.cuda && !(least && MayReach(plan.version, *least))) {
    return fmt::format(
        "CUDA {} needs {}", demands.cuda->str(),
        least ? fmt::format("driver {} or newer", least->str()) : "a driver unknown to kgpu");
  }
  return std::string();
}

Request KeepRequest(Request request, const Plan& ours) {
  request.has_display |= HasDisplay(ours);
  const bool is_of_file =
      ours.source == SourceKind::kRunFile || ours.source == SourceKind::kLocalRepo;
  if (!request.source && !is_of_file) {
    request.source = ours.source;
  }
  if (request.version.empty() && request.cuda.empty() && !is_of_file) {
    request.version = ours.version;
  }
  if (!request.kind) {
    request.kind = ours.kind;
  }
  return request;
}

}  // namespace kgpu::driver
