// A .dockerignore from hostile bytes: the first line is a path to look up.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "src/functions/build/ignore_list.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const size_t end = text.find('\n');
  const std::string_view path = text.substr(0, end).substr(0, 256);
  const auto list = kgpu::functions::IgnoreList::Parse(
      end == std::string_view::npos ? std::string_view() : text.substr(end + 1));
  if (list.ok()) {
    static_cast<void>(list->Matches(path));
  }
  return 0;
}
