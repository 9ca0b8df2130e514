// The devices that ResourceSlices offer, and which of them claims have.
#pragma once

#include <boost/json/fwd.hpp>

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "src/cluster/gpus/summary.h"

namespace kgpu::gpus {

// The driver whose slices and claims count: kgpu's, and NVIDIA's own.
inline constexpr std::string_view kDraDriver = "gpu.nvidia.com";

// The devices of one pool on one node, and how many of them claims have.
struct Offered {
  uint64_t total = 0;
  uint64_t used = 0;
  uint64_t tainted = 0;  // of those that are not used
  std::string model{};
};
using OfferedPools = std::map<std::pair<std::string, std::string>, Offered>;  // node, resource

// Counts as one device, or as slots that several claims share.
struct Unit {
  std::string node{};
  std::string resource{};
  std::string model{};
  uint64_t slots = 1;
  uint64_t slot_memory = 0;  // bytes of a slot, of a device that is shared by memory
  bool is_shared = false;
  bool is_tainted = false;
};

struct SliceDevice {
  std::string name{};
  std::string card{};  // UUID of the GPU
  bool is_gpu = false;
  bool is_made = true;  // false: a MIG device that is made for a claim
  Unit unit{};
};

using DeviceKey = std::pair<std::string, std::string>;  // pool of the slices, device

struct ClaimResult {
  DeviceKey key{};
  uint64_t shares = 0;  // consumed; 0: not said
  uint64_t memory = 0;
};

struct AllocatedClaim {
  std::string space{};
  std::string name{};
  std::vector<std::string> pods{};
  std::vector<ClaimResult> results{};
};

class ClaimedDevices {
 public:
  void AddSlice(const boost::json::value& slice);
  void AddClaim(const boost::json::value& object);

  // Slices of older generations do not count. Holders are added to `holders`.
  OfferedPools Count(std::vector<Holder>& holders) const;

 private:
  struct Pool {
    int64_t generation = -1;
    std::vector<SliceDevice> devices{};
  };

  std::map<std::string, Pool> pools_;
  std::vector<AllocatedClaim> claims_;
};

}  // namespace kgpu::gpus
