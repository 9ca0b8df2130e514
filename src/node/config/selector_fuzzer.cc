// Each value of a selector's fields that is read must be written so that it reads back the same.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "src/node/config/resource_name.h"
#include "src/node/config/selector_text.h"
#include "src/node/config/values.h"
#include "src/platform/base/strings.h"

namespace {

namespace config = kgpu::config;

void Require(bool claim) {
  if (!claim) {
    std::abort();
  }
}

void TryBounds(std::string_view text) {
  if (const auto memory = config::ParseMemoryBound(text); memory.ok()) {
    const auto again = config::ParseMemoryBound(config::ToString(*memory));
    Require(again.ok() && *again == *memory);
  }
  if (const auto compute = config::ParseComputeBound(text); compute.ok()) {
    const auto again = config::ParseComputeBound(config::ToString(*compute));
    Require(again.ok() && *again == *compute);
  }
}

void TryNames(std::string_view text) {
  if (const auto numbers = config::ParseNumbers(text); numbers.ok()) {
    const auto again = config::ParseNumbers(kgpu::Join(config::NumberWords(*numbers), ","));
    Require(again.ok() && *again == *numbers);
  }
  if (const auto pci = config::ParsePci(text); pci.ok()) {
    const auto again = config::ParsePci(pci->str());
    Require(again.ok() && *again == *pci);
  }
  if (const auto uuid = config::ParseUuid(text); uuid.ok()) {
    const auto again = config::ParseUuid(*uuid);
    Require(again.ok() && *again == *uuid);
  }
  if (const auto model = config::ParseModel(text); model.ok()) {
    Require(config::MatchesPattern(*model, *model));
    Require(config::CheckResourceTemplate("nvidia.com/gpu-{model}").ok());
  }
  (void)config::ParseMigProfile(text);
  // A valid template is valid with any short model that is valid alone.
  if (config::CheckResourceTemplate(text).ok() && text.size() < 40) {
    Require(config::CheckResourceName(config::ResourceOfModel(text, "T")).ok());
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size > 4096) {
    return 0;
  }
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  TryBounds(text);
  TryNames(text);
  (void)config::CheckHttpAddress(text);
  (void)config::CheckCapabilities(text);
  (void)config::CheckAnnotationPrefix(text);
  const size_t cut = text.find('\n');
  if (cut != std::string_view::npos) {
    const std::string_view pattern = text.substr(0, cut);
    Require(config::MatchesPattern(pattern, pattern));
    (void)config::MatchesPattern(pattern, text.substr(cut + 1));
  }
  return 0;
}
