// What is old or wrong in manifests of Kubernetes, as far as GPUs are concerned, and the modern
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

// A file with more bytes, or more documents, is refused.
inline constexpr size_t kFileLimit = size_t{4} << 20;
inline constexpr size_t kDocumentLimit = 1000;

struct Report {
  std::string file;
  size_t documents = 0;  // that hold something
  std::vector<Match> findings{};
  std::string modern{};             // the whole file after all that could be fixed
  std::vector<Match> left{};        // what it still has
  std::vector<size_t> reprinted{};  // documents that lost their comments on the way
};

// Errors: InvalidArgument (no YAML, too much of it), with the place.
StatusOr<Report> CheckManifest(std::string_view text, const std::string& file,
                               const KubernetesVersion& target);

// Every kind of finding, in the order of docs/reference/doctor-manifest.md; `extra`: whether
// --print fixes it.
std::span<const report::Kind> AllRules();

}  // namespace kgpu::manifest
