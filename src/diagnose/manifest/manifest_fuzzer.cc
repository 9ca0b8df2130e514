// For any text: what is fixed stays fixed, and a manifest without findings does not change.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "src/diagnose/manifest/manifest.h"

namespace {

namespace manifest = kgpu::manifest;

void Require(bool claim) {
  if (!claim) {
    std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size > 20'000) {
    return 0;
  }
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto report = manifest::CheckManifest(text, "m.yaml", manifest::kNewestKubernetes);
  if (!report.ok()) {
    return 0;
  }
  if (report->findings.empty()) {
    Require(report->modern == text);
  }
  const auto again = manifest::CheckManifest(report->modern, "m.yaml", manifest::kNewestKubernetes);
  Require(again.ok());
  Require(again->findings.size() == report->left.size());
  return 0;
}
