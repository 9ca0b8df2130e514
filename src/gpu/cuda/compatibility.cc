#include "src/gpu/cuda/compatibility.h"

#include <algorithm>
#include <array>

namespace kgpu::cuda {
namespace {

// An update without its own row has the requirements of the one before it.
constexpr std::array<Toolkit, 54> kToolkits = {{
    {{13, 3}, 0, {{610, 43, 2}}},  {{13, 2}, 2, {{595, 71, 5}}},  {{13, 2}, 1, {{595, 58, 3}}},
    {{13, 2}, 0, {{595, 45, 4}}},  {{13, 1}, 1, {{590, 48, 1}}},  {{13, 1}, 0, {{590, 44, 1}}},
    {{13, 0}, 2, {{580, 95, 5}}},  {{13, 0}, 1, {{580, 82, 7}}},  {{13, 0}, 0, {{580, 65, 6}}},
    {{12, 9}, 1, {{575, 57, 8}}},  {{12, 9}, 0, {{575, 51, 3}}},  {{12, 8}, 1, {{570, 124, 6}}},
    {{12, 8}, 0, {{570, 26}}},     {{12, 6}, 3, {{560, 35, 5}}},  {{12, 6}, 1, {{560, 35, 3}}},
    {{12, 6}, 0, {{560, 28, 3}}},  {{12, 5}, 1, {{555, 42, 6}}},  {{12, 5}, 0, {{555, 42, 2}}},
    {{12, 4}, 1, {{550, 54, 15}}}, {{12, 4}, 0, {{550, 54, 14}}}, {{12, 3}, 1, {{545, 23, 8}}},
    {{12, 3}, 0, {{545, 23, 6}}},  {{12, 2}, 2, {{535, 104, 5}}}, {{12, 2}, 1, {{535, 86, 9}}},
    {{12, 2}, 0, {{535, 54, 3}}},  {{12, 1}, 0, {{530, 30, 2}}},  {{12, 0}, 1, {{525, 85, 12}}},
    {{12, 0}, 0, {{525, 60, 13}}}, {{11, 8}, 0, {{520, 61, 5}}},  {{11, 7}, 1, {{515, 48, 7}}},
    {{11, 7}, 0, {{515, 43, 4}}},  {{11, 6}, 1, {{510, 47, 3}}},  {{11, 6}, 0, {{510, 39, 1}}},
    {{11, 5}, 0, {{495, 29, 5}}},  {{11, 4}, 3, {{470, 82, 1}}},  {{11, 4}, 1, {{470, 57, 2}}},
    {{11, 4}, 0, {{470, 42, 1}}},  {{11, 3}, 0, {{465, 19, 1}}},  {{11, 2}, 1, {{460, 32, 3}}},
    {{11, 2}, 0, {{460, 27, 3}}},  {{11, 1}, 1, {{455, 32}}},     {{11, 1}, 0, {{455, 23}}},
    {{11, 0}, 1, {{450, 51, 6}}},  {{11, 0}, 0, {{450, 51, 5}}},  {{10, 2}, 0, {{440, 33}}},
    {{10, 1}, 0, {{418, 39}}},     {{10, 0}, 0, {{410, 48}}},     {{9, 2}, 1, {{396, 37}}},
    {{9, 2}, 0, {{396, 26}}},      {{9, 1}, 0, {{390, 46}}},      {{9, 0}, 0, {{384, 81}}},
    {{8, 0}, 1, {{375, 26}}},      {{8, 0}, 0, {{367, 48}}},      {{7, 5}, 0, {{352, 31}}},
}};
static_assert(std::ranges::is_sorted(kToolkits, std::ranges::greater(),
                                     [](const Toolkit& row) { return row.least_driver; }));

struct MajorRow {
  uint32_t cuda_major = 0;
  std::optional<DriverVersion> least_driver_for_minors;
  ComputeCapability least_compute;
};

// Newest first.
constexpr std::array<MajorRow, 6> kMajors = {{
    {13, DriverVersion{{580}}, {7, 5}},          // without Maxwell, Pascal, Volta
    {12, DriverVersion{{525, 60, 13}}, {5, 0}},  // without Kepler
    {11, DriverVersion{{450, 80, 2}}, {3, 5}},
    {10, std::nullopt, {3, 0}},
    {9, std::nullopt, {3, 0}},
    {8, std::nullopt, {2, 0}},
}};

struct GpuRow {
  uint32_t compute_major = 0;
  CudaVersion first_cuda;
};

// Newest first.
constexpr std::array<GpuRow, 9> kGpus = {{
    {12, {12, 8}},  // Blackwell's workstation boards
    {11, {13, 0}},
    {10, {12, 8}},  // Blackwell
    {9, {11, 8}},   // Hopper
    {8, {11, 0}},   // Ampere, Ada
    {7, {9, 0}},    // Volta, Turing
    {6, {8, 0}},    // Pascal
    {5, {6, 5}},    // Maxwell
    {3, {5, 0}},    // Kepler
}};

struct BranchRow {
  ComputeCapability below;
  uint32_t last_branch = 0;
};

// Oldest first.
constexpr std::array<BranchRow, 3> kLastBranches = {{
    {{3, 0}, 390},  // Fermi
    {{5, 0}, 470},  // Kepler
    {{7, 5}, 580},  // Maxwell, Pascal, Volta
}};

struct CompatRow {
  CudaVersion from;                    // the row is for this one and what follows, to the next row
  std::array<uint32_t, 6> branches{};  // filled up by 0
};

// Newest first. Source: the branches that NVIDIA's images of these versions take
// (NVIDIA_REQUIRE_CUDA).
constexpr std::array<CompatRow, 7> kCompat = {{
    {{13, 2}, {535, 570, 580, 590, 595}},
    {{12, 9}, {535, 550, 570, 580}},
    {{12, 6}, {470, 535, 550, 570}},
    {{12, 3}, {470, 525, 535, 550}},
    {{12, 0}, {450, 470, 510, 515, 525}},
    {{11, 0}, {418, 440, 450, 460, 470, 510}},
    {{10, 0}, {384, 396, 410, 418, 440}},
}};

const MajorRow* FindMajor(uint32_t cuda_major) {
  const auto* const row = std::ranges::find(kMajors, cuda_major, &MajorRow::cuda_major);
  return row == kMajors.end() ? nullptr : row;
}

}  // namespace

std::span<const Toolkit> Toolkits() {
  return kToolkits;
}

std::optional<CudaVersion> HighestCuda(const DriverVersion& driver) {
  const auto* const row = std::ranges::find_if(
      kToolkits, [&driver](const Toolkit& toolkit) { return toolkit.least_driver <= driver; });
  return row == kToolkits.end() ? std::nullopt : std::optional(row->cuda);
}

std::optional<Toolkit> LeastToolkit(const VersionNumbers& cuda) {
  std::optional<Toolkit> least;
  for (const Toolkit& toolkit : kToolkits) {
    if (toolkit.cuda.numbers() < cuda) {
      break;
    }
    least = toolkit;  // the later rows of a version are its earlier releases
  }
  return least;
}

unsigned UpdateOf(const VersionNumbers& version) {
  const auto& [major, minor, third, fourth] = version;
  if (major < 11) {
    return 0;
  }
  // The first release of 11.0 is 11.0.2.
  constexpr unsigned kFirstOf110 = 2;
  // Larger numbers count builds, as in 12.4.127.
  constexpr unsigned kMostUpdates = 9;
  const bool is_110 = major == 11 && minor == 0;
  const unsigned update = is_110 ? third - std::min(third, kFirstOf110) : third;
  return update > kMostUpdates ? 0 : update;
}

std::optional<DriverVersion> LeastDriver(const CudaVersion& cuda, unsigned update) {
  // The latest update of a version stands first.
  const auto* const row = std::ranges::find_if(kToolkits, [&](const Toolkit& toolkit) {
    return toolkit.cuda == cuda && toolkit.update <= update;
  });
  if (row != kToolkits.end()) {
    return row->least_driver;
  }
  const std::optional<Toolkit> toolkit = LeastToolkit(cuda.numbers());
  return toolkit ? std::optional(toolkit->least_driver) : std::nullopt;
}

std::optional<DriverVersion> LeastDriverForMinors(uint32_t cuda_major) {
  const MajorRow* row = FindMajor(cuda_major);
  return row == nullptr ? std::nullopt : row->least_driver_for_minors;
}

Fit FitOf(const CudaVersion& cuda, const DriverVersion& driver, unsigned update) {
  const std::optional<DriverVersion> whole = LeastDriver(cuda, update);
  if (whole && *whole <= driver) {
    return Fit::kWhole;
  }
  const std::optional<DriverVersion> minors = LeastDriverForMinors(cuda.major);
  const std::optional<DriverVersion> first = LeastDriver(cuda);
  if ((minors && *minors <= driver) || (first && *first <= driver)) {
    return Fit::kMinor;
  }
  return whole ? Fit::kNone : Fit::kUnknown;
}

std::optional<ComputeCapability> LeastCompute(uint32_t cuda_major) {
  const MajorRow* row = FindMajor(cuda_major);
  return row == nullptr ? std::nullopt : std::optional(row->least_compute);
}

std::optional<uint32_t> LastCudaMajor(const ComputeCapability& compute) {
  if (kMajors.front().least_compute <= compute) {
    return std::nullopt;
  }
  const auto* const row = std::ranges::find_if(
      kMajors, [&compute](const MajorRow& major) { return major.least_compute <= compute; });
  return row == kMajors.end() ? std::nullopt : std::optional(row->cuda_major);
}

std::optional<uint32_t> LastDriverBranch(const ComputeCapability& compute) {
  const auto* const row = std::ranges::find_if(
      kLastBranches, [&compute](const BranchRow& branch) { return compute < branch.below; });
  return row == kLastBranches.end() ? std::nullopt : std::optional(row->last_branch);
}

std::optional<CudaVersion> FirstCuda(const ComputeCapability& compute) {
  const auto* const row = std::ranges::find(kGpus, compute.major, &GpuRow::compute_major);
  return row == kGpus.end() ? std::nullopt : std::optional(row->first_cuda);
}

bool TakesCompat(const CudaVersion& cuda, const DriverVersion& driver) {
  const auto* const row = std::ranges::find_if(
      kCompat, [&cuda](const CompatRow& candidate) { return candidate.from <= cuda; });
  return row != kCompat.end() &&
         std::ranges::find(row->branches, driver.branch()) != row->branches.end();
}

bool HasCompat(const CudaVersion& cuda) {
  return cuda >= kCompat.back().from;
}

}  // namespace kgpu::cuda
