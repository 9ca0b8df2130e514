#include <cstddef>
#include <cstdint>
#include <string_view>

#include "src/setup/driver/run_file.h"

// The first line is the file's name, the rest what is in it.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const size_t end = text.find('\n');
  const std::string_view path = text.substr(0, end);
  const std::string_view head = end == std::string_view::npos ? "" : text.substr(end + 1);
  const auto file = kgpu::driver::ParseDriverFile(path, head);
  if (file.ok() && (file->version.empty() || file->path != path)) {
    __builtin_trap();
  }
  return 0;
}
