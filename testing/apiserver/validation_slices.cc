// Rules of ResourceSlices, as of 1.36: limits, names, and what must come together.
#include <boost/json.hpp>

#include <algorithm>
#include <set>

#include "src/platform/base/ascii.h"
#include "src/platform/base/strings.h"
#include "src/platform/pattern/pattern.h"
#include "testing/apiserver/json_fields.h"
#include "testing/apiserver/names.h"
#include "testing/apiserver/quantity.h"
#include "testing/apiserver/validation.h"

namespace kgpu::apiserver {
namespace {

namespace json = boost::json;

constexpr size_t kMaxDevices = 128;
constexpr size_t kMaxSpecialDevices = 64;  // where one has taints or consumes counters
constexpr size_t kMaxAttributes = 32;      // with the capacities
constexpr size_t kMaxCounters = 32;
constexpr size_t kMaxText = 64;

int64_t Milli(const json::object& object, Path path) {
  const json::value* value = FieldAt(object, path);
  return value == nullptr ? -1 : MilliOf(PlainText(value)).value_or(-1);
}

// The texts of an object's keys and the problems of each.
void CheckKeys(const json::object* object, const std::string& path, size_t most,
               std::optional<std::string> (*problem_of)(std::string_view),
               std::vector<Cause>& causes) {
  if (object == nullptr) {
    return;
  }
  if (object->size() > most) {
    causes.push_back(TooMany(path, object->size(), most));
  }
  for (const auto& [key, value] : *object) {
    if (const auto problem = problem_of({key.data(), key.size()}); problem) {
      causes.push_back(InvalidValue(path, {key.data(), key.size()}, *problem));
    }
  }
}

void CheckAttribute(const json::object& attribute, const std::string& path,
                    std::vector<Cause>& causes) {
  if (attribute.size() != 1) {
    causes.push_back(InvalidValue(path, "", "exactly one value must be specified"));
  }
  for (const char* field : {"string", "version"}) {
    if (TextAt(attribute, {field}).size() > kMaxText) {
      causes.push_back(TooLong(fmt::format("{}.{}", path, field), kMaxText));
    }
  }
  static const Pattern kVersion = *Pattern::Compile(
      "^(0|[1-9][0-9]*)\\.(0|[1-9][0-9]*)\\.(0|[1-9][0-9]*)"
      "(-[0-9A-Za-z.-]+)?(\\+[0-9A-Za-z.-]+)?$");
  const json::value* version = attribute.if_contains("version");
  if (version != nullptr && !kVersion.Matches(PlainText(version))) {
    causes.push_back(InvalidValue(fmt::format("{}.version", path), PlainText(version),
                                  "must be a string compatible with semver.org spec 2.0.0"));
  }
}

// A range of amounts that may be asked for, beginning at its minimum.
void CheckRange(const json::object& policy, int64_t value, const std::string& path,
                std::vector<Cause>& causes) {
  const int64_t least = Milli(policy, {"validRange", "min"});
  const int64_t step = Milli(policy, {"validRange", "step"});
  const int64_t most = Milli(policy, {"validRange", "max"});
  const int64_t usual = Milli(policy, {"default"});
  const auto refuse = [&](const char* field, const char* why) {
    causes.push_back(InvalidValue(fmt::format("{}.validRange.{}", path, field), "", why));
  };
  if (least < 0) {
    causes.push_back(RequiredValue(fmt::format("{}.validRange.min", path),
                                   "required when validRange is defined"));
    return;
  }
  if (least > value || most > value) {
    refuse(least > value ? "min" : "max", "is larger than capacity value");
  }
  if (usual < least || (most >= 0 && usual > most)) {
    refuse("default", "default is less than min or more than max");
  }
  if (step == 0 || (step > 0 && least + step > value)) {
    refuse("step", "must be greater than zero, and one step at most the capacity value");
  } else if (step > 0 &&
             ((usual - least) % step != 0 || (most >= 0 && (most - least) % step != 0))) {
    refuse("step", "value is not a multiple of a given step from min");
  }
}

void CheckPolicy(const json::object& policy, int64_t value, const std::string& path,
                 std::vector<Cause>& causes) {
  const json::array& values = ItemsAt(policy, {"validValues"});
  const bool has_range = ObjectAt(policy, {"validRange"}) != nullptr;
  if (!values.empty() && has_range) {
    causes.push_back(ForbiddenChange(path, "exactly one policy can be specified"));
    return;
  }
  if ((!values.empty() || has_range) && FieldAt(policy, {"default"}) == nullptr) {
    causes.push_back(RequiredValue(fmt::format("{}.default", path), "required with valid values"));
  } else if (has_range) {
    CheckRange(policy, value, path, causes);
  }
  if (values.size() > 10) {
    causes.push_back(TooMany(fmt::format("{}.validValues", path), values.size(), 10));
  }
  int64_t before = -1;
  bool has_default = values.empty();
  for (const json::value& item : values) {
    const int64_t amount = MilliOf(PlainText(&item)).value_or(-1);
    has_default = has_default || amount == Milli(policy, {"default"});
    if (amount <= before || amount > value) {
      causes.push_back(InvalidValue(fmt::format("{}.validValues", path), PlainText(&item),
                                    "values must be sorted, distinct and at most the capacity"));
    }
    before = amount;
  }
  if (!has_default) {
    causes.push_back(InvalidValue(fmt::format("{}.validValues", path), "",
                                  "default value is not valid according to the requestPolicy"));
  }
}

void CheckCapacity(const json::object& device, const std::string& path,
                   std::vector<Cause>& causes) {
  const json::object* capacities = ObjectAt(device, {"capacity"});
  if (capacities == nullptr) {
    return;
  }
  for (const auto& [key, value] : *capacities) {
    const json::object none;
    const json::object& capacity = value.is_object() ? value.get_object() : none;
    const std::string place = fmt::format("{}.capacity[{}].requestPolicy", path,
                                          std::string_view(key.data(), key.size()));
    const json::object* policy = ObjectAt(capacity, {"requestPolicy"});
    if (policy == nullptr) {
      continue;
    }
    if (FlagAt(device, {"allowMultipleAllocations"})) {
      CheckPolicy(*policy, Milli(capacity, {"value"}), place, causes);
    } else {
      causes.push_back(ForbiddenChange(place, "allowMultipleAllocations must be true"));
    }
  }
}

void CheckTaints(const json::object& device, const std::string& path, std::vector<Cause>& causes) {
  const json::array& taints = ItemsAt(device, {"taints"});
  if (taints.size() > 16) {
    causes.push_back(TooMany(fmt::format("{}.taints", path), taints.size(), 16));
  }
  for (const json::value& item : taints) {
    const json::object none;
    const json::object& taint = item.is_object() ? item.get_object() : none;
    const std::string_view effect = TextAt(taint, {"effect"});
    if (effect != "None" && effect != "NoSchedule" && effect != "NoExecute") {
      causes.push_back(UnsupportedValue(fmt::format("{}.taints.effect", path), effect,
                                        {"NoExecute", "NoSchedule", "None"}));
    }
    if (const auto problem = LabelKeyProblem(TextAt(taint, {"key"})); problem) {
      causes.push_back(
          InvalidValue(fmt::format("{}.taints.key", path), TextAt(taint, {"key"}), *problem));
    }
    if (const auto problem = LabelValueProblem(TextAt(taint, {"value"})); problem) {
      causes.push_back(
          InvalidValue(fmt::format("{}.taints.value", path), TextAt(taint, {"value"}), *problem));
    }
  }
}

// Counters of a set that exists in the pool, perhaps in another slice: that is not checked here.
void CheckConsumption(const json::object& device, const std::string& path,
                      std::vector<Cause>& causes) {
  const json::array& sets = ItemsAt(device, {"consumesCounters"});
  if (sets.size() > 2) {
    causes.push_back(TooMany(fmt::format("{}.consumesCounters", path), sets.size(), 2));
  }
  std::set<std::string> names;
  for (const json::value& item : sets) {
    const json::object none;
    const json::object& set = item.is_object() ? item.get_object() : none;
    const std::string name(TextAt(set, {"counterSet"}));
    if (const auto problem = DnsLabelProblem(name); problem) {
      causes.push_back(
          InvalidValue(fmt::format("{}.consumesCounters.counterSet", path), name, *problem));
    }
    if (!names.insert(name).second) {
      causes.push_back(DuplicateValue(fmt::format("{}.consumesCounters", path), name));
    }
    const json::object* counters = ObjectAt(set, {"counters"});
    if (counters == nullptr || counters->empty()) {
      causes.push_back(RequiredValue(fmt::format("{}.consumesCounters.counters", path), ""));
    }
    CheckKeys(counters, fmt::format("{}.consumesCounters.counters", path), kMaxCounters,
              &DnsLabelProblem, causes);
  }
}

void CheckBinding(const json::object& device, const std::string& path, std::vector<Cause>& causes) {
  const json::array& good = ItemsAt(device, {"bindingConditions"});
  const json::array& bad = ItemsAt(device, {"bindingFailureConditions"});
  if (good.size() > 4 || bad.size() > 4) {
    causes.push_back(
        TooMany(fmt::format("{}.bindingConditions", path), std::max(good.size(), bad.size()), 4));
  }
  if (good.empty() != bad.empty()) {
    causes.push_back(InvalidValue(fmt::format("{}.bindingConditions", path), "",
                                  "bindingConditions and bindingFailureConditions come together"));
  }
}

void CheckDevice(const json::object& device, bool selects_nodes, const std::string& path,
                 std::vector<Cause>& causes) {
  const std::string_view name = TextAt(device, {"name"});
  if (const auto problem = DnsLabelProblem(name); problem) {
    causes.push_back(InvalidValue(fmt::format("{}.name", path), name, *problem));
  }
  const json::object* attributes = ObjectAt(device, {"attributes"});
  const json::object* capacities = ObjectAt(device, {"capacity"});
  const size_t entries = (attributes == nullptr ? 0 : attributes->size()) +
                         (capacities == nullptr ? 0 : capacities->size());
  if (entries > kMaxAttributes) {
    causes.push_back(
        InvalidValue(path, std::to_string(entries),
                     fmt::format("the total number of attributes and capacities must not exceed {}",
                                 kMaxAttributes)));
  }
  CheckKeys(attributes, fmt::format("{}.attributes", path), SIZE_MAX, &QualifiedNameProblem,
            causes);
  CheckKeys(capacities, fmt::format("{}.capacity", path), SIZE_MAX, &QualifiedNameProblem, causes);
  if (attributes != nullptr) {
    for (const auto& [key, value] : *attributes) {
      const std::string_view id(key.data(), key.size());
      CheckAttribute(value.is_object() ? value.get_object() : json::object(),
                     fmt::format("{}.attributes[{}]", path, id), causes);
    }
  }
  const bool has_own = FieldAt(device, {"nodeName"}) != nullptr ||
                       FieldAt(device, {"nodeSelector"}) != nullptr || FlagAt(device, {"allNodes"});
  if (has_own != selects_nodes) {
    causes.push_back(InvalidValue(
        path, "", "`nodeName`, `nodeSelector` and `allNodes` belong to perDeviceNodeSelection"));
  }
  CheckCapacity(device, path, causes);
  CheckTaints(device, path, causes);
  CheckConsumption(device, path, causes);
  CheckBinding(device, path, causes);
}

void CheckDevices(const json::object& spec, std::vector<Cause>& causes) {
  const json::array& devices = ItemsAt(spec, {"devices"});
  const bool is_special = std::ranges::any_of(devices, [](const json::value& item) {
    return item.is_object() && (!ItemsAt(item.get_object(), {"taints"}).empty() ||
                                !ItemsAt(item.get_object(), {"consumesCounters"}).empty());
  });
  const size_t most = is_special ? kMaxSpecialDevices : kMaxDevices;
  if (devices.size() > most) {
    causes.push_back(TooMany("spec.devices", devices.size(), most));
  }
  std::set<std::string> names;
  for (size_t i = 0; i < devices.size(); ++i) {
    const std::string path = fmt::format("spec.devices[{}]", i);
    const json::object none;
    const json::object& device = devices[i].is_object() ? devices[i].get_object() : none;
    CheckDevice(device, FlagAt(spec, {"perDeviceNodeSelection"}), path, causes);
    if (!names.insert(std::string(TextAt(device, {"name"}))).second) {
      causes.push_back(DuplicateValue(fmt::format("{}.name", path), TextAt(device, {"name"})));
    }
  }
}

void CheckCounterSets(const json::object& spec, std::vector<Cause>& causes) {
  const json::array& sets = ItemsAt(spec, {"sharedCounters"});
  if (sets.size() > 8) {
    causes.push_back(TooMany("spec.sharedCounters", sets.size(), 8));
  }
  if (!sets.empty() && !ItemsAt(spec, {"devices"}).empty()) {
    causes.push_back(InvalidValue("spec", "", "only one of `devices` and `sharedCounters`"));
  }
  std::set<std::string> names;
  for (const json::value& item : sets) {
    const json::object none;
    const json::object& set = item.is_object() ? item.get_object() : none;
    const std::string name(TextAt(set, {"name"}));
    if (const auto problem = DnsLabelProblem(name); problem) {
      causes.push_back(InvalidValue("spec.sharedCounters.name", name, *problem));
    }
    if (!names.insert(name).second) {
      causes.push_back(DuplicateValue("spec.sharedCounters", name));
    }
    const json::object* counters = ObjectAt(set, {"counters"});
    if (counters == nullptr || counters->empty()) {
      causes.push_back(RequiredValue("spec.sharedCounters.counters", ""));
    }
    CheckKeys(counters, "spec.sharedCounters.counters", kMaxCounters, &DnsLabelProblem, causes);
  }
}

void CheckPool(const json::object& spec, std::vector<Cause>& causes) {
  const std::string_view name = TextAt(spec, {"pool", "name"});
  if (name.size() > 253) {
    causes.push_back(TooLong("spec.pool.name", 253));
  }
  for (const std::string_view part : Split(name, '/')) {
    if (const auto problem = SubdomainProblem(part); problem) {
      causes.push_back(InvalidValue("spec.pool.name", name, *problem));
    }
  }
  if (NumberAt(spec, {"pool", "resourceSliceCount"}, 0) < 1) {
    causes.push_back(
        InvalidValue("spec.pool.resourceSliceCount", "0", "must be greater than zero"));
  }
  if (NumberAt(spec, {"pool", "generation"}, 0) < 0) {
    causes.push_back(
        InvalidValue("spec.pool.generation", "", "must be greater than or equal to zero"));
  }
}

}  // namespace

void ValidateResourceSlice(const json::object& slice, const json::object* before,
                           std::vector<Cause>& causes) {
  const json::object none;
  const json::object* found = ObjectAt(slice, {"spec"});
  const json::object& spec = found == nullptr ? none : *found;
  if (const auto problem = DriverNameProblem(TextAt(spec, {"driver"})); problem) {
    causes.push_back(InvalidValue("spec.driver", TextAt(spec, {"driver"}), *problem));
  }
  const int places = (TextAt(spec, {"nodeName"}).empty() ? 0 : 1) +
                     (FieldAt(spec, {"nodeSelector"}) == nullptr ? 0 : 1) +
                     (FlagAt(spec, {"allNodes"}) ? 1 : 0) +
                     (FlagAt(spec, {"perDeviceNodeSelection"}) ? 1 : 0);
  if (places != 1) {
    causes.push_back(InvalidValue("spec", "",
                                  "exactly one of `nodeName`, `nodeSelector`, `allNodes`, "
                                  "`perDeviceNodeSelection` is required"));
  }
  CheckPool(spec, causes);
  CheckDevices(spec, causes);
  CheckCounterSets(spec, causes);
  if (before != nullptr) {
    for (const char* path : {"spec.driver", "spec.nodeName", "spec.pool.name"}) {
      CheckUnchanged(slice, *before, path, causes);
    }
  }
}

}  // namespace kgpu::apiserver
