#include "src/platform/base/utf8.h"

namespace kgpu {

std::string_view CutUtf8(std::string_view text, size_t limit) {
  if (text.size() <= limit) {
    return text;
  }
  while (limit > 0 && (static_cast<unsigned char>(text[limit]) & 0xC0U) == 0x80U) {
    --limit;
  }
  return text.substr(0, limit);
}

}  // namespace kgpu
