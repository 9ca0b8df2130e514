// Where a rule found something outdated or wrong in a manifest.
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
  // A rule sets id, severity and message; everything else of it is derived from the fields below.
  report::Finding finding{};
  Path path{};            // of the value in question
  std::string value{};    // its current value
  std::string gone_by{};  // the Kubernetes version that no longer has it; empty: none
  std::optional<KubernetesVersion> works_from{};  // for the fix; nothing: from `gone_by` on
  std::string advice{};                           // what to do
  std::vector<Change> changes{};                  // implement the advice; none: only a person can

  size_t document = 1;       // number in the file, from 1
  doc::Position position{};  // in the file
  std::string object{};      // "Deployment demo"
};

}  // namespace kgpu::manifest
