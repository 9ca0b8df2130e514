// What is old or wrong in a manifest.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/diagnose/manifest/draft.h"
#include "src/diagnose/manifest/kubernetes.h"
#include "src/diagnose/manifest/path.h"

namespace kgpu::manifest {

enum class Severity : uint8_t {
  kInfo,     // good to know
  kWarning,  // it works, though not for long, or not as it looks
  kError,    // a cluster refuses it, or takes it for something else
};

// "info", "warning", "error".
std::string_view ToString(Severity severity);

struct Finding {
  std::string_view id;  // "api-gone": never changes
  Severity severity = Severity::kError;
  Path path{};            // of what is meant
  std::string value{};    // that stands there
  std::string gone_by{};  // the version of Kubernetes that does not know it; empty: no version
  // The version from which the mend works; nothing: from `gone_by` on.
  std::optional<KubernetesVersion> mend_from{};
  std::string message{};      // what is wrong
  std::string mend{};         // what to do
  std::vector<Change> fix{};  // does so; none: only a person can
};

struct RuleEntry {
  std::string_view id;
  std::string_view title;
  bool is_mended = false;  // by --print, where the text says how
};

}  // namespace kgpu::manifest
