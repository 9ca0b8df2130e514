// The table of MIG profiles. Source: NVIDIA's MIG user guide, "Supported MIG profiles"; sizes,
// starts, ids and memory as captured from `nvidia-smi mig -lgip` and `-lgipp` on hardware.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>

#include "src/gpu/device/mig.h"
#include "src/gpu/device/model.h"
#include "src/platform/base/strings.h"

namespace kgpu::device {
namespace {

// A kind of instance by its slices, the same for several models.
struct Shape {
  unsigned nvml_profile;
  unsigned profile_id;
  unsigned slices;
  unsigned memory_slices;
  unsigned max_instances;
  unsigned start_step;  // starts are 0, step, 2·step … up to last_start
  unsigned last_start;
};

constexpr Shape k7G{4, 0, 7, 8, 1, 1, 0};
constexpr Shape k4G{3, 5, 4, 4, 1, 1, 0};
constexpr Shape k3G{2, 9, 3, 4, 2, 4, 4};
constexpr Shape k2G{1, 14, 2, 2, 3, 2, 4};
constexpr Shape k1GDouble{9, 15, 1, 2, 4, 2, 6};
constexpr Shape k1G{0, 19, 1, 1, 7, 1, 6};
constexpr Shape k1GMedia{7, 20, 1, 1, 1, 1, 6};
// The A30 and the RTX PRO 6000 have four slices.
constexpr Shape kQuad4G{3, 0, 4, 4, 1, 1, 0};
constexpr Shape kQuad2G{1, 5, 2, 2, 2, 2, 2};
constexpr Shape kQuad2GMedia{8, 6, 2, 2, 1, 2, 2};
constexpr Shape kQuad1G{0, 14, 1, 1, 4, 1, 3};
constexpr Shape kQuad1GMedia{7, 21, 1, 1, 1, 1, 3};
// With graphics, with all media engines, without any.
constexpr Shape kQuad4GGraphics{12, 32, 4, 4, 1, 1, 0};
constexpr Shape kQuad2GGraphics{11, 35, 2, 2, 2, 2, 2};
constexpr Shape kQuad1GGraphics{10, 47, 1, 1, 4, 1, 3};
constexpr Shape kQuad2GAllMedia{16, 64, 2, 2, 1, 2, 2};
constexpr Shape kQuad1GAllMedia{15, 65, 1, 1, 1, 1, 3};
constexpr Shape kQuad2GNoMedia{14, 66, 2, 2, 2, 2, 2};
constexpr Shape kQuad1GNoMedia{13, 67, 1, 1, 4, 1, 3};

// Engines of an instance. Those of all instances together are at most those of the whole GPU's.
struct Engines {
  unsigned copy;
  unsigned decoders;
  unsigned jpegs;
  unsigned ofas;
  unsigned encoders = 0;
};

struct Row {
  const Shape* shape;
  std::string_view name;
  unsigned multiprocessors;  // 0: not known
  Engines engines;
  unsigned memory_mib;  // 0: not known
};

constexpr std::array kA100With40 = {Row{&k7G, "7g.40gb", 98, {7, 5, 1, 1}, 40192},
                                    Row{&k4G, "4g.20gb", 56, {4, 2, 0, 0}, 19968},
                                    Row{&k3G, "3g.20gb", 42, {3, 2, 0, 0}, 19968},
                                    Row{&k2G, "2g.10gb", 28, {2, 1, 0, 0}, 9856},
                                    Row{&k1GDouble, "1g.10gb", 14, {1, 1, 0, 0}, 9856},
                                    Row{&k1G, "1g.5gb", 14, {1, 0, 0, 0}, 4864},
                                    Row{&k1GMedia, "1g.5gb+me", 14, {1, 1, 1, 1}, 4864}};
constexpr std::array kA100With80 = {Row{&k7G, "7g.80gb", 98, {7, 5, 1, 1}, 80384},
                                    Row{&k4G, "4g.40gb", 56, {4, 2, 0, 0}, 40192},
                                    Row{&k3G, "3g.40gb", 42, {3, 2, 0, 0}, 40192},
                                    Row{&k2G, "2g.20gb", 28, {2, 1, 0, 0}, 19968},
                                    Row{&k1GDouble, "1g.20gb", 14, {1, 1, 0, 0}, 19968},
                                    Row{&k1G, "1g.10gb", 14, {1, 0, 0, 0}, 9856},
                                    Row{&k1GMedia, "1g.10gb+me", 14, {1, 1, 1, 1}, 9856}};
constexpr std::array kA30 = {Row{&kQuad4G, "4g.24gb", 56, {4, 4, 1, 1}, 24000},
                             Row{&kQuad2G, "2g.12gb", 28, {2, 2, 0, 0}, 11968},
                             Row{&kQuad2GMedia, "2g.12gb+me", 28, {2, 2, 1, 1}, 11968},
                             Row{&kQuad1G, "1g.6gb", 14, {1, 0, 0, 0}, 5952},
                             Row{&kQuad1GMedia, "1g.6gb+me", 14, {1, 1, 1, 1}, 5952}};
constexpr std::array kH100With80 = {Row{&k7G, "7g.80gb", 132, {8, 7, 7, 1}, 81152},
                                    Row{&k4G, "4g.40gb", 64, {4, 4, 4, 0}, 40448},
                                    Row{&k3G, "3g.40gb", 60, {3, 3, 3, 0}, 40448},
                                    Row{&k2G, "2g.20gb", 32, {2, 2, 2, 0}, 20096},
                                    Row{&k1GDouble, "1g.20gb", 26, {1, 1, 1, 0}, 20096},
                                    Row{&k1G, "1g.10gb", 16, {1, 1, 1, 0}, 9984},
                                    Row{&k1GMedia, "1g.10gb+me", 16, {1, 1, 1, 1}, 9984}};
constexpr std::array kH200With141 = {Row{&k7G, "7g.141gb", 132, {8, 7, 7, 1}, 143400},
                                     Row{&k4G, "4g.71gb", 64, {4, 4, 4, 0}, 71500},
                                     Row{&k3G, "3g.71gb", 60, {3, 3, 3, 0}, 71500},
                                     Row{&k2G, "2g.35gb", 32, {2, 2, 2, 0}, 33280},
                                     Row{&k1GDouble, "1g.35gb", 26, {1, 1, 1, 0}, 33280},
                                     Row{&k1G, "1g.18gb", 16, {1, 1, 1, 0}, 16384},
                                     Row{&k1GMedia, "1g.18gb+me", 16, {1, 1, 1, 1}, 16384}};
constexpr std::array kB200With180 = {Row{&k7G, "7g.180gb", 148, {16, 7, 7, 1}, 182784},
                                     Row{&k4G, "4g.90gb", 72, {8, 4, 4, 0}, 91136},
                                     Row{&k3G, "3g.90gb", 70, {6, 3, 3, 0}, 91136},
                                     Row{&k2G, "2g.45gb", 36, {4, 2, 2, 0}, 45312},
                                     Row{&k1GDouble, "1g.45gb", 30, {2, 1, 1, 0}, 45312},
                                     Row{&k1G, "1g.23gb", 18, {2, 1, 1, 0}, 20992},
                                     Row{&k1GMedia, "1g.23gb+me", 18, {2, 1, 1, 1}, 20992}};
constexpr std::array kRtxPro6000 = {
    Row{&kQuad4G, "4g.96gb", 188, {4, 4, 4, 1, 4}, 97280},
    Row{&kQuad2G, "2g.48gb", 94, {2, 2, 2, 0, 2}, 48512},
    Row{&kQuad1G, "1g.24gb", 46, {1, 1, 1, 0, 1}, 24192},
    Row{&kQuad1GMedia, "1g.24gb+me", 46, {1, 1, 1, 1, 1}, 24192},
    Row{&kQuad4GGraphics, "4g.96gb+gfx", 188, {4, 4, 4, 1, 4}, 97280},
    Row{&kQuad2GGraphics, "2g.48gb+gfx", 94, {2, 2, 2, 0, 2}, 48512},
    Row{&kQuad1GGraphics, "1g.24gb+gfx", 46, {1, 1, 1, 0, 1}, 24192},
    Row{&kQuad2GAllMedia, "2g.48gb+me.all", 94, {2, 4, 4, 1, 4}, 48512},
    Row{&kQuad1GAllMedia, "1g.24gb+me.all", 46, {1, 4, 4, 1, 4}, 24192},
    Row{&kQuad2GNoMedia, "2g.48gb-me", 94, {2, 0, 0, 0, 0}, 48512},
    Row{&kQuad1GNoMedia, "1g.24gb-me", 46, {1, 0, 0, 0, 0}, 24192}};

struct Model {
  std::string_view name;
  std::array<uint16_t, 4> pci_device_ids;  // 0: unused
  std::span<const Row> rows;
  bool needs_reset = false;
};

constexpr std::array kMigModels = {
    Model{"A100-40GB", {0x20b0, 0x20b1, 0x20f1, 0x20f6}, kA100With40, true},
    Model{"A100-80GB", {0x20b2, 0x20b5, 0x20f3, 0x20f5}, kA100With80, true},
    Model{"A30-24GB", {0x20b7, 0, 0, 0}, kA30, true},
    Model{"H100-80GB", {0x2330, 0x2331, 0x2322, 0x2324}, kH100With80},
    Model{"H200-141GB", {0x2335, 0x233b, 0, 0}, kH200With141},
    Model{"B200-180GB", {0x2901, 0, 0, 0}, kB200With180},
    Model{"RTX-PRO-6000-96GB", {0x2bb5, 0, 0, 0}, kRtxPro6000},
};

// Models of which only the names are captured. Engines are those of the same chip's other models.
struct NamesOnly {
  std::string_view name;
  std::array<uint16_t, 4> pci_device_ids;
  std::array<unsigned, 6> gigabytes;  // 7g 4g 3g 2g 1g-double 1g
  std::span<const Row> same_chip;
};
constexpr std::array kNamesOnly = {
    NamesOnly{"H100-NVL-94GB", {0x2321, 0x233a, 0, 0}, {94, 47, 47, 24, 24, 12}, kH100With80},
    NamesOnly{
        "GH200-96GB", {0x2342, 0x233d, 0x20b6, 0x2329}, {96, 48, 48, 24, 24, 12}, kH100With80},
    NamesOnly{"GH200-144GB", {0x2348, 0, 0, 0}, {144, 72, 72, 36, 36, 18}, kH200With141},
    NamesOnly{"GB200-186GB", {0x2941, 0, 0, 0}, {186, 93, 93, 47, 47, 23}, kB200With180},
    NamesOnly{"B300-269GB", {0x3182, 0, 0, 0}, {269, 135, 135, 67, 67, 34}, kB200With180},
    NamesOnly{"GB300-278GB", {0x31c2, 0, 0, 0}, {278, 139, 139, 70, 70, 35}, kB200With180},
};

bool Lists(const std::array<uint16_t, 4>& ids, uint16_t id) {
  return id != 0 && std::ranges::find(ids, id) != ids.end();
}

MigProfile ProfileOf(const Row& row) {
  const Shape& shape = *row.shape;
  MigProfile profile;
  profile.name = std::string(row.name);
  profile.nvml_profile = shape.nvml_profile;
  profile.profile_id = shape.profile_id;
  profile.slices = shape.slices;
  profile.memory_slices = shape.memory_slices;
  profile.max_instances = shape.max_instances;
  for (unsigned start = 0; start <= shape.last_start; start += shape.start_step) {
    profile.starts.push_back(start);
  }
  profile.multiprocessors = row.multiprocessors;
  profile.copy_engines = row.engines.copy;
  profile.decoders = row.engines.decoders;
  profile.encoders = row.engines.encoders;
  profile.jpegs = row.engines.jpegs;
  profile.ofas = row.engines.ofas;
  profile.memory = MebiBytes(row.memory_mib);
  return profile;
}

std::vector<MigProfile> ProfilesOfRows(std::span<const Row> rows) {
  std::vector<MigProfile> profiles;
  profiles.reserve(rows.size());
  for (const Row& row : rows) {
    profiles.push_back(ProfileOf(row));
  }
  return profiles;
}

std::vector<MigProfile> NamedProfiles(const NamesOnly& model) {
  std::vector<MigProfile> profiles = ProfilesOfRows(model.same_chip);
  for (size_t i = 0; i < profiles.size(); ++i) {
    // The last row is 1g with media extensions, as large as the row before.
    const bool is_media = i >= model.gigabytes.size();
    MigProfile& profile = profiles[i];
    profile.name = fmt::format("{}g.{}gb{}", profile.slices,
                               is_media ? model.gigabytes.back() : model.gigabytes.at(i),
                               is_media ? "+me" : "");
    profile.multiprocessors = 0;
    profile.memory = Bytes{};
  }
  return profiles;
}

MigModel ModelOf(std::string_view name, const std::array<uint16_t, 4>& ids, bool needs_reset) {
  MigModel model{.name = std::string(name), .pci_device_ids = {}, .needs_reset = needs_reset};
  std::ranges::copy_if(ids, std::back_inserter(model.pci_device_ids),
                       [](uint16_t id) { return id != 0; });
  return model;
}

// "NVIDIA A100 SXM4-80GB" → "a100-sxm4-80".
std::string ComparableName(std::string_view text) {
  constexpr std::string_view kMaker = "nvidia-";
  std::string name = ToLower(Trim(text));
  const auto separates = [](char c) { return c == ' ' || c == '_'; };
  std::ranges::replace_if(name, separates, '-');
  if (name.starts_with(kMaker)) {
    name.erase(0, kMaker.size());
  }
  if (name.ends_with("gb")) {
    name.resize(name.size() - 2);
  }
  return name;
}

// Whether `wanted` is `name`, or the beginning of it up to a dash: "h100" of "h100-sxm5-80".
bool IsBeginningOf(std::string_view wanted, std::string_view name) {
  return !wanted.empty() && name.starts_with(wanted) &&
         (name.size() == wanted.size() || name[wanted.size()] == '-');
}

enum class Likeness { kNone, kBeginning, kSame };

Likeness LikenessOf(std::string_view wanted, const MigModel& model) {
  Likeness best = Likeness::kNone;
  std::vector<std::string> names = {ComparableName(model.name)};
  for (const uint16_t id : model.pci_device_ids) {
    names.push_back(ComparableName(ModelId("", id)));
    names.push_back(fmt::format("0x{:04x}", id));
    names.push_back(fmt::format("0x{:04x}10de", id));
  }
  for (const std::string& name : names) {
    if (name == wanted) {
      return Likeness::kSame;
    }
    if (IsBeginningOf(wanted, name)) {
      best = Likeness::kBeginning;
    }
  }
  return best;
}

bool HasProfiles(const MigModel& model, const std::vector<std::string>& names) {
  const std::vector<MigProfile> profiles = MigProfiles(model.pci_device_ids.front());
  return std::ranges::all_of(names, [&](const std::string& name) {
    return std::ranges::find(profiles, name, &MigProfile::name) != profiles.end();
  });
}

std::string NamesOf(const std::vector<MigModel>& models) {
  std::vector<std::string> names;
  names.reserve(models.size());
  for (const MigModel& model : models) {
    names.push_back(model.name);
  }
  return Join(names, ", ");
}

}  // namespace

std::vector<MigProfile> MigProfiles(uint16_t pci_device_id) {
  std::vector<MigProfile> profiles;
  for (const Model& model : kMigModels) {
    if (Lists(model.pci_device_ids, pci_device_id)) {
      profiles = ProfilesOfRows(model.rows);
    }
  }
  for (const NamesOnly& model : kNamesOnly) {
    if (Lists(model.pci_device_ids, pci_device_id)) {
      profiles = NamedProfiles(model);
    }
  }
  std::ranges::stable_sort(profiles, [](const MigProfile& a, const MigProfile& b) {
    return a.memory_slices != b.memory_slices ? a.memory_slices > b.memory_slices
                                              : a.profile_id < b.profile_id;
  });
  return profiles;
}

std::vector<MigModel> MigModels() {
  std::vector<MigModel> models;
  models.reserve(kMigModels.size() + kNamesOnly.size());
  for (const Model& model : kMigModels) {
    models.push_back(ModelOf(model.name, model.pci_device_ids, model.needs_reset));
  }
  for (const NamesOnly& model : kNamesOnly) {
    models.push_back(ModelOf(model.name, model.pci_device_ids, false));
  }
  return models;
}

StatusOr<MigModel> FindMigModel(std::string_view text, const std::vector<std::string>& profiles) {
  const std::string wanted = ComparableName(text);
  const auto has_profiles = [&](const MigModel& model) { return HasProfiles(model, profiles); };
  std::vector<MigModel> alike;
  for (const MigModel& model : MigModels()) {
    const Likeness likeness = LikenessOf(wanted, model);
    if (likeness == Likeness::kSame) {
      return model;
    }
    if (likeness == Likeness::kBeginning) {
      alike.push_back(model);
    }
  }
  if (alike.size() > 1 && std::ranges::count_if(alike, has_profiles) == 1) {
    return *std::ranges::find_if(alike, has_profiles);
  }
  if (alike.size() == 1) {
    return alike.front();
  }
  if (alike.empty()) {
    return NotFound("\"{}\" is no model with MIG: use one of {}", Printable(text, 60),
                    NamesOf(MigModels()));
  }
  return InvalidArgument("\"{}\" may be {}: name one of them", Printable(text, 60), NamesOf(alike));
}

}  // namespace kgpu::device
