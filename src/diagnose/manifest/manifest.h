// What is old or wrong in manifests of Kubernetes, as far as GPUs are concerned, and the modern
// manifest.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/diagnose/manifest/finding.h"
#include "src/diagnose/manifest/kubernetes.h"
#include "src/platform/base/status.h"
#include "src/platform/doc/located.h"

namespace kgpu::manifest {

// A file with more bytes, or more documents, is refused.
inline constexpr size_t kFileLimit = size_t{4} << 20;
inline constexpr size_t kDocumentLimit = 1000;

struct FoundFinding {
  Finding finding;
  size_t document = 1;     // of the file, counted from 1
  doc::Position position;  // in the file
  std::string object;      // "Deployment demo"
};

struct Report {
  std::string file;
  size_t documents = 0;  // that hold something
  std::vector<FoundFinding> findings{};
  std::string modern{};              // the whole file after all that could be mended
  std::vector<FoundFinding> left{};  // what it still has
  std::vector<size_t> reprinted{};   // documents that lost their comments on the way
};

// Errors: InvalidArgument (no YAML, too much of it), with the place.
StatusOr<Report> CheckManifest(std::string_view text, const std::string& file,
                               const KubernetesVersion& target);

// Every kind of finding, in the order of docs/doctor-manifest.md.
std::span<const RuleEntry> AllRules();

}  // namespace kgpu::manifest
