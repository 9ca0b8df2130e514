#include "src/cluster/gpus/claimed.h"

#include <boost/json/value.hpp>

#include <algorithm>
#include <optional>
#include <string_view>

#include "src/cluster/gpus/fields.h"
#include "src/kube/api/json.h"
#include "src/platform/base/amount.h"

namespace kgpu::gpus {
namespace {

namespace json = boost::json;
using kube::TextField;

constexpr std::string_view kShares = "shares";
constexpr std::string_view kMemory = "memory";

// A whole quantity; 0 for anything else.
uint64_t QuantityAt(const json::value& from, std::initializer_list<std::string_view> path) {
  const std::optional<Amount> amount = ParseAmount(TextField(from, path));
  return amount && amount->milli > 0 ? static_cast<uint64_t>(amount->milli) / 1000 : 0;
}

// An attribute that is a text.
std::string AttributeOf(const json::value& body, std::string_view name) {
  return std::string(TextField(body, {"attributes", name, "string"}));
}

std::string ResourceOf(const json::value& body, bool is_gpu) {
  std::string pool = AttributeOf(body, "kgpu.dev/pool");
  if (!pool.empty()) {
    return pool;
  }
  return is_gpu ? "nvidia.com/gpu" : "nvidia.com/mig-" + AttributeOf(body, "profile");
}

SliceDevice ReadDevice(const json::value& object, const std::string& node) {
  // Before Kubernetes 1.34 what a device has stood one level deeper.
  const json::value* basic = kube::FindField(object, {"basic"});
  const json::value& body = basic == nullptr ? object : *basic;
  SliceDevice device{.name = std::string(kube::TextField(object, {"name"}))};
  device.is_gpu = AttributeOf(body, "type") != "mig";
  const std::string uuid = AttributeOf(body, "uuid");
  device.card = device.is_gpu ? uuid : AttributeOf(body, "parentUUID");
  device.is_made = device.is_gpu || !uuid.empty();
  device.unit = {.node = node, .resource = ResourceOf(body, device.is_gpu)};
  device.unit.model = AttributeOf(body, "kgpu.dev/model");
  if (device.unit.model.empty()) {
    device.unit.model = AttributeOf(body, "productName");
  }
  device.unit.is_shared = FlagAt(body, {"allowMultipleAllocations"});
  if (device.unit.is_shared) {
    const uint64_t shares = QuantityAt(body, {"capacity", kShares, "value"});
    const uint64_t memory = QuantityAt(body, {"capacity", kMemory, "value"});
    const uint64_t step =
        QuantityAt(body, {"capacity", kMemory, "requestPolicy", "validRange", "step"});
    device.unit.slot_memory = shares == 0 ? step : 0;
    device.unit.slots = shares > 0 ? shares : step > 0 ? std::max<uint64_t>(memory / step, 1) : 1;
  }
  device.unit.is_tainted =
      std::ranges::any_of(kube::ArrayField(body, {"taints"}), [](const json::value& taint) {
        const std::string_view effect = TextField(taint, {"effect"});
        return effect == "NoSchedule" || effect == "NoExecute";
      });
  return device;
}

// The units of all pools, and which one each device belongs to. MIG devices that can be made on a
// GPU are the GPU's: a claim that gets one has taken the GPU.
class UnitTable {
 public:
  // The whole GPUs of a pool come before its MIG devices.
  void Add(const std::string& pool, const SliceDevice& device) {
    const DeviceKey key = {pool, device.name};
    if (unit_of_.contains(key)) {
      return;  // twice in the slices of a pool that is being written
    }
    const auto card = cards_.find({pool, device.card});
    if (!device.is_gpu && card != cards_.end()) {
      unit_of_[key] = card->second;
      return;
    }
    unit_of_[key] = units_.size();
    if (device.is_gpu && !device.card.empty()) {
      cards_[{pool, device.card}] = units_.size();
    }
    units_.push_back({.unit = device.unit});
    // A device that could be made, of a GPU that is not offered as a whole, counts once it is made.
    units_.back().unit.slots = device.is_made ? device.unit.slots : 0;
  }

  void Take(const AllocatedClaim& claim, std::vector<Holder>& holders) {
    std::map<std::pair<std::string, std::string>, uint64_t> counts;
    for (const ClaimResult& result : claim.results) {
      const auto found = unit_of_.find(result.key);
      if (found == unit_of_.end()) {
        continue;
      }
      Used& used = units_[found->second];
      const uint64_t count = SlotsOf(result, used.unit);
      used.count += count;
      counts[{used.unit.node, used.unit.resource}] += count;
    }
    for (const auto& [place, count] : counts) {
      holders.push_back({.space = claim.space,
                         .pod = claim.pods.empty() ? "" : claim.pods.front(),
                         .claim = claim.name,
                         .other_pods = claim.pods.empty() ? 0 : claim.pods.size() - 1,
                         .node = place.first,
                         .resource = place.second,
                         .count = count});
    }
  }

  OfferedPools Sum() const {
    OfferedPools offered;
    for (const auto& [unit, count] : units_) {
      const uint64_t slots = std::max<uint64_t>(unit.slots, count > 0 ? 1 : 0);
      if (slots == 0) {
        continue;
      }
      Offered& pool = offered[{unit.node, unit.resource}];
      const uint64_t taken = std::min(count, slots);
      pool.total += slots;
      pool.used += taken;
      pool.tainted += unit.is_tainted ? slots - taken : 0;
      if (pool.model.find(unit.model) == std::string::npos) {
        pool.model += (pool.model.empty() ? "" : ", ") + unit.model;
      }
    }
    return offered;
  }

 private:
  struct Used {
    Unit unit{};
    uint64_t count = 0;
  };

  static uint64_t SlotsOf(const ClaimResult& result, const Unit& unit) {
    if (!unit.is_shared) {
      return 1;
    }
    const uint64_t by_memory =
        unit.slot_memory == 0 ? 0 : (result.memory + unit.slot_memory - 1) / unit.slot_memory;
    return std::max({result.shares, by_memory, uint64_t{1}});
  }

  std::map<DeviceKey, size_t> unit_of_;
  std::map<std::pair<std::string, std::string>, size_t> cards_;  // whole GPUs by pool and UUID
  std::vector<Used> units_;
};

}  // namespace

void ClaimedDevices::AddSlice(const json::value& slice) {
  if (!IsGpuSlice(slice)) {
    return;
  }
  const int64_t generation = kube::IntField(slice, {"spec", "pool", "generation"}).value_or(0);
  Pool& pool = pools_[std::string(TextField(slice, {"spec", "pool", "name"}))];
  if (generation < pool.generation) {
    return;
  }
  if (generation > pool.generation) {
    pool = {.generation = generation};
  }
  const std::string node(TextField(slice, {"spec", "nodeName"}));
  for (const json::value& device : kube::ArrayField(slice, {"spec", "devices"})) {
    pool.devices.push_back(ReadDevice(device, node));
  }
}

void ClaimedDevices::AddClaim(const json::value& object) {
  AllocatedClaim claim{.space = std::string(kube::NamespaceOf(object)),
                       .name = std::string(kube::NameOf(object))};
  for (const json::value& result :
       kube::ArrayField(object, {"status", "allocation", "devices", "results"})) {
    // An observer takes nothing from others.
    if (TextField(result, {"driver"}) != kDraDriver || FlagAt(result, {"adminAccess"})) {
      continue;
    }
    claim.results.push_back({.key = {std::string(TextField(result, {"pool"})),
                                     std::string(TextField(result, {"device"}))},
                             .shares = QuantityAt(result, {"consumedCapacity", kShares}),
                             .memory = QuantityAt(result, {"consumedCapacity", kMemory})});
  }
  for (const json::value& pod : kube::ArrayField(object, {"status", "reservedFor"})) {
    if (TextField(pod, {"resource"}) == "pods") {
      claim.pods.emplace_back(TextField(pod, {"name"}));
    }
  }
  if (!claim.results.empty()) {
    claims_.push_back(std::move(claim));
  }
}

OfferedPools ClaimedDevices::Count(std::vector<Holder>& holders) const {
  UnitTable table;
  for (const bool is_gpu : {true, false}) {
    for (const auto& [name, pool] : pools_) {
      for (const SliceDevice& device : pool.devices) {
        if (device.is_gpu == is_gpu) {
          table.Add(name, device);
        }
      }
    }
  }
  for (const AllocatedClaim& claim : claims_) {
    table.Take(claim, holders);
  }
  return table.Sum();
}

}  // namespace kgpu::gpus
