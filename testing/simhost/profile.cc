#include "testing/simhost/profile.h"

#include <algorithm>
#include <set>

#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"
#include "src/platform/base/suggest.h"
#include "testing/simhost/yaml_tree.h"

namespace kgpu::simhost {
namespace {

constexpr size_t kMaxGpus = 64;

// State shared by the readers of one profile.
struct Context {
  std::string_view file;
  const ModelSource& models;
};

void ReadPciAddress(YamlMapReader& reader, device::PciBusId& out, const YamlValue& map) {
  std::string text;
  reader.Text("pci", text);
  if (!reader.ok()) {
    return;
  }
  StatusOr<device::PciBusId> address = device::PciBusId::Parse(text);
  if (!address.ok()) {
    reader.Fail(map, "pci", Message(address.status()));
    return;
  }
  out = *address;
}

void ReadDriver(YamlMapReader& reader, const YamlValue& map, ProfileDriver& driver) {
  reader.Text("version", driver.version);
  if (reader.ok() && !IsDriverVersion(driver.version)) {
    reader.Fail(map, "version",
                fmt::format("\"{}\" must be a driver version such as 535.104.05",
                            Printable(driver.version, 60)));
  }
  reader.Number("cuda_major", 1, 99, driver.cuda_major);
  reader.Number("cuda_minor", 0, 9, driver.cuda_minor);
  reader.OptionalFlag("open", driver.is_open);
}

// Loads the model that a GPU names, unless an earlier GPU did.
void ResolveModel(const Context& context, YamlMapReader& reader, const YamlValue& map,
                  const std::string& id, Profile& profile) {
  if (!reader.ok() || profile.models.contains(id)) {
    return;
  }
  const StatusOr<std::string> text = context.models(id);
  if (!text.ok()) {
    reader.Fail(map, "model", Message(text.status()));
    return;
  }
  StatusOr<GpuModel> model = ParseGpuModel(*text, id);
  if (!model.ok()) {
    reader.Adopt(model.status());
    return;
  }
  profile.models.emplace(id, *std::move(model));
}

void ReadMigNames(YamlMapReader& reader, const YamlValue& map, const Profile& profile,
                  ProfileGpu& gpu) {
  if (reader.Child("mig", YamlValue::Kind::kList, false) == nullptr) {
    return;
  }
  std::vector<std::string> names;
  reader.OptionalTexts("mig", names);
  if (!reader.ok()) {
    return;
  }
  const GpuModel& model = profile.models.at(gpu.model);
  for (const std::string& name : names) {
    if (model.FindMigProfile(name) == nullptr) {
      reader.Fail(map, "mig",
                  fmt::format("\"{}\" is not a MIG profile of {}", Printable(name, 60), gpu.model));
      return;
    }
  }
  gpu.mig = std::move(names);
}

void ReadOptional(YamlMapReader& reader, std::string_view name, std::optional<unsigned>& out) {
  constexpr unsigned kNone = 1000;
  unsigned value = kNone;
  reader.OptionalNumber(name, 0, kNone - 1, value);
  if (value != kNone) {
    out = value;
  }
}

ProfileGpu ReadGpu(const Context& context, YamlMapReader& reader, const YamlValue& map,
                   Profile& profile) {
  ProfileGpu gpu;
  reader.Text("model", gpu.model);
  ResolveModel(context, reader, map, gpu.model, profile);
  ReadPciAddress(reader, gpu.pci, map);
  reader.OptionalNumber("numa", 0, 63, gpu.numa_node);
  if (reader.ok() && gpu.numa_node >= profile.numa_cpu_lists.size()) {
    reader.Fail(map, "numa",
                fmt::format("{} must be below the {} nodes of numa_cpus", gpu.numa_node,
                            profile.numa_cpu_lists.size()));
  }
  ReadOptional(reader, "switch", gpu.pcie_switch);
  ReadOptional(reader, "board", gpu.board);
  ReadMigNames(reader, map, profile, gpu);
  return gpu;
}

void ReadGpus(const Context& context, YamlMapReader& top, Profile& profile) {
  const YamlValue* list = top.Child("gpus", YamlValue::Kind::kList, true);
  if (list == nullptr) {
    return;
  }
  if (list->items.size() > kMaxGpus) {
    top.Fail(*list, "gpus",
             fmt::format("{} GPUs exceed the limit of {}", list->items.size(), kMaxGpus));
    return;
  }
  for (size_t i = 0; i < list->items.size() && top.ok(); ++i) {
    const YamlValue& item = list->items[i];
    YamlMapReader reader(item, context.file, fmt::format("gpus[{}]", i));
    profile.gpus.push_back(ReadGpu(context, reader, item, profile));
    top.Adopt(reader.Finish());
  }
}

void ReadSwitches(const Context& context, YamlMapReader& top, Profile& profile) {
  const YamlValue* list = top.Child("nvswitches", YamlValue::Kind::kList, false);
  if (list == nullptr) {
    return;
  }
  for (size_t i = 0; i < list->items.size() && i < kMaxGpus; ++i) {
    YamlMapReader reader(list->items[i], context.file, fmt::format("nvswitches[{}]", i));
    ProfileSwitch nvswitch;
    ReadPciAddress(reader, nvswitch.pci, list->items[i]);
    reader.Number("device", 1, 0xffff, nvswitch.pci_device);
    profile.nvswitches.push_back(nvswitch);
    top.Adopt(reader.Finish());
  }
}

void CheckAddresses(YamlMapReader& top, const YamlValue& map, const Profile& profile) {
  std::set<device::PciBusId> seen;
  const auto check = [&](std::string_view field, const device::PciBusId& pci) {
    if (top.ok() && !seen.insert(pci).second) {
      top.Fail(map, field, fmt::format("duplicate PCI address {}; change one", pci.str()));
    }
  };
  for (const ProfileGpu& gpu : profile.gpus) {
    check("gpus", gpu.pci);
  }
  for (const ProfileSwitch& nvswitch : profile.nvswitches) {
    check("nvswitches", nvswitch.pci);
  }
}

}  // namespace

bool IsDriverVersion(std::string_view text) {
  const std::vector<std::string_view> parts = Split(text, '.');
  const auto is_number = [](std::string_view part) {
    return part.size() <= 4 && ParseUint(part).has_value();
  };
  return parts.size() >= 2 && parts.size() <= 4 && std::ranges::all_of(parts, is_number);
}

StatusOr<Profile> ParseProfile(std::string_view text, std::string_view file,
                               const ModelSource& models) {
  ASSIGN_OR_RETURN(const YamlValue map, ParseYaml(text, file));
  const Context context{file, models};
  Profile profile;
  YamlMapReader top(map, file, "");
  top.Text("name", profile.name);
  top.Text("description", profile.description);
  if (const YamlValue* driver = top.Child("driver", YamlValue::Kind::kMap, false);
      driver != nullptr) {
    YamlMapReader reader(*driver, file, "driver");
    ReadDriver(reader, *driver, profile.driver);
    top.Adopt(reader.Finish());
  }
  top.Text("kernel", profile.kernel_release);
  if (profile.kernel_release.starts_with('.') ||
      profile.kernel_release.find('/') != std::string::npos) {  // a folder of /lib/modules
    top.Fail(map, "kernel", "must be a kernel release as printed by uname -r");
  }
  top.OptionalTexts("numa_cpus", profile.numa_cpu_lists);
  if (profile.numa_cpu_lists.empty()) {
    profile.numa_cpu_lists.emplace_back("0-7");
  }
  size_t fabric = 0;
  top.Choice("nvlink", {"none", "direct", "switched"}, fabric);
  profile.nvlink = static_cast<NvLinkFabric>(fabric);
  ReadSwitches(context, top, profile);
  ReadGpus(context, top, profile);
  CheckAddresses(top, map, profile);
  RETURN_IF_ERROR(top.Finish());
  return profile;
}

StatusOr<std::string> BuiltinModelText(std::string_view id) {
  const auto& models = BuiltinModels();
  if (const auto found = models.find(id); found != models.end()) {
    return std::string(found->second);
  }
  std::vector<std::string_view> names;
  names.reserve(models.size());
  for (const auto& [name, text] : models) {
    names.push_back(name);
  }
  if (const std::string meant = DidYouMean(Suggest(id, names), "\""); !meant.empty()) {
    return NotFound("unknown GPU model \"{}\"; {}", Printable(id, 60), meant);
  }
  return NotFound("unknown GPU model \"{}\"; known models are {}", Printable(id, 60),
                  fmt::join(names, ", "));
}

}  // namespace kgpu::simhost
