#include "src/node/mig/config_file.h"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"
#include "src/platform/base/suggest.h"
#include "src/platform/doc/located.h"

namespace kgpu::mig {
namespace {

namespace json = boost::json;

constexpr size_t kMaxConfigs = 512;
constexpr size_t kMaxEntries = 64;
constexpr size_t kMaxDevices = 128;
constexpr uint32_t kNvidia = 0x10de;

std::string_view View(const json::string& text) {
  return {text.data(), text.size()};
}
std::string_view KeyOfPair(const json::key_value_pair& pair) {
  return {pair.key().data(), pair.key().size()};
}

Status CheckKeys(const json::object& object, const std::string& where,
                 const std::vector<std::string_view>& known) {
  for (const json::key_value_pair& pair : object) {
    const std::string_view key = KeyOfPair(pair);
    if (std::ranges::find(known, key) == known.end()) {
      const auto nearest = Nearest(key, known);
      return InvalidArgument("{}: unknown field \"{}\"{}", where, Printable(key, 60),
                             nearest ? fmt::format("; did you mean \"{}\"?", *nearest) : "");
    }
  }
  return OkStatus();
}

StatusOr<uint32_t> ParseModel(const json::value& value, const std::string& where) {
  const auto number = value.is_string() ? ParseUint(View(value.get_string()), 16) : std::nullopt;
  if (!number || *number > UINT32_MAX) {
    return InvalidArgument("{}: must be a text like \"0x233010DE\"", where);
  }
  return static_cast<uint32_t>(*number);
}

StatusOr<std::vector<uint32_t>> ParseModels(const json::value* value, const std::string& where) {
  std::vector<uint32_t> models;
  if (value == nullptr) {
    return models;
  }
  if (!value->is_array()) {
    ASSIGN_OR_RETURN(const uint32_t model, ParseModel(*value, where));
    return std::vector<uint32_t>{model};
  }
  const json::array& list = value->get_array();
  if (list.size() > kMaxDevices) {
    return InvalidArgument("{}: has {} models, at most {}", where, list.size(), kMaxDevices);
  }
  for (const json::value& item : list) {
    ASSIGN_OR_RETURN(const uint32_t model, ParseModel(item, where));
    models.push_back(model);
  }
  return models;
}

StatusOr<std::optional<std::vector<unsigned>>> ParseDevices(const json::value* value,
                                                            const std::string& where) {
  if (value != nullptr && value->is_string() && View(value->get_string()) == "all") {
    return std::optional<std::vector<unsigned>>();
  }
  const json::array* list = value == nullptr ? nullptr : value->if_array();
  if (list == nullptr || list->size() > kMaxDevices) {
    return InvalidArgument("{}: must be \"all\" or a list of at most {} indexes", where,
                           kMaxDevices);
  }
  std::vector<unsigned> devices;
  for (const json::value& item : *list) {
    const bool is_index =
        item.is_int64() && item.get_int64() >= 0 && item.get_int64() < int64_t{kMaxDevices};
    if (!is_index) {
      return InvalidArgument("{}: must be \"all\" or a list of indexes", where);
    }
    devices.push_back(static_cast<unsigned>(item.get_int64()));
  }
  return std::optional(std::move(devices));
}

StatusOr<std::vector<Demand>> ParseDevicesOfMig(const json::value* value,
                                                const std::string& where) {
  std::vector<Entry> entries;
  if (value == nullptr || value->is_null()) {
    return std::vector<Demand>();
  }
  const json::object* map = value->if_object();
  if (map == nullptr || map->size() > kMaxEntries) {
    return InvalidArgument("{}: must be a map of profiles to counts", where);
  }
  for (const json::key_value_pair& pair : *map) {
    auto entry = ParseProfileName(KeyOfPair(pair));
    RETURN_IF_ERROR(Annotate(entry.status(), "{}", where));
    const json::value& count = pair.value();
    if (!count.is_int64() || count.get_int64() < 0 || count.get_int64() > int64_t{kMaxDevices}) {
      return InvalidArgument("{}.{}: must be a number from 0 to {}", where, KeyOfPair(pair),
                             kMaxDevices);
    }
    entry->count = static_cast<unsigned>(count.get_int64());
    if (entry->count > 0) {
      entries.push_back(*std::move(entry));
    }
  }
  auto demands = DemandsOf(entries);
  RETURN_IF_ERROR(Annotate(demands.status(), "{}", where));
  return demands;
}

StatusOr<ConfigEntry> ParseConfigEntry(const json::value& value, const std::string& where) {
  const json::object* object = value.if_object();
  if (object == nullptr) {
    return InvalidArgument("{}: must be a map", where);
  }
  RETURN_IF_ERROR(
      CheckKeys(*object, where, {"device-filter", "devices", "mig-enabled", "mig-devices"}));
  ConfigEntry entry;
  ASSIGN_OR_RETURN(entry.models,
                   ParseModels(object->if_contains("device-filter"), where + ".device-filter"));
  ASSIGN_OR_RETURN(entry.devices, ParseDevices(object->if_contains("devices"), where + ".devices"));
  const json::value* enabled = object->if_contains("mig-enabled");
  if (enabled == nullptr || !enabled->is_bool()) {
    return InvalidArgument("{}.mig-enabled: must be true or false", where);
  }
  entry.is_mig_enabled = enabled->get_bool();
  ASSIGN_OR_RETURN(entry.layout,
                   ParseDevicesOfMig(object->if_contains("mig-devices"), where + ".mig-devices"));
  if (!entry.is_mig_enabled && !entry.layout.empty()) {
    return InvalidArgument("{}.mig-devices: must be empty where mig-enabled is false", where);
  }
  return entry;
}

// `place` is that of `value`.
StatusOr<std::vector<ConfigEntry>> ParseEntriesOf(const json::value& value, const doc::Place& place,
                                                  std::string_view file, std::string_view name) {
  const std::string where = fmt::format("mig-configs.{}", Printable(name, 60));
  const json::array* list = value.if_array();
  if (list == nullptr || list->empty() || list->size() > kMaxEntries) {
    return InvalidArgument("{}:{}: {}: must be a list of 1 to {} entries", file, place.key.line,
                           where, kMaxEntries);
  }
  std::vector<ConfigEntry> entries;
  for (size_t i = 0; i < list->size(); ++i) {
    ASSIGN_OR_RETURN(
        ConfigEntry entry,
        ParseConfigEntry((*list)[i], fmt::format("{}:{}: {}[{}]", file,
                                                 place.children.at(i).value.line, where, i)));
    entries.push_back(std::move(entry));
  }
  return entries;
}

NamedConfig ParseConfig(const json::key_value_pair& pair, const doc::Place& place,
                        std::string_view file) {
  NamedConfig config{.name = std::string(KeyOfPair(pair)), .entries = {}};
  auto entries = ParseEntriesOf(pair.value(), place, file, config.name);
  if (entries.ok()) {
    config.entries = *std::move(entries);
  } else {
    config.problem = Message(entries.status());
  }
  return config;
}

bool IsAbout(const ConfigEntry& entry, const HostGpu& gpu) {
  const uint32_t model = uint32_t{gpu.pci_device_id} << 16 | kNvidia;
  const bool has_model =
      entry.models.empty() || std::ranges::find(entry.models, model) != entry.models.end();
  return has_model &&
         (!entry.devices || std::ranges::find(*entry.devices, gpu.index) != entry.devices->end());
}

// For each model of the host.
template <typename Layout>
NamedConfig ForModels(std::string name, std::span<const HostGpu> gpus, const Layout& layout_of) {
  NamedConfig config{.name = std::move(name), .entries = {}};
  std::map<uint16_t, const HostGpu*> models;
  for (const HostGpu& gpu : gpus) {
    if (gpu.geometry != nullptr) {
      models.emplace(gpu.pci_device_id, &gpu);
    }
  }
  for (const auto& [id, gpu] : models) {
    std::vector<Demand> layout = layout_of(*gpu->geometry);
    if (!layout.empty()) {
      config.entries.push_back({.models = {uint32_t{id} << 16 | kNvidia},
                                .devices = {},
                                .is_mig_enabled = true,
                                .layout = std::move(layout)});
    }
  }
  return config;
}

// The plain profile with so many slices and the least memory: 1g.10gb, not 1g.20gb nor 1g.10gb+me.
const device::MigProfile* PlainProfile(const Geometry& geometry, unsigned slices) {
  const device::MigProfile* found = nullptr;
  for (const device::MigProfile& profile : geometry.profiles()) {
    const bool is_plain = profile.name.ends_with("gb") && profile.slices == slices;
    if (is_plain && (found == nullptr || profile.memory_slices < found->memory_slices)) {
      found = &profile;
    }
  }
  return found;
}

// Twice 1g, 2g, and 3g if there are seven slices. Source: the MIG manager's generated
// configuration.
std::vector<Demand> BalancedLayout(const Geometry& geometry) {
  std::vector<std::pair<unsigned, unsigned>> parts = {{1, 2}, {2, 1}};
  if (geometry.compute_slices() >= 7) {
    parts.emplace_back(3, 1);
  }
  std::vector<Demand> layout;
  for (const auto& [slices, count] : parts) {
    if (const device::MigProfile* profile = PlainProfile(geometry, slices)) {
      layout.push_back({.kind = {.profile = profile->name}, .count = count});
    }
  }
  return layout;
}

StatusOr<bool> IsFeasibleWhenIdle(GpuState gpu, const Goal& goal) {
  gpu.may_change = true;
  for (Instance& instance : gpu.instances) {
    instance.use = Use::kIdle;
  }
  ASSIGN_OR_RETURN(const Plan plan, PlanLayout(gpu, goal.layout));
  return plan.is_feasible;
}

std::vector<std::string> ProfileNamesOf(std::span<const HostGpu> gpus) {
  std::vector<std::string> names;
  for (const HostGpu& gpu : gpus) {
    if (gpu.geometry == nullptr) {
      continue;
    }
    for (const device::MigProfile& profile : gpu.geometry->profiles()) {
      if (std::ranges::find(names, profile.name) == names.end()) {
        names.push_back(profile.name);
      }
    }
  }
  return names;
}

}  // namespace

StatusOr<std::vector<NamedConfig>> ParseConfigs(std::string_view text, std::string_view file) {
  ASSIGN_OR_RETURN(const doc::Format format, doc::FormatOfPath(file));
  doc::Limits limits;
  limits.bytes = kMaxConfigBytes;
  ASSIGN_OR_RETURN(const doc::Located document, doc::ParseLocated(text, format, file, limits));
  const json::object* root = document.root.if_object();
  if (root == nullptr) {
    return InvalidArgument("{}: must be a map with version and mig-configs", file);
  }
  RETURN_IF_ERROR(CheckKeys(*root, std::string(file), {"version", "mig-configs"}));
  const json::value* version = root->if_contains("version");
  if (version == nullptr || !version->is_string() || View(version->get_string()) != "v1") {
    return InvalidArgument("{}: version: must be v1", file);
  }
  const json::value* map = root->if_contains("mig-configs");
  if (map == nullptr || !map->is_object() || map->get_object().size() > kMaxConfigs) {
    return InvalidArgument("{}: mig-configs: must be a map of at most {} configurations", file,
                           kMaxConfigs);
  }
  const auto index = static_cast<size_t>(root->find("mig-configs") - root->begin());
  const doc::Place& places = document.place.children.at(index);
  std::vector<NamedConfig> configs;
  for (const json::key_value_pair& pair : map->get_object()) {
    configs.push_back(ParseConfig(pair, places.children.at(configs.size()), file));
  }
  return configs;
}

std::vector<NamedConfig> GeneratedConfigs(std::span<const HostGpu> gpus) {
  std::vector<NamedConfig> configs;
  configs.push_back({.name = "all-disabled", .entries = {{.is_mig_enabled = false}}});
  configs.push_back({.name = "all-enabled", .entries = {{.is_mig_enabled = true}}});
  for (const std::string& profile : ProfileNamesOf(gpus)) {
    std::string name = "all-" + profile;
    std::ranges::replace(name, '+', '.');
    configs.push_back(ForModels(std::move(name), gpus, [&](const Geometry& geometry) {
      const auto index = geometry.Find(profile);
      return index ? std::vector<Demand>{{.kind = {.profile = profile},
                                          .count = geometry.profiles()[*index].max_instances}}
                   : std::vector<Demand>();
    }));
  }
  configs.push_back(ForModels("all-balanced", gpus, BalancedLayout));
  return configs;
}

StatusOr<NamedConfig> SelectConfig(const std::vector<NamedConfig>& configs, std::string_view name) {
  std::vector<std::string_view> names;
  for (const NamedConfig& config : configs) {
    if (config.name == name) {
      return config.problem.empty() ? StatusOr<NamedConfig>(config)
                                    : InvalidArgument("{}", config.problem);
    }
    names.push_back(config.name);
  }
  const std::string meant = DidYouMean(Suggest(name, names));
  return NotFound("no MIG configuration \"{}\": {}", Printable(name, 60),
                  meant.empty() ? fmt::format("there are {}", fmt::join(names, ", ")) : meant);
}

std::vector<unsigned> IndexesWithoutGpu(const NamedConfig& config, std::span<const HostGpu> gpus) {
  std::set<unsigned> indexes;
  for (const ConfigEntry& entry : config.entries) {
    for (const unsigned index : entry.devices.value_or(std::vector<unsigned>())) {
      if (std::ranges::find(gpus, index, &HostGpu::index) == gpus.end()) {
        indexes.insert(index);
      }
    }
  }
  return {indexes.begin(), indexes.end()};
}

StatusOr<std::vector<Goal>> GoalsOf(const NamedConfig& config, std::span<const HostGpu> gpus) {
  std::map<size_t, Goal> goals;
  for (const ConfigEntry& entry : config.entries) {
    for (size_t i = 0; i < gpus.size(); ++i) {
      if (!IsAbout(entry, gpus[i])) {
        continue;
      }
      if (gpus[i].geometry == nullptr) {
        if (entry.devices && entry.is_mig_enabled) {
          return FailedPrecondition("MIG configuration \"{}\": GPU {} ({}) has no MIG", config.name,
                                    gpus[i].index, gpus[i].name);
        }
        continue;
      }
      goals[i] = {.gpu = i, .is_mig_enabled = entry.is_mig_enabled, .layout = entry.layout};
    }
  }
  std::vector<Goal> list;
  list.reserve(goals.size());
  for (auto& [index, goal] : goals) {
    list.push_back(std::move(goal));
  }
  return list;
}

StatusOr<Plan> PlanGoals(std::span<const GpuState> gpus, const std::vector<Goal>& goals,
                         Busy busy) {
  Plan all{.is_feasible = true};
  for (const Goal& goal : goals) {
    const GpuState& gpu = gpus[goal.gpu];
    if (!goal.is_mig_enabled && !gpu.is_mig_enabled) {
      if (gpu.is_mode_pending) {
        all.changes.push_back({.gpu = goal.gpu, .disables_mig = true, .keeps_mode = true});
      }
      continue;
    }
    ASSIGN_OR_RETURN(Plan plan, PlanLayout(gpu, goal.layout));
    if (!plan.is_feasible) {
      ASSIGN_OR_RETURN(const bool may_wait, IsFeasibleWhenIdle(gpu, goal));
      if (busy == Busy::kRefuse || !may_wait) {
        return plan;
      }
      all.waiting.push_back(plan.reason);
      all.waiting_gpus.push_back(goal.gpu);
      continue;
    }
    all.evicted += plan.evicted;
    all.destroyed += plan.destroyed;
    if (!goal.is_mig_enabled && plan.changes.empty()) {
      plan.changes.emplace_back();
    }
    for (GpuChange& change : plan.changes) {
      change.gpu = goal.gpu;
      change.disables_mig = !goal.is_mig_enabled;
      change.keeps_mode = change.keeps_mode && goal.is_mig_enabled;
      all.changes.push_back(std::move(change));
    }
  }
  return all;
}

}  // namespace kgpu::mig
