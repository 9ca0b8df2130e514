#include "src/host/facts/distribution.h"

#include <algorithm>
#include <array>
#include <map>

#include "src/host/facts/os_release.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"

namespace kgpu::host {
namespace {

struct FamilyId {
  std::string_view id;  // as in ID or ID_LIKE
  Family family = Family::kOther;
};
// The host's own id is checked first, then the words of ID_LIKE in this table's order.
constexpr std::array<FamilyId, 14> kFamilies = {{{"ubuntu", Family::kUbuntu},
                                                 {"debian", Family::kDebian},
                                                 {"amzn", Family::kAmazon},
                                                 {"rhel", Family::kRhel},
                                                 {"centos", Family::kRhel},
                                                 {"rocky", Family::kRhel},
                                                 {"almalinux", Family::kRhel},
                                                 {"ol", Family::kRhel},
                                                 {"fedora", Family::kFedora},
                                                 {"azurelinux", Family::kAzure},
                                                 {"mariner", Family::kMariner},
                                                 {"suse", Family::kSuse},
                                                 {"alpine", Family::kAlpine},
                                                 {"arch", Family::kArch}}};

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

// SUSE has a name for each of its products: "sles", "sle_hpc", "opensuse-leap".
bool IsOf(const FamilyId& family, std::string_view id) {
  return id == family.id ||
         (family.family == Family::kSuse && (id.starts_with("opensuse") || id.starts_with("sle")));
}

Family FamilyOf(std::string_view id, std::string_view like) {
  for (const std::vector<std::string_view>& ids : {std::vector{id}, Words(like)}) {
    for (const FamilyId& family : kFamilies) {
      if (std::ranges::any_of(ids, [&](std::string_view one) { return IsOf(family, one); })) {
        return family.family;
      }
    }
  }
  return Family::kOther;
}

Immutable ImmutableOf(const std::string& id, const std::string& variant, bool has_openshift) {
  const auto* known = std::ranges::find(kImmutables, id, &ImmutableId::id);
  if (known != kImmutables.end()) {
    return known->kind;
  }
  if (has_openshift || (id == "rhel" && variant == "coreos")) {
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

bool UsesDnf(Family family) {
  return family == Family::kRhel || family == Family::kFedora || family == Family::kAmazon;
}

bool CanPlanDriver(const Distribution& distribution) {
  const Family family = distribution.family;
  return distribution.immutable == Immutable::kNone &&
         (UsesDnf(family) || family == Family::kDebian || family == Family::kUbuntu ||
          family == Family::kSuse);
}

Distribution ParseDistribution(std::string_view os_release) {
  std::map<std::string, std::string> release = ParseOsRelease(os_release);
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

StatusOr<Distribution> ReadDistribution(const sys::Root& host) {
  ASSIGN_OR_RETURN(const std::string text, ReadOsRelease(host));
  Distribution distribution = ParseDistribution(text);
  if (distribution.immutable == Immutable::kNone && host.Exists("run/ostree-booted")) {
    distribution.immutable = Immutable::kOstree;
  }
  return distribution;
}

}  // namespace kgpu::host
