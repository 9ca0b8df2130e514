#include "src/node/pods/claims.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "src/platform/base/strings.h"

namespace kgpu::pods {
namespace {

using device::Gpu;
using device::MigDevice;

std::optional<unsigned> NumberOf(std::string_view text) {
  constexpr uint64_t kMost = 0xffff;
  const auto number = ParseUint(text);
  return number && *number <= kMost ? std::optional(static_cast<unsigned>(*number)) : std::nullopt;
}

// "1g.10gb+me" → "1g10gb-me", as names of devices have it.
std::string ProfileInNames(std::string_view profile) {
  std::string name;
  for (const char c : profile) {
    if (c != '.') {
      name += c == '+' ? '-' : c;
    }
  }
  return name;
}

std::string_view UpToDash(std::string_view text) {
  return text.substr(0, text.find('-'));
}

// `rest` is what follows "gpu-2-mig-": "1g10gb-19-4".
bool IsNameOf(const MigDevice& mig, std::string_view rest) {
  const std::string front = ProfileInNames(mig.profile) + "-";
  if (!mig.placement_start || !rest.starts_with(front)) {
    return false;
  }
  rest.remove_prefix(front.size());
  const size_t dash = rest.find('-');
  return dash != rest.npos && NumberOf(rest.substr(0, dash)) &&
         NumberOf(UpToDash(rest.substr(dash + 1))) == mig.placement_start;
}

// By the names of NVIDIA's driver.
std::string DeviceNamed(std::string_view name, const device::Snapshot& snapshot) {
  constexpr std::string_view kFront = "gpu-";
  constexpr std::string_view kMig = "-mig-";
  if (!name.starts_with(kFront)) {
    return {};
  }
  const size_t mig_at = name.find(kMig);
  const auto minor = NumberOf(UpToDash(name.substr(kFront.size())));
  const auto gpu = std::ranges::find_if(
      snapshot.gpus, [&minor](const Gpu& candidate) { return candidate.minor == minor; });
  if (gpu == snapshot.gpus.end()) {
    return {};
  }
  if (mig_at == name.npos) {
    return gpu->uuid.str();
  }
  const std::string_view rest = name.substr(mig_at + kMig.size());
  const auto mig = std::ranges::find_if(
      gpu->mig_devices, [&rest](const MigDevice& candidate) { return IsNameOf(candidate, rest); });
  return mig == gpu->mig_devices.end() ? std::string() : mig->uuid.str();
}

// By a name that is a UUID, or that represents one: a device's name has no capitals.
std::string DeviceWithUuid(std::string_view name, const device::Snapshot& snapshot) {
  const std::string wanted = ToLower(name);
  for (const Gpu& gpu : snapshot.gpus) {
    if (ToLower(gpu.uuid.str()) == wanted) {
      return gpu.uuid.str();
    }
    for (const MigDevice& mig : gpu.mig_devices) {
      if (ToLower(mig.uuid.str()) == wanted) {
        return mig.uuid.str();
      }
    }
  }
  return {};
}

}  // namespace

std::string DeviceOfClaim(const ClaimedDevice& claim, const device::Snapshot& snapshot) {
  std::string device = DeviceWithUuid(claim.device, snapshot);
  if (device.empty() && claim.driver == kNvidiaDraDriver) {
    device = DeviceNamed(claim.device, snapshot);
  }
  return device.empty() ? DeviceWithUuid(claim.cdi_uuid, snapshot) : device;
}

std::vector<DeviceUse> WithClaims(std::vector<DeviceUse> listed, const device::Snapshot& snapshot,
                                  const ClaimIds& ids) {
  std::vector<DeviceUse> uses;
  uses.reserve(listed.size());
  for (DeviceUse& use : listed) {
    std::vector<std::string> known;
    if (use.is_claimed() && ids) {
      known = ids(use.claim);
    }
    if (use.is_claimed() && known.empty()) {
      use.device_id = DeviceOfClaim(use.claim, snapshot);
    }
    for (std::string& id : known) {
      uses.push_back(use);
      uses.back().device_id = std::move(id);
    }
    if (!use.device_id.empty()) {
      uses.push_back(std::move(use));
    }
  }
  std::ranges::sort(uses);
  return uses;
}

}  // namespace kgpu::pods
