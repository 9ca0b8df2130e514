// A book that reads must print, and read back as the same book; any capabilities choose from it.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "src/container/inject/book.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto book = kgpu::inject::ParseBook(text, "fuzz");
  if (!book.ok()) {
    return 0;
  }
  const auto again = kgpu::inject::ParseBook(kgpu::inject::PrintBook(*book), "again");
  if (!again.ok() || *again != *book) {
    std::abort();
  }
  const auto all = kgpu::inject::MountsFor(*book, kgpu::inject::kAllCapabilities);
  if (kgpu::inject::MountsFor(*book, kgpu::inject::kDefaultCapabilities).size() > all.size()) {
    std::abort();
  }
  return 0;
}
