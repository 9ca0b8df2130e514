// Which driver, of which kind, from where: a function of the facts and of what is asked for.
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

// What an admin asks for. Unset: what suits the host decides.
struct Request {
  std::string cuda;        // "12.4": the least CUDA that the driver must have
  std::string version;     // "580" or "580.95.05"
  bool is_branch = false;  // --branch named it, not --version
  std::optional<ModuleKind> kind;
  std::optional<SourceKind> source;      // of kRunFile and kLocalRepo HostFacts::file says which
  std::optional<Generation> generation;  // plans for GPUs that are not here yet
  bool has_display = false;              // a display is to be drawn on, not only computed
  std::string toolkit_image;             // RHCOS: where the modules are built
  bool gives_up = false;     // another driver gives way though it may not come back when this fails
  bool has_headers = false;  // of the kernel: they are here, and of no package
};

// Request::version, which is given. Errors: InvalidArgument, naming --version or --branch.
StatusOr<cuda::DriverVersion> ParseVersion(const Request& request);
// --module: "open", "proprietary" or "auto". Errors: InvalidArgument.
StatusOr<std::optional<ModuleKind>> ParseModuleKind(std::string_view text);
// --source: "auto", "distribution", "nvidia", "precompiled"; a path means the file's kind. Errors:
// InvalidArgument.
StatusOr<std::optional<SourceKind>> ParseSource(std::string_view text);
// Whether --source names a file: it has a slash or an ending of one.
bool IsFile(std::string_view source);

struct Choice {
  std::string version;  // whole or a branch
  ModuleKind kind = ModuleKind::kOpen;
  SourceKind source = SourceKind::kDistribution;
  bool is_signed = false;  // modules come built and signed
  std::vector<std::string> why;
  std::vector<std::string> notes;

  unsigned branch() const;
  // One version is asked for, not a branch.
  bool is_whole() const { return version.find('.') != std::string::npos; }
  // The least version that is past it: "581", "580.95.6".
  std::string end() const;
};

// Errors: InvalidArgument (a flag, or flags that contradict each other or the GPUs),
// FailedPrecondition (no GPU; nothing fits; the text says what would), Unimplemented (a
// distribution without packages).
StatusOr<Choice> Choose(const HostFacts& facts, const Request& request);

}  // namespace kgpu::driver
