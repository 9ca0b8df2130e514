// Where a rule found something old or wrong in a manifest.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "src/diagnose/manifest/draft.h"
#include "src/diagnose/manifest/kubernetes.h"
#include "src/diagnose/manifest/path.h"
#include "src/platform/doc/located.h"
#include "src/platform/report/finding.h"

namespace kgpu::manifest {

using report::Severity;

struct Match {
  // A rule says id, severity and message; all else of it is made of the fields below.
  report::Finding finding{};
  Path path{};            // of what is meant
  std::string value{};    // that stands there
  std::string gone_by{};  // the version of Kubernetes that does not know it; empty: no version
  std::optional<KubernetesVersion> works_from{};  // the fix; nothing: from `gone_by` on
  std::string advice{};                           // what to do
  std::vector<Change> changes{};                  // do so; none: only a person can

  size_t document = 1;       // of the file, counted from 1
  doc::Position position{};  // in the file
  std::string object{};      // "Deployment demo"
};

}  // namespace kgpu::manifest
