#include "src/cli/base/environment.h"

#include <unistd.h>

namespace kgpu::cli {

std::vector<std::string> Environment() {
  std::vector<std::string> entries;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    entries.emplace_back(*entry);
  }
  return entries;
}

}  // namespace kgpu::cli
