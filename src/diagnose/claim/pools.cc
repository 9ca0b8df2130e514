#include "src/diagnose/claim/pools.h"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "src/diagnose/explain/placing.h"
#include "src/diagnose/explain/readers.h"
#include "src/kube/api/json.h"

namespace kgpu::claim {
namespace {

namespace json = boost::json;
using explain::Flag;
using explain::ForEach;
using explain::Text;

using Slices = std::vector<const json::value*>;

std::optional<Amount> AmountAt(const json::value& object, explain::Path path) {
  const std::string text = Text(object, path);
  return text.empty() ? std::nullopt : ParseAmount(text);
}

NodeChoice ReadChoice(const json::value& object) {
  return {.node = Text(object, {"nodeName"}),
          .is_every_node = Flag(object, {"allNodes"}),
          .terms = explain::ReadTerms(object, {"nodeSelector", "nodeSelectorTerms"})};
}

// Empty for a type that kgpu does not know.
std::optional<cel::Value> ReadAttribute(const json::value& attribute) {
  if (const auto number = kube::IntField(attribute, {"int"})) {
    return cel::Value{*number};
  }
  if (kube::FindField(attribute, {"bool"}) != nullptr) {
    return cel::Value{Flag(attribute, {"bool"})};
  }
  if (kube::FindField(attribute, {"string"}) != nullptr) {
    return cel::Value{Text(attribute, {"string"})};
  }
  const auto version = cel::ParseSemver(Text(attribute, {"version"}));
  return version ? std::optional(cel::Value{*version}) : std::nullopt;
}

Capacity ReadCapacity(const json::value& object) {
  Capacity capacity{.value = AmountAt(object, {"value"}).value_or(Amount()),
                    .preset = AmountAt(object, {"requestPolicy", "default"}),
                    .least = AmountAt(object, {"requestPolicy", "validRange", "min"}),
                    .most = AmountAt(object, {"requestPolicy", "validRange", "max"}),
                    .step = AmountAt(object, {"requestPolicy", "validRange", "step"})};
  for (const std::string& text : explain::TextList(object, {"requestPolicy", "validValues"})) {
    capacity.values.push_back(ParseAmount(text).value_or(Amount()));
  }
  return capacity;
}

template <typename Take>
void ForEachField(const json::value& object, explain::Path path, Take take) {
  const json::value* fields = kube::FindField(object, path);
  if (fields == nullptr || !fields->is_object()) {
    return;
  }
  for (const auto& field : fields->get_object()) {
    take(std::string(field.key()), field.value());
  }
}

Amounts ReadCounters(const json::value& object) {
  Amounts counters;
  ForEachField(object, {"counters"}, [&](const std::string& name, const json::value& counter) {
    counters[name] = AmountAt(counter, {"value"}).value_or(Amount());
  });
  return counters;
}

// The attributes or capacities of a device by domain, as selectors see them.
class Domains {
 public:
  void Add(std::string_view full_name, cel::Value value) {
    const size_t slash = full_name.find('/');
    maps_[std::string(full_name.substr(0, slash))].fields.insert_or_assign(
        std::string(full_name.substr(slash + 1)), std::move(value));
  }
  cel::Value Take() {
    cel::Map all{.has_every_key = true};
    for (auto& [domain, map] : maps_) {
      all.fields.emplace(domain, cel::MapValue(std::move(map)));
    }
    return cel::MapValue(std::move(all));
  }

 private:
  std::map<std::string, cel::Map> maps_;
};

class PoolReader {
 public:
  explicit PoolReader(Pool& pool) : pool_(pool) {}

  void Read(const json::value& spec) {
    const NodeChoice nodes = ReadChoice(spec);
    const bool is_per_device = Flag(spec, {"perDeviceNodeSelection"});
    ForEach(spec, {"sharedCounters"}, [&](const json::value& set) {
      if (!pool_.counters.emplace(Text(set, {"name"}), ReadCounters(set)).second) {
        pool_.invalid = fmt::format("two counter sets are named {}", Text(set, {"name"}));
      }
    });
    ForEach(spec, {"devices"}, [&](const json::value& item) {
      // Before 1.34 what a device has stood one level deeper.
      const json::value* basic = kube::FindField(item, {"basic"});
      const json::value& body = basic == nullptr ? item : *basic;
      Device device = ReadDevice(Text(item, {"name"}), body);
      device.nodes = is_per_device ? ReadChoice(body) : nodes;
      if (!names_.insert(device.name).second) {
        pool_.invalid = fmt::format("two devices are named {}", device.name);
      }
      pool_.devices.push_back(std::move(device));
    });
  }

  void CheckCounters() {
    for (const Device& device : pool_.devices) {
      for (const auto& [set, counters] : device.consumes) {
        const auto found = pool_.counters.find(set);
        for (const auto& [name, amount] : counters) {
          if (found == pool_.counters.end() || !found->second.contains(name)) {
            pool_.invalid = fmt::format("{} consumes counter {} of {}, which does not exist",
                                        device.name, name, set);
          }
        }
      }
    }
  }

 private:
  Device ReadDevice(std::string name, const json::value& body) {
    Device device{.driver = pool_.driver,
                  .pool = pool_.name,
                  .name = std::move(name),
                  .is_shared = Flag(body, {"allowMultipleAllocations"})};
    cel::Map value;
    value.fields["driver"] = {device.driver};
    value.fields["allowMultipleAllocations"] = {device.is_shared};
    value.fields["attributes"] = ReadAttributes(body, device);
    value.fields["capacity"] = ReadCapacities(body, device);
    device.value = cel::MapValue(std::move(value));
    pool_.has_conditions |= kube::FindField(body, {"bindingConditions"}) != nullptr;
    ForEach(body, {"consumesCounters"}, [&](const json::value& item) {
      AddTo(device.consumes[Text(item, {"counterSet"})], ReadCounters(item));
    });
    device.taints = explain::ReadDeviceTaints(body, {"taints"});
    return device;
  }

  cel::Value ReadAttributes(const json::value& body, Device& device) {
    Domains domains;
    ForEachField(body, {"attributes"}, [&](const std::string& name, const json::value& attribute) {
      const std::string full_name = FullName(name, device.driver);
      if (auto value = ReadAttribute(attribute)) {
        // As in the slice: a version's build counts here.
        device.attributes[full_name] = kube::BodyOf(attribute);
        domains.Add(full_name, *std::move(value));
      } else {
        pool_.invalid =
            fmt::format("kgpu does not know the type of {} of {}", full_name, device.name);
      }
    });
    return domains.Take();
  }

  cel::Value ReadCapacities(const json::value& body, Device& device) {
    Domains domains;
    ForEachField(body, {"capacity"}, [&](const std::string& name, const json::value& capacity) {
      device.capacity[name] = ReadCapacity(capacity);
      auto value = cel::QuantityValue(Text(capacity, {"value"}));
      if (value.ok()) {
        domains.Add(FullName(name, device.driver), *std::move(value));
      } else {
        pool_.invalid =
            fmt::format("capacity {} of {}: {}", name, device.name, Message(value.status()));
      }
    });
    return domains.Take();
  }

  Pool& pool_;
  std::set<std::string> names_;
};

int64_t GenerationOf(const json::value& slice) {
  return kube::IntField(slice, {"spec", "pool", "generation"}).value_or(0);
}

Pool ReadPool(const PoolSlices& group) {
  Pool pool{.driver = group.driver, .name = group.name};
  PoolReader reader(pool);
  for (const json::value* slice : group.slices) {
    if (const json::value* spec = kube::FindField(*slice, {"spec"})) {
      reader.Read(*spec);
    }
  }
  const json::value& first = *group.slices.front();
  const auto count = kube::IntField(first, {"spec", "pool", "resourceSliceCount"});
  if (count && *count != static_cast<int64_t>(group.slices.size())) {
    pool.incomplete = fmt::format("it has {} of {} slices of generation {}", group.slices.size(),
                                  *count, GenerationOf(first));
  } else {
    reader.CheckCounters();
  }
  return pool;
}

bool HasDeviceFor(const explain::Node& node, const json::value& slice) {
  const json::value* spec = kube::FindField(slice, {"spec"});
  const json::value* devices = kube::FindField(slice, {"spec", "devices"});
  if (spec == nullptr || devices == nullptr) {
    return false;
  }
  // Nearly all slices of a large cluster.
  if (const std::string_view name = kube::TextField(*spec, {"nodeName"}); !name.empty()) {
    return name == node.name;
  }
  if (!Flag(*spec, {"perDeviceNodeSelection"})) {
    return Reaches(ReadChoice(*spec), node);
  }
  return devices->is_array() &&
         std::ranges::any_of(devices->get_array(), [&](const json::value& device) {
           return Reaches(ReadChoice(device), node);
         });
}

}  // namespace

std::string FullName(std::string_view name, std::string_view driver) {
  return name.find('/') == std::string_view::npos ? fmt::format("{}/{}", driver, name)
                                                  : std::string(name);
}

bool Reaches(const NodeChoice& choice, const explain::Node& node) {
  return choice.is_every_node || (!choice.node.empty() && choice.node == node.name) ||
         explain::MatchesAny(choice.terms, node);
}

std::vector<PoolSlices> GroupSlices(const std::vector<const json::value*>& slices) {
  std::map<std::pair<std::string, std::string>, Slices> found;
  for (const json::value* slice : slices) {
    Slices& known =
        found[{Text(*slice, {"spec", "driver"}), Text(*slice, {"spec", "pool", "name"})}];
    if (!known.empty() && GenerationOf(*slice) > GenerationOf(*known.front())) {
      known.clear();
    }
    if (known.empty() || GenerationOf(*slice) == GenerationOf(*known.front())) {
      known.push_back(slice);
    }
  }
  std::vector<PoolSlices> groups;
  for (auto& [key, newest] : found) {
    std::ranges::sort(newest, {}, [](const json::value* slice) { return kube::NameOf(*slice); });
    groups.push_back({.driver = key.first, .name = key.second, .slices = std::move(newest)});
  }
  return groups;
}

std::vector<Pool> PoolsFor(const explain::Node& node, const std::vector<PoolSlices>& groups) {
  std::vector<Pool> pools;
  for (const PoolSlices& group : groups) {
    if (std::ranges::any_of(group.slices,
                            [&](const json::value* slice) { return HasDeviceFor(node, *slice); })) {
      pools.push_back(ReadPool(group));
    }
  }
  // The scheduler avoids devices that it would have to wait for.
  std::ranges::stable_partition(pools, [](const Pool& pool) { return !pool.has_conditions; });
  return pools;
}

void ApplyTaintRule(const json::value& rule, std::vector<Pool>& pools) {
  const json::value* taint = kube::FindField(rule, {"spec", "taint"});
  if (taint == nullptr) {
    return;
  }
  const std::vector<explain::Taint> taints =
      explain::ReadDeviceTaints(json::object{{"taints", json::array{*taint}}}, {"taints"});
  const auto selects = [&](std::string_view field, const std::string& value) {
    const std::string wanted = Text(rule, {"spec", "deviceSelector", field});
    return wanted.empty() || wanted == value;
  };
  for (Pool& pool : pools) {
    for (Device& device : pool.devices) {
      if (selects("driver", device.driver) && selects("pool", device.pool) &&
          selects("device", device.name)) {
        device.taints.insert(device.taints.end(), taints.begin(), taints.end());
      }
    }
  }
}

}  // namespace kgpu::claim
