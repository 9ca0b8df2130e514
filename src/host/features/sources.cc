#include "src/host/features/sources.h"

namespace kgpu::features {

bool IsSourceWanted(const std::vector<std::string>& wanted, std::string_view source) {
  bool is_wanted = false;
  for (const std::string_view word : wanted) {
    if (word == "all" || word == source) {
      is_wanted = true;
    } else if (word.starts_with('-') && word.substr(1) == source) {
      is_wanted = false;
    }
  }
  return is_wanted;
}

}  // namespace kgpu::features
