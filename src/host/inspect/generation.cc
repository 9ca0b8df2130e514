#include "src/host/inspect/generation.h"

#include <algorithm>
#include <array>
#include <span>

#include "src/platform/base/strings.h"

namespace kgpu::host {
namespace {

struct Range {
  uint16_t first = 0;
  uint16_t last = 0;
  Generation generation = Generation::kUnknown;
};

// Sorted by id, without overlaps. Each chip has a block of ids, so that ids within a range that no
// product has yet belong to that chip as well. Source: the names of chips in the PCI ID list
// (https://pci-ids.ucw.cz/read/PC/10de) and the table of supported chips in the README of NVIDIA's
// open kernel modules.
constexpr std::array<Range, 33> kRanges = {{
    {0x06c0, 0x06df, Generation::kFermi},      // GF100
    {0x0dc0, 0x0f7f, Generation::kFermi},      // GF106, GF104, GF108
    {0x0f80, 0x103f, Generation::kKepler},     // GK107, GK110, GK210
    {0x1040, 0x109f, Generation::kFermi},      // GF119, GF110
    {0x1140, 0x117f, Generation::kFermi},      // GF117
    {0x1180, 0x11ff, Generation::kKepler},     // GK104, GK106
    {0x1200, 0x127f, Generation::kFermi},      // GF114, GF116
    {0x1280, 0x12bf, Generation::kKepler},     // GK208
    {0x1300, 0x133f, Generation::kKepler},     // GK208
    {0x1340, 0x143f, Generation::kMaxwell},    // GM108, GM107, GM204, GM206
    {0x15c0, 0x15ff, Generation::kPascal},     // GP100
    {0x1600, 0x167f, Generation::kMaxwell},    // GM204, mobile
    {0x1720, 0x173f, Generation::kPascal},     // GP100
    {0x1740, 0x179f, Generation::kMaxwell},    // GM108, GM107
    {0x17c0, 0x17ff, Generation::kMaxwell},    // GM200
    {0x1b00, 0x1d7f, Generation::kPascal},     // GP102, GP104, GP106, GP107, GP108
    {0x1d80, 0x1dff, Generation::kVolta},      // GV100
    {0x1e00, 0x1fff, Generation::kTuring},     // TU102, TU104, TU106, TU117
    {0x2080, 0x20ff, Generation::kAmpere},     // GA100
    {0x2180, 0x21ff, Generation::kTuring},     // TU116
    {0x2200, 0x227f, Generation::kAmpere},     // GA102
    {0x2300, 0x23ff, Generation::kHopper},     // GH100
    {0x2400, 0x25ff, Generation::kAmpere},     // GA103, GA104, GA106, GA107
    {0x2680, 0x28ff, Generation::kAda},        // AD102, AD103, AD104, AD106, AD107
    {0x2900, 0x29ff, Generation::kBlackwell},  // GB100, GB102
    {0x2b00, 0x2bff, Generation::kBlackwell},  // GB202
    {0x2c00, 0x2cff, Generation::kBlackwell},  // GB203
    {0x2d00, 0x2dff, Generation::kBlackwell},  // GB206, GB207
    {0x2e00, 0x2eff, Generation::kBlackwell},  // GB20B (GB10)
    {0x2f00, 0x2f7f, Generation::kBlackwell},  // GB205
    {0x2f80, 0x30ff, Generation::kRubin},      // GR100, GR102
    {0x3180, 0x31ff, Generation::kBlackwell},  // GB110
    {0x3200, 0x33ff, Generation::kBlackwell},  // GB112, GB120
}};

constexpr bool IsSorted() {
  for (size_t i = 1; i < kRanges.size(); ++i) {
    if (kRanges[i - 1].last >= kRanges[i].first) {
      return false;
    }
  }
  return true;
}
static_assert(IsSorted());

// Ids of GPUs that sit beside a Grace CPU. Source: as kRanges.
constexpr std::array<Range, 5> kGrace = {{
    {0x2342, 0x2343, Generation::kHopper},     // GH200
    {0x2345, 0x2348, Generation::kHopper},     // GH200
    {0x2940, 0x297f, Generation::kBlackwell},  // GB200
    {0x2e00, 0x2eff, Generation::kBlackwell},  // GB10, its chip is GB20B
    {0x31c0, 0x31ff, Generation::kBlackwell},  // GB300
}};

bool IsIn(std::span<const Range> ranges, uint16_t device_id) {
  return std::ranges::any_of(ranges, [device_id](const Range& one) {
    return one.first <= device_id && device_id <= one.last;
  });
}

struct Row {
  Generation generation = Generation::kUnknown;
  std::string_view name;
  Support support;
};

// Source: the release notes of branches 390, 470 and 580 ("last branch to support"), NVIDIA's page
// on the open kernel modules, and the oldest branch in the support matrix of the data-centre
// drivers.
constexpr std::array<Row, 12> kRows = {{
    {Generation::kUnknown, "unknown", {.can_open = true}},
    {Generation::kFermi, "fermi", {.last_branch = 390, .compute = {{2, 0}}}},
    {Generation::kKepler, "kepler", {.last_branch = 470, .compute = {{3, 0}}}},
    {Generation::kMaxwell, "maxwell", {.last_branch = 580, .compute = {{5, 0}}}},
    {Generation::kPascal, "pascal", {.last_branch = 580, .compute = {{6, 0}}}},
    {Generation::kVolta, "volta", {.last_branch = 580, .compute = {{7, 0}}}},
    {Generation::kTuring, "turing", {.first_branch = 418, .can_open = true}},
    // The A100 is known from 450 on, the chips that came after it from 455 on.
    {Generation::kAmpere, "ampere", {.first_branch = 455, .can_open = true}},
    {Generation::kAda, "ada", {.first_branch = 525, .can_open = true}},
    {Generation::kHopper, "hopper", {.first_branch = 525, .can_open = true}},
    {Generation::kBlackwell,
     "blackwell",
     {.first_branch = 570, .can_open = true, .can_closed = false}},
    {Generation::kRubin, "rubin", {.first_branch = 610, .can_open = true, .can_closed = false}},
}};

const Row& RowOf(Generation generation) {
  const auto* row = std::ranges::find(kRows, generation, &Row::generation);
  return row == kRows.end() ? kRows.front() : *row;
}

}  // namespace

std::string_view ToString(Generation generation) {
  return RowOf(generation).name;
}

Support SupportOf(Generation generation) {
  return RowOf(generation).support;
}

std::vector<std::string> GenerationNames() {
  std::vector<std::string> names;
  for (const Row& row : kRows) {
    if (row.generation != Generation::kUnknown) {
      names.emplace_back(row.name);
    }
  }
  return names;
}

StatusOr<Generation> ParseGeneration(std::string_view text) {
  const auto* row = std::ranges::find(kRows, text, &Row::name);
  if (row == kRows.end() || row->generation == Generation::kUnknown) {
    return InvalidArgument("--gpu: \"{}\" must be a generation: {}", Printable(text, 40),
                           Join(GenerationNames(), ", "));
  }
  return row->generation;
}

Generation GenerationOf(uint16_t device_id) {
  const auto* range = std::ranges::find_if(kRanges, [device_id](const Range& one) {
    return one.first <= device_id && device_id <= one.last;
  });
  return range == kRanges.end() ? Generation::kUnknown : range->generation;
}

bool IsGrace(uint16_t device_id) {
  return IsIn(kGrace, device_id);
}

bool IsHgxBlackwell(uint16_t device_id) {
  constexpr std::array<Range, 3> kBoards = {{
      {0x2900, 0x293f, Generation::kBlackwell},  // B200
      {0x2980, 0x29ff, Generation::kBlackwell},  // B100
      {0x3180, 0x31bf, Generation::kBlackwell},  // B300
  }};
  return IsIn(kBoards, device_id);
}

bool IsGb10(uint16_t device_id) {
  return device_id >= 0x2e00 && device_id <= 0x2eff;
}

}  // namespace kgpu::host
