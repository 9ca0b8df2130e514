#include "tests/soak/footprint.h"

#include <unistd.h>

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace kgpu::soak {
namespace {

constexpr size_t kMoreFiles = 3;
constexpr std::chrono::minutes kYouth{10};

}  // namespace

Footprint Measure(pid_t pid, size_t round) {
  Footprint footprint{
      .round = round, .at = std::chrono::steady_clock::now(), .memory_kib = 0, .files = 0};
  std::ifstream file(fmt::format("/proc/{}/smaps_rollup", pid));
  for (std::string line; std::getline(file, line);) {
    // Not Pss, which depends on how many other agents run on this machine.
    if (line.starts_with("Rss:")) {
      footprint.memory_kib = std::stoul(line.substr(4));
    }
  }
  std::error_code error;
  for (std::filesystem::directory_iterator fd(fmt::format("/proc/{}/fd", pid), error), end;
       fd != end; fd.increment(error)) {
    ++footprint.files;
  }
  return footprint;
}

std::chrono::milliseconds CpuTime(pid_t pid) {
  std::ifstream file(fmt::format("/proc/{}/stat", pid));
  std::string text;
  std::getline(file, text);
  std::istringstream fields(text.substr(std::min(text.size(), text.rfind(')') + 1)));
  std::string skipped;
  for (int i = 0; i < 11; ++i) {  // state to cmajflt
    fields >> skipped;
  }
  int64_t user = 0;
  int64_t kernel = 0;
  fields >> user >> kernel;
  return std::chrono::milliseconds((user + kernel) * 1000 / sysconf(_SC_CLK_TCK));
}

std::string Growth(std::string_view daemon, const std::vector<Footprint>& life) {
  const auto grown = std::find_if(
      life.begin() + static_cast<std::ptrdiff_t>(life.size() / 10), life.end(),
      [&](const Footprint& footprint) { return footprint.at - life.front().at >= kYouth; });
  if (grown == life.end()) {
    return "";
  }
  const Footprint& first = *grown;
  // The smallest of the last ones: a moment's buffer is no growth.
  Footprint last = life.back();
  for (size_t i = life.size() - life.size() / 10; i < life.size(); ++i) {
    last.memory_kib = std::min(last.memory_kib, life[i].memory_kib);
    last.files = std::min(last.files, life[i].files);
  }
  if (last.memory_kib > first.memory_kib + first.memory_kib / 20) {
    return fmt::format("the {}'s memory grew from {} KiB in round {} to {} KiB in round {}", daemon,
                       first.memory_kib, first.round, last.memory_kib, last.round);
  }
  if (last.files > first.files + kMoreFiles) {
    return fmt::format("the {}'s open files grew from {} in round {} to {} in round {}", daemon,
                       first.files, first.round, last.files, last.round);
  }
  return "";
}

}  // namespace kgpu::soak
