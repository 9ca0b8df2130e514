// Any dump is judged without a crash, and the printed result can be read back.
#include <boost/json/value.hpp>

#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>

#include "src/diagnose/explain/dump.h"
#include "src/diagnose/explain/explain.h"
#include "src/diagnose/explain/view.h"
#include "src/kube/api/json.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace kgpu;  // NOLINT(google-build-using-namespace): a program of one function
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  auto dump = explain::ReadDump(text, "dump.json");
  if (!dump.ok()) {
    return 0;
  }
  const explain::Report report = explain::Explain(explain::FactsOf(*dump, "default", "pod"));
  (void)explain::ReportText(report, 10);
  (void)explain::ReportJson(report);
  // The first print may be nested deeper than the input; later prints stay the same.
  auto again = explain::ReadDump(kube::BodyOf(explain::DumpJson(*std::move(dump))), "2.json");
  if (again.ok()) {
    const std::string printed = kube::BodyOf(explain::DumpJson(*std::move(again)));
    if (!explain::ReadDump(printed, "3.json").ok()) {
      std::abort();
    }
  }
  return 0;
}
