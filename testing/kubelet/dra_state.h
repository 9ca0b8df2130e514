// The file dra_manager_state: claims with the pods that use them and their prepared devices, in the
// kubelet's own layout.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "src/platform/base/status.h"
#include "testing/kubelet/dra_api.h"

namespace kgpu::kubelet {

inline constexpr size_t kDraStateLimit = size_t{16} << 20;  // bytes

struct ClaimState {
  ClaimKey key;
  std::set<std::string> pods;                                  // UIDs
  std::map<std::string, std::vector<PreparedDevice>> drivers;  // each driver of the claim
  // By this kubelet: not in the file, since a restarted kubelet prepares again for a new sandbox.
  bool is_prepared = false;
  bool operator==(const ClaimState&) const = default;
};

// One line, as the kubelet writes it: the data as a string, and its CRC-32.
std::string PrintDraState(const std::vector<ClaimState>& claims);
// `file` is only used in errors. Errors: InvalidArgument (not this layout, wrong checksum).
StatusOr<std::vector<ClaimState>> ParseDraState(std::string_view text, const std::string& file);

}  // namespace kgpu::kubelet
