// A feature file: every label read from it is one that Kubernetes takes, and our own file of those
// labels reads back the same.
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "src/node/labels/feature_files.h"
#include "src/node/labels/names.h"

namespace {

namespace labels = kgpu::labels;

void Require(bool claim) {
  if (!claim) {
    std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size > labels::kMaxFeatureFileBytes) {
    return 0;
  }
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const kgpu::WallTime now{std::chrono::seconds(1'800'000'000)};
  const labels::FileFeatures file = labels::ParseFeatureFile(text, "f", now);
  for (const auto& [key, value] : file.labels) {
    Require(labels::CheckKey(key).ok() && labels::CheckLabelValue(value).ok());
  }
  Require(!file.next_expiry || *file.next_expiry >= now);
  Require(file.problems.size() <= 11);
  const auto own = labels::FeatureFileText(file.labels);
  if (own.ok()) {
    const labels::FileFeatures again = labels::ParseFeatureFile(*own, "f", now);
    Require(again.labels == file.labels && again.problems.empty());
  }
  return 0;
}
