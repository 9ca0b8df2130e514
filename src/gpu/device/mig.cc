#include "src/gpu/device/mig.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>

#include "src/platform/base/ascii.h"
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
// The A30 and its kind have four slices.
constexpr Shape kQuad4G{3, 0, 4, 4, 1, 1, 0};
constexpr Shape kQuad2G{1, 5, 2, 2, 2, 2, 2};
constexpr Shape kQuad2GMedia{8, 6, 2, 2, 1, 2, 2};
constexpr Shape kQuad1G{0, 14, 1, 1, 4, 1, 3};
constexpr Shape kQuad1GMedia{7, 21, 1, 1, 1, 1, 3};

struct Row {
  const Shape* shape;
  std::string_view name;
  unsigned multiprocessors;
  unsigned copy_engines;
  unsigned decoders;
  unsigned jpegs;
  unsigned ofas;
  unsigned memory_mib;
};

constexpr std::array kA100With40 = {
    Row{&k7G, "7g.40gb", 98, 7, 5, 1, 1, 40192},      Row{&k4G, "4g.20gb", 56, 4, 2, 0, 0, 19968},
    Row{&k3G, "3g.20gb", 42, 3, 2, 0, 0, 19968},      Row{&k2G, "2g.10gb", 28, 2, 1, 0, 0, 9856},
    Row{&k1GDouble, "1g.10gb", 14, 1, 1, 0, 0, 9856}, Row{&k1G, "1g.5gb", 14, 1, 0, 0, 0, 4864},
    Row{&k1GMedia, "1g.5gb+me", 14, 1, 1, 1, 1, 4864}};
constexpr std::array kA100With80 = {
    Row{&k7G, "7g.80gb", 98, 7, 5, 1, 1, 80384},       Row{&k4G, "4g.40gb", 56, 4, 2, 0, 0, 40192},
    Row{&k3G, "3g.40gb", 42, 3, 2, 0, 0, 40192},       Row{&k2G, "2g.20gb", 28, 2, 1, 0, 0, 19968},
    Row{&k1GDouble, "1g.20gb", 14, 1, 1, 0, 0, 19968}, Row{&k1G, "1g.10gb", 14, 1, 0, 0, 0, 9856},
    Row{&k1GMedia, "1g.10gb+me", 14, 1, 1, 1, 1, 9856}};
constexpr std::array kA30 = {Row{&kQuad4G, "4g.24gb", 56, 4, 4, 1, 1, 24000},
                             Row{&kQuad2G, "2g.12gb", 28, 2, 2, 0, 0, 11968},
                             Row{&kQuad2GMedia, "2g.12gb+me", 28, 2, 2, 1, 1, 11968},
                             Row{&kQuad1G, "1g.6gb", 14, 1, 0, 0, 0, 5952},
                             Row{&kQuad1GMedia, "1g.6gb+me", 14, 1, 1, 1, 1, 5952}};
constexpr std::array kH100With80 = {
    Row{&k7G, "7g.80gb", 132, 8, 7, 7, 1, 81152},      Row{&k4G, "4g.40gb", 64, 4, 4, 4, 0, 40448},
    Row{&k3G, "3g.40gb", 60, 3, 3, 3, 0, 40448},       Row{&k2G, "2g.20gb", 32, 2, 2, 2, 0, 20096},
    Row{&k1GDouble, "1g.20gb", 26, 1, 1, 1, 0, 20096}, Row{&k1G, "1g.10gb", 16, 1, 1, 1, 0, 9984},
    Row{&k1GMedia, "1g.10gb+me", 16, 1, 1, 1, 1, 9984}};
constexpr std::array kH200With141 = {
    Row{&k7G, "7g.141gb", 132, 8, 7, 7, 1, 143400},     Row{&k4G, "4g.71gb", 64, 4, 4, 4, 0, 71500},
    Row{&k3G, "3g.71gb", 60, 3, 3, 3, 0, 71500},        Row{&k2G, "2g.35gb", 32, 2, 2, 2, 0, 33280},
    Row{&k1GDouble, "1g.35gb", 26, 1, 1, 1, 0, 33280},  Row{&k1G, "1g.18gb", 16, 1, 1, 1, 0, 16384},
    Row{&k1GMedia, "1g.18gb+me", 16, 1, 1, 1, 1, 16384}};
constexpr std::array kB200With180 = {
    Row{&k7G, "7g.180gb", 148, 16, 7, 7, 1, 182784},    Row{&k4G, "4g.90gb", 72, 8, 4, 4, 0, 91136},
    Row{&k3G, "3g.90gb", 70, 6, 3, 3, 0, 91136},        Row{&k2G, "2g.45gb", 36, 4, 2, 2, 0, 45312},
    Row{&k1GDouble, "1g.45gb", 30, 2, 1, 1, 0, 45312},  Row{&k1G, "1g.23gb", 18, 2, 1, 1, 0, 20992},
    Row{&k1GMedia, "1g.23gb+me", 18, 2, 1, 1, 1, 20992}};

struct Model {
  std::array<uint16_t, 4> pci_device_ids;  // 0: unused
  std::span<const Row> rows;
};

constexpr std::array kMigModels = {
    Model{{0x20b0, 0x20b1, 0x20f1, 0x20f6}, kA100With40},
    Model{{0x20b2, 0x20b5, 0x20f3, 0x20f5}, kA100With80},
    Model{{0x20b7, 0, 0, 0}, kA30},
    Model{{0x2330, 0x2331, 0x2322, 0x2324}, kH100With80},
    Model{{0x2335, 0x233b, 0, 0}, kH200With141},
    Model{{0x2901, 0, 0, 0}, kB200With180},
};

// Models of which only the names are known, the same order of shapes: 7g 4g 3g 2g 1g-double 1g.
struct NamesOnly {
  std::array<uint16_t, 4> pci_device_ids;
  std::array<unsigned, 6> gigabytes;
};
constexpr std::array kNamesOnly = {
    NamesOnly{{0x2321, 0x233a, 0, 0}, {94, 47, 47, 24, 24, 12}},
    NamesOnly{{0x2342, 0x233d, 0x20b6, 0x2329}, {96, 48, 48, 24, 24, 12}},
    NamesOnly{{0x2348, 0, 0, 0}, {144, 72, 72, 36, 36, 18}},
    NamesOnly{{0x2941, 0, 0, 0}, {186, 93, 93, 47, 47, 23}},
    NamesOnly{{0x3182, 0, 0, 0}, {269, 135, 135, 67, 67, 34}},
    NamesOnly{{0x31c2, 0, 0, 0}, {278, 139, 139, 70, 70, 35}},
};

bool Lists(const std::array<uint16_t, 4>& ids, uint16_t id) {
  return id != 0 && std::ranges::find(ids, id) != ids.end();
}

MigProfile ProfileOf(const Shape& shape, std::string name) {
  MigProfile profile;
  profile.name = std::move(name);
  profile.nvml_profile = shape.nvml_profile;
  profile.profile_id = shape.profile_id;
  profile.slices = shape.slices;
  profile.memory_slices = shape.memory_slices;
  profile.max_instances = shape.max_instances;
  for (unsigned start = 0; start <= shape.last_start; start += shape.start_step) {
    profile.starts.push_back(start);
  }
  return profile;
}

MigProfile ProfileOf(const Row& row) {
  MigProfile profile = ProfileOf(*row.shape, std::string(row.name));
  profile.multiprocessors = row.multiprocessors;
  profile.copy_engines = row.copy_engines;
  profile.decoders = row.decoders;
  profile.jpegs = row.jpegs;
  profile.ofas = row.ofas;
  profile.memory = MebiBytes(row.memory_mib);
  return profile;
}

std::vector<MigProfile> NamedProfiles(const NamesOnly& model) {
  constexpr std::array kShapes = {&k7G, &k4G, &k3G, &k2G, &k1GDouble, &k1G};
  std::vector<MigProfile> profiles;
  profiles.reserve(kShapes.size() + 1);
  for (size_t i = 0; i < kShapes.size(); ++i) {
    profiles.push_back(ProfileOf(
        *kShapes.at(i), fmt::format("{}g.{}gb", kShapes.at(i)->slices, model.gigabytes.at(i))));
  }
  MigProfile media = ProfileOf(k1GMedia, fmt::format("1g.{}gb+me", model.gigabytes.back()));
  profiles.push_back(std::move(media));
  return profiles;
}

// Takes "<digits><unit>" off the front.
bool TakeNumber(std::string_view* text, std::string_view unit) {
  const auto digits = static_cast<size_t>(std::ranges::find_if_not(*text, IsDigit) - text->begin());
  if (digits == 0 || digits > 4 || !text->substr(digits).starts_with(unit)) {
    return false;
  }
  text->remove_prefix(digits + unit.size());
  return true;
}

// Gigabytes in a profile's name: the instance's share of the GPU in eighths, of the GPU's memory
// rounded up to whole GiB.
unsigned NameGigabytes(Bytes memory, Bytes gpu_memory) {
  constexpr uint64_t kEighths = 8;
  const uint64_t total_gib = (gpu_memory.count + GibiBytes(1).count - 1) >> 30;
  const uint64_t total_mib = std::max<uint64_t>(gpu_memory.mebi(), 1);
  const uint64_t eighths =
      std::min((memory.mebi() * kEighths + total_mib - 1) / total_mib, kEighths);
  return static_cast<unsigned>((eighths * total_gib + kEighths / 2) / kEighths);
}

bool IsMediaProfile(const MigNaming& naming) {
  if (naming.profile_id) {
    return *naming.profile_id == k1GMedia.profile_id ||
           *naming.profile_id == kQuad1GMedia.profile_id ||
           *naming.profile_id == kQuad2GMedia.profile_id;
  }
  // Small instances have an optical-flow engine only in the profile with media extensions.
  return naming.ofa_engines > 0 && naming.gpu_instance_slices <= 2;
}

}  // namespace

std::vector<MigProfile> MigProfiles(uint16_t pci_device_id) {
  std::vector<MigProfile> profiles;
  for (const Model& model : kMigModels) {
    if (Lists(model.pci_device_ids, pci_device_id)) {
      for (const Row& row : model.rows) {
        profiles.push_back(ProfileOf(row));
      }
    }
  }
  for (const NamesOnly& model : kNamesOnly) {
    if (Lists(model.pci_device_ids, pci_device_id)) {
      profiles = NamedProfiles(model);
    }
  }
  return profiles;
}

bool IsMigProfileName(std::string_view text) {
  std::string_view rest = text;
  std::string_view behind_compute = rest;
  if (TakeNumber(&behind_compute, "c.")) {
    rest = behind_compute;
  }
  if (!TakeNumber(&rest, "g.") || !TakeNumber(&rest, "gb")) {
    return false;
  }
  // "+me", "+gfx", "+me.all", "-me".
  return rest.empty() || rest == "+me" || rest == "+gfx" || rest == "+me.all" || rest == "-me";
}

std::string MigProfileName(const MigNaming& naming) {
  constexpr std::string_view kMark = "MIG ";
  if (const size_t mark = naming.driver_name.rfind(kMark); mark != std::string_view::npos) {
    const std::string_view profile = Trim(naming.driver_name.substr(mark + kMark.size()));
    if (IsMigProfileName(profile)) {
      return std::string(profile);
    }
  }
  if (naming.gpu_instance_slices == 0 || naming.gpu_memory.count == 0) {
    return "";
  }
  const bool is_part = naming.compute_instance_slices != 0 &&
                       naming.compute_instance_slices < naming.gpu_instance_slices;
  return fmt::format("{}{}g.{}gb{}",
                     is_part ? fmt::format("{}c.", naming.compute_instance_slices) : "",
                     naming.gpu_instance_slices, NameGigabytes(naming.memory, naming.gpu_memory),
                     IsMediaProfile(naming) ? "+me" : "");
}

}  // namespace kgpu::device
