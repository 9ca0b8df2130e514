#include "testing/simhost/cpu_list.h"

#include <fmt/format.h>

#include <cstdint>
#include <vector>

#include "src/platform/base/strings.h"

namespace kgpu::simhost {
namespace {

constexpr unsigned kMaxCpus = 8192;

}  // namespace

std::set<unsigned> CpusOf(std::string_view list) {
  std::set<unsigned> cpus;
  for (const std::string_view range : Split(list, ',')) {
    const size_t dash = range.find('-');
    const auto first = ParseUint(range.substr(0, dash));
    const auto last = dash == std::string_view::npos ? first : ParseUint(range.substr(dash + 1));
    if (!first || !last || *last >= kMaxCpus) {
      continue;
    }
    for (auto cpu = static_cast<unsigned>(*first); cpu <= *last; ++cpu) {
      cpus.insert(cpu);
    }
  }
  return cpus;
}

std::string CpuMask(const std::set<unsigned>& cpus) {
  std::vector<uint32_t> words(cpus.empty() ? 1 : *cpus.rbegin() / 32 + 1);
  for (const unsigned cpu : cpus) {
    words[cpu / 32] |= uint32_t{1} << (cpu % 32);
  }
  std::string text;
  for (size_t i = words.size(); i-- > 0;) {
    text += fmt::format("{:08x}{}", words[i], i == 0 ? "" : ",");
  }
  return text;
}

}  // namespace kgpu::simhost
