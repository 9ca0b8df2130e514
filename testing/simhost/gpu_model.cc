#include <algorithm>
#include <array>
#include <utility>

#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"
#include "testing/simhost/profile.h"
#include "testing/simhost/yaml_tree.h"

namespace kgpu::simhost {
namespace {

constexpr std::array<std::pair<std::string_view, Feature>, 14> kFeatureWords = {{
    {"ecc", Feature::kEcc},
    {"power", Feature::kPower},
    {"power-limits", Feature::kPowerLimits},
    {"fan", Feature::kFan},
    {"utilization", Feature::kUtilization},
    {"serial", Feature::kSerial},
    {"encoder", Feature::kEncoder},
    {"remapped-rows", Feature::kRemappedRows},
    {"energy", Feature::kEnergy},
    {"throttle", Feature::kThrottle},
    {"clocks", Feature::kClocks},
    {"bar1", Feature::kBar1},
    {"pcie-throughput", Feature::kPcieThroughput},
    {"memory-temperature", Feature::kMemoryTemperature},
}};

// Nested maps have readers of their own; `read` gets one for the map below `name`.
template <typename Read>
void ReadMap(YamlMapReader& parent, std::string_view file, std::string_view name, bool is_required,
             Read read) {
  const YamlValue* map = parent.Child(name, YamlValue::Kind::kMap, is_required);
  if (map == nullptr) {
    return;
  }
  YamlMapReader reader(*map, file, parent.PathOf(name));
  read(reader);
  parent.Adopt(reader.Finish());
}

void ReadPci(YamlMapReader& reader, GpuModel& model) {
  reader.Number("device", 1, 0xffff, model.pci_device);
  reader.OptionalNumber("subsystem_vendor", 1, 0xffff, model.pci_subsystem_vendor);
  reader.Number("subsystem_device", 0, 0xffff, model.pci_subsystem_device);
  reader.OptionalFlag("vga", model.is_vga);
  reader.Number("generation", 1, 6, model.pcie_generation);
  reader.Number("width", 1, 32, model.pcie_width);
}

void ReadMissing(YamlMapReader& reader, const YamlValue& top, GpuModel& model) {
  std::vector<std::string> words;
  reader.OptionalTexts("missing", words);
  for (const std::string& word : words) {
    const auto found =
        std::ranges::find(kFeatureWords, word, &std::pair<std::string_view, Feature>::first);
    if (found == kFeatureWords.end()) {
      std::vector<std::string_view> known;
      known.reserve(kFeatureWords.size());
      for (const auto& [text, feature] : kFeatureWords) {
        known.push_back(text);
      }
      reader.Fail(top, "missing",
                  fmt::format("unknown feature \"{}\"; known features are {}", Printable(word, 60),
                              fmt::join(known, ", ")));
      return;
    }
    model.missing.push_back(found->second);
  }
}

// "[0, 2, 4]" as memory slices.
void ReadStarts(YamlMapReader& reader, MigProfile& profile) {
  const YamlValue* list = reader.Child("starts", YamlValue::Kind::kList, true);
  if (list == nullptr) {
    return;
  }
  for (const YamlValue& item : list->items) {
    const auto start = ParseUint(item.scalar);
    if (item.kind != YamlValue::Kind::kScalar || !start || *start > 7) {
      reader.Fail(item, "starts", "must be memory slices from 0 to 7");
      return;
    }
    profile.starts.push_back(static_cast<unsigned>(*start));
  }
  if (profile.starts.empty()) {
    reader.Fail(*list, "starts", "must name one memory slice or more");
  }
}

MigProfile ReadMigProfile(YamlMapReader& reader) {
  MigProfile profile;
  reader.Text("name", profile.name);
  reader.Number("nvml_index", 0, 17, profile.nvml_index);
  reader.Number("id", 0, 255, profile.id);
  reader.Number("compute_slices", 1, 8, profile.compute_slices);
  reader.Number("memory_slices", 1, 8, profile.memory_slices);
  ReadStarts(reader, profile);
  reader.Number("max", 1, 8, profile.max_instances);
  reader.Number("multiprocessors", 1, 1024, profile.multiprocessors);
  reader.Number("copy_engines", 0, 64, profile.copy_engines);
  reader.Number("decoders", 0, 64, profile.decoders);
  reader.Number("jpeg", 0, 64, profile.jpeg_engines);
  reader.Number("ofa", 0, 64, profile.ofa_engines);
  reader.Number("memory_mib", 1, 1u << 20, profile.memory_mib);
  return profile;
}

void ReadMig(YamlMapReader& reader, std::string_view file, GpuModel& model) {
  reader.OptionalFlag("needs_reset", model.needs_reset_for_mig);
  const YamlValue* list = reader.Child("profiles", YamlValue::Kind::kList, true);
  if (list == nullptr) {
    return;
  }
  for (size_t i = 0; i < list->items.size(); ++i) {
    YamlMapReader row(list->items[i], file, fmt::format("mig.profiles[{}]", i));
    MigProfile profile = ReadMigProfile(row);
    reader.Adopt(row.Finish());
    if (model.FindMigProfile(profile.name) != nullptr) {
      reader.Fail(list->items[i], "profiles",
                  fmt::format("duplicate \"{}\"; remove one", Printable(profile.name, 60)));
    }
    model.mig_profiles.push_back(std::move(profile));
  }
}

void ReadHardware(YamlMapReader& reader, std::string_view file, GpuModel& model) {
  reader.Number("memory_mib", 1, 1u << 24, model.memory_mib);
  reader.Number("bar1_mib", 1, 1u << 24, model.bar1_mib);
  reader.OptionalNumber("context_mib", 1, 1u << 16, model.context_mib);
  reader.Number("multiprocessors", 1, 1024, model.multiprocessors);
  reader.Number("cores", 1, 1u << 20, model.cores);
  reader.Number("bus_width_bits", 32, 1u << 15, model.bus_width_bits);
  ReadMap(reader, file, "clocks_mhz", true, [&model](YamlMapReader& clocks) {
    clocks.Number("graphics", 1, 10'000, model.clocks.graphics);
    clocks.Number("memory", 1, 20'000, model.clocks.memory);
    clocks.Number("video", 1, 10'000, model.clocks.video);
  });
  ReadMap(reader, file, "power_watts", true, [&model](YamlMapReader& power) {
    power.Number("default", 1, 5000, model.power.default_watts);
    power.Number("least", 1, 5000, model.power.least_watts);
    power.Number("most", 1, 5000, model.power.most_watts);
  });
  ReadMap(reader, file, "temperature_celsius", true, [&model](YamlMapReader& temperature) {
    temperature.Number("slowdown", 1, 150, model.slowdown_celsius);
    temperature.Number("shutdown", 1, 150, model.shutdown_celsius);
  });
  ReadMap(reader, file, "nvlink", false, [&model](YamlMapReader& nvlink) {
    nvlink.Number("links", 1, 18, model.nvlinks);
    nvlink.Number("version", 1, 8, model.nvlink_version);
  });
}

}  // namespace

const MigProfile* GpuModel::FindMigProfile(std::string_view profile_name) const {
  const auto found = std::ranges::find(mig_profiles, profile_name, &MigProfile::name);
  return found == mig_profiles.end() ? nullptr : &*found;
}

bool GpuModel::Lacks(Feature feature) const {
  return std::ranges::find(missing, feature) != missing.end();
}

StatusOr<GpuModel> ParseGpuModel(std::string_view text, std::string_view id) {
  const std::string file = fmt::format("models/{}.yaml", Printable(id, 60));
  ASSIGN_OR_RETURN(const YamlValue top, ParseYaml(text, file));
  GpuModel model;
  model.id = id;
  YamlMapReader reader(top, file, "");
  reader.Text("name", model.name);
  reader.Text("brand", model.brand);
  reader.Text("architecture", model.architecture);
  ReadMap(reader, file, "compute", true, [&model](YamlMapReader& compute) {
    compute.Number("major", 1, 99, model.compute_major);
    compute.Number("minor", 0, 9, model.compute_minor);
  });
  ReadMap(reader, file, "pci", true, [&model](YamlMapReader& pci) { ReadPci(pci, model); });
  ReadHardware(reader, file, model);
  reader.Text("vbios", model.vbios);
  reader.Text("part_number", model.part_number);
  ReadMissing(reader, top, model);
  ReadMap(reader, file, "mig", false, [&](YamlMapReader& mig) { ReadMig(mig, file, model); });
  RETURN_IF_ERROR(reader.Finish());
  return model;
}

}  // namespace kgpu::simhost
