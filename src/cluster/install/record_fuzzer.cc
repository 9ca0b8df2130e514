// A record that can be read is written and read as the same.
#include <boost/json.hpp>

#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "src/cluster/install/record.h"
#include "src/platform/doc/doc.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto tree = kgpu::doc::Parse(text, kgpu::doc::Format::kJson, "record");
  if (!tree.ok()) {
    return 0;
  }
  const auto record = kgpu::install::RecordOf(*tree);
  if (!record.ok()) {
    return 0;
  }
  const auto again = kgpu::install::RecordOf(kgpu::install::ConfigMapOf(*record, "kgpu"));
  if (!again.ok() || again->objects != record->objects || again->version != record->version ||
      again->request != record->request || again->clearing != record->clearing) {
    std::abort();
  }
  return 0;
}
