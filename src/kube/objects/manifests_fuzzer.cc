// Every object that is read has a name, a kind and an API version, and is read again as the same
// object from its own text.
#include <boost/json/value.hpp>

#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "src/kube/objects/kinds.h"
#include "src/kube/objects/manifests.h"
#include "src/platform/doc/doc.h"

namespace {

void CheckHolds(bool holds) {
  if (!holds) {
    std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto objects = kgpu::kube::ParseManifests(text, "m.yaml");
  if (!objects.ok()) {
    return 0;
  }
  for (const kgpu::kube::ManifestObject& item : *objects) {
    const kgpu::kube::ObjectRef ref = kgpu::kube::RefOf(item.object);
    CheckHolds(!ref.api_version.empty() && !ref.kind.empty() && !ref.name.empty());
    const auto again = kgpu::kube::ParseManifests(
        kgpu::doc::Print(item.object, kgpu::doc::Format::kJson), "m.json");
    CheckHolds(again.ok() && again->size() == 1 && again->front().object == item.object);
  }
  return 0;
}
