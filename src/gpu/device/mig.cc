#include "src/gpu/device/mig.h"

#include <fmt/format.h>

#include <algorithm>

#include "src/platform/base/ascii.h"
#include "src/platform/base/strings.h"

namespace kgpu::device {
namespace {

// Takes "<digits><unit>" off the front.
bool TakeNumber(std::string_view* text, std::string_view unit) {
  const auto digits = static_cast<size_t>(std::ranges::find_if_not(*text, IsDigit) - text->begin());
  if (digits == 0 || digits > 4 || !text->substr(digits).starts_with(unit)) {
    return false;
  }
  text->remove_prefix(digits + unit.size());
  return true;
}

// Gigabytes in a profile's name: the instance's share of the GPU in eighths, of the GPU's memory
// rounded up to whole GiB.
unsigned NameGigabytes(Bytes memory, Bytes gpu_memory) {
  constexpr uint64_t kEighths = 8;
  const uint64_t total_gib = (gpu_memory.count + GibiBytes(1).count - 1) >> 30;
  const uint64_t total_mib = std::max<uint64_t>(gpu_memory.mebi(), 1);
  const uint64_t eighths =
      std::min((memory.mebi() * kEighths + total_mib - 1) / total_mib, kEighths);
  return static_cast<unsigned>((eighths * total_gib + kEighths / 2) / kEighths);
}

bool IsMediaProfile(const MigNaming& naming) {
  // 1g+me of GPUs with seven slices; 1g+me and 2g+me of GPUs with four.
  if (naming.profile_id) {
    return *naming.profile_id == 20 || *naming.profile_id == 21 || *naming.profile_id == 6;
  }
  // Small instances have an optical-flow engine only in the profile with media extensions.
  return naming.ofa_engines > 0 && naming.gpu_instance_slices <= 2;
}

}  // namespace

bool IsMigProfileName(std::string_view text) {
  std::string_view rest = text;
  std::string_view behind_compute = rest;
  if (TakeNumber(&behind_compute, "c.")) {
    rest = behind_compute;
  }
  if (!TakeNumber(&rest, "g.") || !TakeNumber(&rest, "gb")) {
    return false;
  }
  // "+me", "+gfx", "+me.all", "-me".
  return rest.empty() || rest == "+me" || rest == "+gfx" || rest == "+me.all" || rest == "-me";
}

std::string MigProfileName(const MigNaming& naming) {
  constexpr std::string_view kMark = "MIG ";
  if (const size_t mark = naming.driver_name.rfind(kMark); mark != std::string_view::npos) {
    const std::string_view profile = Trim(naming.driver_name.substr(mark + kMark.size()));
    if (IsMigProfileName(profile)) {
      return std::string(profile);
    }
  }
  if (naming.gpu_instance_slices == 0 || naming.gpu_memory.count == 0) {
    return "";
  }
  const bool is_part = naming.compute_instance_slices != 0 &&
                       naming.compute_instance_slices < naming.gpu_instance_slices;
  return fmt::format("{}{}g.{}gb{}",
                     is_part ? fmt::format("{}c.", naming.compute_instance_slices) : "",
                     naming.gpu_instance_slices, NameGigabytes(naming.memory, naming.gpu_memory),
                     IsMediaProfile(naming) ? "+me" : "");
}

}  // namespace kgpu::device
