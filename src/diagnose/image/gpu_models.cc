#include "src/diagnose/image/gpu_models.h"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "src/platform/base/strings.h"

namespace kgpu::image {
namespace {

constexpr std::array<GpuModel, 38> kDataCenter = {{
    {"b300", {10, 3}, true},  {"gb300", {10, 3}, true}, {"b200", {10, 0}, true},
    {"gb200", {10, 0}, true}, {"b100", {10, 0}, true},  {"h200", {9, 0}, true},
    {"gh200", {9, 0}, true},  {"h100", {9, 0}, true},   {"h800", {9, 0}, true},
    {"h20", {9, 0}, true},    {"l40s", {8, 9}, true},   {"l40", {8, 9}, true},
    {"l20", {8, 9}, true},    {"l4", {8, 9}, true},     {"l2", {8, 9}, true},
    {"a100", {8, 0}, true},   {"a100x", {8, 0}, true},  {"a800", {8, 0}, true},
    {"a30", {8, 0}, true},    {"a40", {8, 6}, true},    {"a16", {8, 6}, true},
    {"a10", {8, 6}, true},    {"a10g", {8, 6}, true},   {"a10m", {8, 6}, true},
    {"a2", {8, 6}, true},     {"t4", {7, 5}, true},     {"t4g", {7, 5}, true},
    {"v100", {7, 0}, true},   {"v100s", {7, 0}, true},  {"p100", {6, 0}, true},
    {"p40", {6, 1}, true},    {"p4", {6, 1}, true},     {"m60", {5, 2}, true},
    {"m40", {5, 2}, true},    {"m10", {5, 0}, true},    {"m4", {5, 2}, true},
    {"k80", {3, 7}, true},    {"k40m", {3, 5}, true},
}};

// GeForce by the digits of the series, the newest first: "rtx 4090" begins with "40".
constexpr std::array<GpuModel, 6> kSeries = {{
    {"50", {12, 0}, false},
    {"40", {8, 9}, false},
    {"30", {8, 6}, false},
    {"20", {7, 5}, false},
    {"16", {7, 5}, false},
    {"10", {6, 1}, false},
}};

std::vector<std::string> WordsOf(std::string_view name) {
  std::string text = ToLower(name);
  std::ranges::replace(text, '-', ' ');
  std::ranges::replace(text, '_', ' ');
  const std::vector<std::string_view> words = Words(text);
  return {words.begin(), words.end()};
}

bool Has(const std::vector<std::string>& words, std::string_view word) {
  return std::ranges::find(words, word) != words.end();
}

// Workstation boards share their numbers with boards of other generations. Some of them, in servers
// that NVIDIA has certified, take cuda-compat as boards of data centers do: which, is not known
// here.
std::optional<GpuModel> FindWorkstation(const std::vector<std::string>& words) {
  if (!Has(words, "rtx")) {
    return std::nullopt;
  }
  if (Has(words, "blackwell")) {
    return GpuModel{"rtx pro", {12, 0}, Has(words, "server") ? std::optional(true) : std::nullopt};
  }
  if (Has(words, "ada")) {
    return GpuModel{"rtx ada", {8, 9}, std::nullopt};
  }
  for (const std::string_view word : {"a2000", "a4000", "a4500", "a5000", "a5500", "a6000"}) {
    if (Has(words, word)) {
      return GpuModel{"rtx a", {8, 6}, std::nullopt};
    }
  }
  return std::nullopt;
}

std::optional<GpuModel> FindGeForce(const std::vector<std::string>& words) {
  if (!Has(words, "rtx") && !Has(words, "gtx")) {
    return std::nullopt;
  }
  for (const std::string& word : words) {
    if (word.size() != 4 || !ParseUint(word) || Has(words, "quadro") || word == "6000") {
      continue;
    }
    const auto* const series = std::ranges::find_if(
        kSeries, [&word](const GpuModel& row) { return word.starts_with(row.word); });
    if (series != kSeries.end()) {
      return *series;
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<GpuModel> FindGpuModel(std::string_view name) {
  const std::vector<std::string> words = WordsOf(name);
  const auto* const board = std::ranges::find_if(
      kDataCenter, [&words](const GpuModel& model) { return Has(words, model.word); });
  if (board != kDataCenter.end()) {
    return *board;
  }
  const std::optional<GpuModel> workstation = FindWorkstation(words);
  return workstation ? workstation : FindGeForce(words);
}

}  // namespace kgpu::image
