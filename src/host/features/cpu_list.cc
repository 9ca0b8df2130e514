#include "src/host/features/cpu_list.h"

#include <algorithm>

#include "src/platform/base/strings.h"

namespace kgpu::features {

std::optional<unsigned> NumberedCpu(std::string_view name, std::string_view prefix) {
  if (!name.starts_with(prefix)) {
    return std::nullopt;
  }
  const std::optional<uint64_t> number = ParseUint(name.substr(prefix.size()));
  return number && *number < kMostCpus ? std::optional(static_cast<unsigned>(*number))
                                       : std::nullopt;
}

std::vector<bool> ParseCpuList(std::string_view text) {
  std::vector<bool> cpus;
  for (const std::string_view piece : Split(Trim(text), ',')) {
    const size_t dash = piece.find('-');
    const std::optional<uint64_t> first = ParseUint(piece.substr(0, dash));
    const std::optional<uint64_t> last =
        dash == std::string_view::npos ? first : ParseUint(piece.substr(dash + 1));
    if (!first || !last || *last < *first || *last >= kMostCpus) {
      continue;
    }
    cpus.resize(std::max<size_t>(cpus.size(), *last + 1));
    std::fill(cpus.begin() + static_cast<std::ptrdiff_t>(*first),
              cpus.begin() + static_cast<std::ptrdiff_t>(*last) + 1, true);
  }
  return cpus;
}

}  // namespace kgpu::features
