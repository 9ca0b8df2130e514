// It makes no difference how a terminal's bytes are split, and a key's text is safe to show.
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <utility>
#include <vector>

#include "src/platform/base/strings.h"
#include "src/platform/terminal/keys.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using kgpu::terminal::Key;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  kgpu::terminal::KeyReader whole;
  const std::vector<Key> keys = whole.Feed(bytes);
  kgpu::terminal::KeyReader single;
  std::vector<Key> others;
  for (const char byte : bytes) {
    for (Key& key : single.Feed(std::string_view(&byte, 1))) {
      others.push_back(std::move(key));
    }
  }
  for (const Key& key : keys) {
    if (kgpu::Printable(key.text) != key.text) {
      std::abort();
    }
  }
  if (keys != others && size < 32) {
    std::abort();
  }
  return 0;
}
