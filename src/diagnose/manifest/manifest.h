// Finds what is outdated or wrong for GPUs in Kubernetes manifests, and makes the modern
// manifest.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/diagnose/manifest/kubernetes.h"
#include "src/diagnose/manifest/match.h"
#include "src/platform/base/status.h"
#include "src/platform/report/finding.h"

namespace kgpu::manifest {

// Limits for the size and the documents of a file.
inline constexpr size_t kFileLimit = size_t{4} << 20;
inline constexpr size_t kDocumentLimit = 1000;

struct Report {
  std::string file;
  size_t documents = 0;  // non-empty ones
  std::vector<Match> findings{};
  std::string modern{};             // the whole file after all possible fixes
  std::vector<Match> left{};        // its remaining problems
  std::vector<size_t> reprinted{};  // documents that lost their comments
};

// Errors: InvalidArgument (no YAML, too large), with the position.
StatusOr<Report> CheckManifest(std::string_view text, const std::string& file,
                               const KubernetesVersion& target);

// Every kind of finding, in the order of docs/reference/doctor-manifest.md; `extra`: whether
// --print fixes it.
std::span<const report::Kind> AllRules();

}  // namespace kgpu::manifest
