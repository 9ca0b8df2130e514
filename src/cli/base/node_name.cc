#include "src/cli/base/node_name.h"

#include <unistd.h>

#include <algorithm>
#include <array>

namespace kgpu::cli {

std::string NodeName(const std::string& given) {
  if (!given.empty()) {
    return given;
  }
  std::array<char, 256> buffer{};
  if (gethostname(buffer.data(), buffer.size() - 1) != 0) {
    return {};
  }
  std::string name = buffer.data();
  std::ranges::transform(name, name.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c;
  });
  return name;
}

}  // namespace kgpu::cli
