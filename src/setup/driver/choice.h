// Which driver, of which kind, from which source: a function of the facts and the request.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/gpu/cuda/version.h"
#include "src/platform/base/status.h"
#include "src/setup/driver/host_facts.h"
#include "src/setup/driver/plan.h"

namespace kgpu::driver {

// An admin's request. Unset: decided by what suits the host.
struct Request {
  std::string cuda;        // "12.4": the least CUDA that the driver must have
  std::string version;     // "580" or "580.95.05"
  bool is_branch = false;  // set by --branch, not --version
  std::optional<ModuleKind> kind;
  std::optional<SourceKind> source;      // for kRunFile and kLocalRepo, see HostFacts::file
  std::optional<Generation> generation;  // plans for GPUs that are not installed yet
  bool has_display = false;              // also drives a display, besides computing
  std::string toolkit_image;             // RHCOS: where the modules are built
  bool gives_up = false;     // may remove another driver that might not come back after a failure
  bool has_headers = false;  // the kernel's headers are present, but from no package
};

// Request::version, which must be set. Errors: InvalidArgument, naming --version or --branch.
StatusOr<cuda::DriverVersion> ParseVersion(const Request& request);
// --module: "open", "proprietary" or "auto". Errors: InvalidArgument.
StatusOr<std::optional<ModuleKind>> ParseModuleKind(std::string_view text);
// --source: "auto", "distribution", "nvidia", "precompiled"; a path means the file's kind. Errors:
// InvalidArgument.
StatusOr<std::optional<SourceKind>> ParseSource(std::string_view text);
// Whether --source names a file: it contains a slash or has a file suffix.
bool IsFile(std::string_view source);

struct Choice {
  std::string version;  // full, or a branch
  ModuleKind kind = ModuleKind::kOpen;
  SourceKind source = SourceKind::kDistribution;
  bool is_signed = false;  // modules come prebuilt and signed
  std::vector<std::string> why;
  std::vector<std::string> notes;

  unsigned branch() const;
  // Whether one version is requested, not a branch.
  bool is_whole() const { return version.find('.') != std::string::npos; }
  // The lowest version after it: "581", "580.95.6".
  std::string end() const;
};

// Errors: InvalidArgument (an invalid flag, or flags that contradict each other or the GPUs),
// FailedPrecondition (no GPU; nothing fits; a distribution without packages; the text says what
// would help).
StatusOr<Choice> Choose(const HostFacts& facts, const Request& request);

}  // namespace kgpu::driver
