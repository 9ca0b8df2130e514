#include "src/setup/driver/branches.h"

#include <algorithm>
#include <array>

namespace kgpu::driver {
namespace {

// Sources: "Supported Drivers and CUDA Toolkit Versions" and the lifecycle tables of NVIDIA's
// data-centre driver documentation (https://docs.nvidia.com/datacenter/tesla/drivers/), and the
// release notes of each branch.
constexpr std::array<Branch, 15> kBranches = {{
    {390, "390.157", Life::kEnded, "2022-12", false, false, true},
    {418, "418.226.00", Life::kEnded, "2022-03", false, false, true},
    {450, "450.248.02", Life::kEnded, "2023-07", false, false, true},
    {470, "470.256.02", Life::kEnded, "2024-07", false, false, true},
    {525, "525.147.05", Life::kEnded, "2023-12", true, false, true},
    {535, "535.309.01", Life::kEnded, "2026-06", true, false, true},
    {550, "550.163.01", Life::kEnded, "2025-06", true, false, true},
    {570, "570.211.01", Life::kEnded, "2026-02", true, true, true},
    {575, "575.64.05", Life::kEnded, "2025-08", true, true, true},
    {580, "580.178.04", Life::kLongTerm, "2028-06", true, true, true},
    {590, "590.48.01", Life::kEnded, "2026-03", true, true, true},
    {595, "595.91.07", Life::kProduction, "2027-03", true, true, true},
    {610, "610.57.04", Life::kEnded, "2026-08", true, true, true},
    {615, "615.71.09", Life::kNewFeature, "", true, true, true},
    // Only its guide is there yet.
    {620, "620", Life::kNewFeature, "", true, true, false},
}};

}  // namespace

std::string_view ToString(Life life) {
  switch (life) {
    case Life::kEnded:
      return "ended";
    case Life::kNewFeature:
      return "new feature";
    case Life::kProduction:
      return "production";
    case Life::kLongTerm:
      return "long-term support";
  }
  return "ended";
}

std::span<const Branch> Branches() {
  return kBranches;
}

const Branch* FindBranch(unsigned number) {
  const auto* branch = std::ranges::find(kBranches, number, &Branch::number);
  return branch == kBranches.end() ? nullptr : branch;
}

bool Reaches(const Branch& branch, const cuda::DriverVersion& least) {
  const auto newest = cuda::DriverVersion::Parse(branch.newest);
  return newest.ok() && *newest >= least;
}

}  // namespace kgpu::driver
