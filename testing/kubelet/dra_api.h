// The messages of the DRA plugin APIs as plain values, so that only the adapters use gRPC. Source:
// docs of each field in proto/dra_v1.proto and proto/dra_health_v1alpha1.proto.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace kgpu::kubelet {

// The gRPC services of DRA, as a plugin lists them in its supported_versions.
inline constexpr const char* kDraV1 = "v1.DRAPlugin";
inline constexpr const char* kDraV1beta1 = "v1beta1.DRAPlugin";

inline constexpr const char* kUnknownHealth = "Unknown";

struct ClaimKey {
  std::string name_space;
  std::string uid;
  std::string name;
  bool operator==(const ClaimKey&) const = default;
};

struct PreparedDevice {
  std::vector<std::string> requests = {};  // empty: all
  std::string pool = {};
  std::string device = {};
  std::vector<std::string> cdi_ids = {};
  std::optional<std::string> share_id = {};
  bool operator==(const PreparedDevice&) const = default;
};

// The reply for one claim: an error, or its devices.
struct ClaimReply {
  std::string error = {};
  std::vector<PreparedDevice> devices = {};
};
using ClaimReplies = std::map<std::string, ClaimReply>;  // by UID

// The health of one device as its plugin reports it.
struct HealthReport {
  std::string pool = {};
  std::string device = {};
  std::string health = {};          // "Healthy", "Unhealthy", "Unknown"
  std::chrono::seconds timeout{0};  // 0 or less: the kubelet's default
  std::string message = {};
};

}  // namespace kgpu::kubelet
