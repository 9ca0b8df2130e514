// The devices that ResourceSlices offer, and which of them claims have.
#pragma once

#include <boost/json/fwd.hpp>

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
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

class ClaimedDevices {
 public:
  void AddSlice(const boost::json::value& slice);
  void AddClaim(const boost::json::value& claim);

  // Slices of older generations do not count. Holders are added to `holders`.
  OfferedPools Count(std::vector<Holder>& holders) const;

 private:
  using DeviceKey = std::pair<std::string, std::string>;  // pool of the slices, device

  // Counts as one device, or as slots that several claims share. MIG devices that can be made on
  // a GPU are the GPU's: who gets one has taken the GPU.
  struct Unit {
    std::string node{};
    std::string resource{};
    std::string model{};
    uint64_t slots = 1;
    uint64_t slot_memory = 0;  // bytes of a slot, of a device that is shared by memory
    bool is_shared = false;
    bool is_tainted = false;
  };
  struct Device {
    std::string name{};
    std::string card{};  // UUID of the GPU
    bool is_gpu = false;
    bool is_made = true;  // false: a MIG device that is made for a claim
    Unit unit{};
  };
  struct Pool {
    int64_t generation = -1;
    std::vector<Device> devices{};
  };
  struct Result {
    DeviceKey key{};
    uint64_t shares = 0;  // consumed; 0: not said
    uint64_t memory = 0;
  };
  struct Claim {
    std::string space{};
    std::string name{};
    std::vector<std::string> pods{};
    std::vector<Result> results{};
  };

  static Device ReadDevice(const boost::json::value& object, const std::string& node);
  std::map<DeviceKey, size_t> UnitsOf(std::vector<Unit>& units) const;

  std::map<std::string, Pool> pools_;
  std::vector<Claim> claims_;
};

}  // namespace kgpu::gpus
