#include <algorithm>
#include <array>
#include <map>

#include "src/host/features/os_release.h"
#include "src/platform/base/strings.h"
#include "src/setup/driver/host_facts.h"

namespace kgpu::driver {
namespace {

struct FamilyId {
  std::string_view id;  // as in ID or ID_LIKE
  Family family = Family::kOther;
};
// An id of the host itself is asked first, then the words of ID_LIKE in this table's order.
constexpr std::array<FamilyId, 17> kFamilies = {{{"ubuntu", Family::kUbuntu},
                                                 {"debian", Family::kDebian},
                                                 {"amzn", Family::kAmazon},
                                                 {"rhel", Family::kRhel},
                                                 {"centos", Family::kRhel},
                                                 {"rocky", Family::kRhel},
                                                 {"almalinux", Family::kRhel},
                                                 {"ol", Family::kRhel},
                                                 {"fedora", Family::kFedora},
                                                 {"sles", Family::kSuse},
                                                 {"sled", Family::kSuse},
                                                 {"sle_hpc", Family::kSuse},
                                                 {"sles_sap", Family::kSuse},
                                                 {"opensuse", Family::kSuse},
                                                 {"opensuse-leap", Family::kSuse},
                                                 {"opensuse-tumbleweed", Family::kSuse},
                                                 {"suse", Family::kSuse}}};

struct ImmutableId {
  std::string_view id;
  Immutable kind = Immutable::kNone;
};
constexpr std::array<ImmutableId, 10> kImmutables = {
    {{"rhcos", Immutable::kRhcos},
     {"talos", Immutable::kTalos},
     {"flatcar", Immutable::kFlatcar},
     {"nixos", Immutable::kNixOs},
     {"bottlerocket", Immutable::kBottlerocket},
     {"cos", Immutable::kCos},
     {"sl-micro", Immutable::kTransactional},
     {"sle-micro", Immutable::kTransactional},
     {"suse-microos", Immutable::kTransactional},
     {"opensuse-microos", Immutable::kTransactional}}};

Family FamilyOf(const std::string& id, std::string_view like) {
  const auto* own = std::ranges::find(kFamilies, id, &FamilyId::id);
  if (own != kFamilies.end()) {
    return own->family;
  }
  const std::vector<std::string_view> words = Words(like);
  for (const FamilyId& family : kFamilies) {
    if (std::ranges::find(words, family.id) != words.end()) {
      return family.family;
    }
  }
  return Family::kOther;
}

Immutable ImmutableOf(const std::string& id, const std::string& variant, bool has_openshift) {
  const auto* known = std::ranges::find(kImmutables, id, &ImmutableId::id);
  if (known != kImmutables.end()) {
    return known->kind;
  }
  if (has_openshift) {
    return Immutable::kRhcos;
  }
  return variant == "coreos" ? Immutable::kFedoraCoreOs : Immutable::kNone;
}

struct UbuntuRelease {
  std::string_view codename;
  std::string_view version;
};
// Source: https://wiki.ubuntu.com/Releases.
constexpr std::array<UbuntuRelease, 5> kUbuntuReleases = {{{"focal", "20.04"},
                                                           {"jammy", "22.04"},
                                                           {"noble", "24.04"},
                                                           {"questing", "25.10"},
                                                           {"resolute", "26.04"}}};

// Mint and others count for themselves, and their packages are those of a release of Ubuntu.
void TakeUbuntuRelease(const std::string& codename, Distribution& distribution) {
  const auto* release = std::ranges::find(kUbuntuReleases, codename, &UbuntuRelease::codename);
  const bool is_known = release != kUbuntuReleases.end();
  distribution.codename = is_known ? codename : "";
  distribution.version = is_known ? release->version : "";
}

unsigned PartOf(std::string_view version, size_t index) {
  const std::vector<std::string_view> parts = Split(version, '.');
  return index < parts.size() ? static_cast<unsigned>(ParseUint(parts[index]).value_or(0)) : 0;
}

}  // namespace

std::string_view ToString(Family family) {
  switch (family) {
    case Family::kOther:
      return "other";
    case Family::kDebian:
      return "debian";
    case Family::kUbuntu:
      return "ubuntu";
    case Family::kRhel:
      return "rhel";
    case Family::kFedora:
      return "fedora";
    case Family::kAmazon:
      return "amazon";
    case Family::kSuse:
      return "suse";
  }
  return "other";
}

std::string_view ToString(Immutable kind) {
  switch (kind) {
    case Immutable::kNone:
      return "";
    case Immutable::kRhcos:
      return "rhcos";
    case Immutable::kFedoraCoreOs:
      return "fedora-coreos";
    case Immutable::kTalos:
      return "talos";
    case Immutable::kFlatcar:
      return "flatcar";
    case Immutable::kNixOs:
      return "nixos";
    case Immutable::kBottlerocket:
      return "bottlerocket";
    case Immutable::kCos:
      return "cos";
    case Immutable::kOstree:
      return "ostree";
    case Immutable::kTransactional:
      return "transactional";
  }
  return "";
}

Distribution ParseDistribution(std::string_view os_release) {
  std::map<std::string, std::string> release = features::ParseOsRelease(os_release);
  Distribution distribution;
  distribution.id = release["ID"];
  distribution.version = release["VERSION_ID"];
  distribution.codename = release["VERSION_CODENAME"];
  distribution.name =
      Printable(release["PRETTY_NAME"].empty() ? distribution.id : release["PRETTY_NAME"], 80);
  distribution.family = FamilyOf(distribution.id, release["ID_LIKE"]);
  if (distribution.family == Family::kUbuntu && distribution.id != "ubuntu") {
    TakeUbuntuRelease(release["UBUNTU_CODENAME"], distribution);
  }
  distribution.major = PartOf(distribution.version, 0);
  distribution.minor = PartOf(distribution.version, 1);
  distribution.immutable =
      ImmutableOf(distribution.id, release["VARIANT_ID"], !release["OPENSHIFT_VERSION"].empty());
  return distribution;
}

std::string FlavourOf(std::string_view release) {
  // What follows the numbers: "6.1.0-56-cloud-amd64", "6.8.0-1029-nvidia-64k".
  for (size_t dash = release.find('-'); dash != std::string_view::npos;
       dash = release.find('-', dash + 1)) {
    const std::string_view rest = release.substr(dash + 1);
    if (!rest.empty() && (rest[0] < '0' || rest[0] > '9')) {
      return std::string(rest);
    }
  }
  return {};
}

}  // namespace kgpu::driver
