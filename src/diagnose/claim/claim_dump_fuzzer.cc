// The claims of any dump are judged without a crash.
#include <cstdint>
#include <string_view>

#include "src/diagnose/claim/explain_claim.h"
#include "src/diagnose/explain/view.h"
#include "src/kube/api/json.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace kgpu;  // NOLINT(google-build-using-namespace): a program of one function
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto dump = explain::ReadDump(text, "dump.json");
  if (!dump.ok()) {
    return 0;
  }
  for (const auto& item : dump->items) {
    if (kube::TextField(item, {"kind"}) == "ResourceClaim") {
      (void)explain::ReportText(
          claim::ExplainClaim(*dump, kube::NamespaceOf(item), kube::NameOf(item)), 10);
    }
  }
  return 0;
}
