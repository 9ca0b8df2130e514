#include "src/setup/driver/offers.h"

#include <algorithm>
#include <array>
#include <limits>

#include <fmt/format.h>

#include "src/host/facts/kernel_packages.h"

namespace kgpu::driver {
namespace {

constexpr std::array<std::string_view, 12> kUbuntuFlavours = {
    "generic", "lowlatency", "aws",    "azure",  "gcp",        "gke",
    "ibm",     "kvm",        "oracle", "nvidia", "nvidia-64k", "generic-64k"};

// Source: packages.debian.org, "nvidia-kernel-dkms" and "nvidia-tesla-470-kernel-dkms" by release.
std::vector<Offer> OfDebian(unsigned major) {
  switch (major) {
    case 11:
      return {{.branch = 470, .has_closed = true}};
    case 12:
      return {{.branch = 470, .has_closed = true},
              {.branch = 535, .has_open = true, .has_closed = true}};
    case 13:
      return {{.branch = 550, .has_open = true, .has_closed = true}};
    default:
      return {};
  }
}

// Those with modules of their own: names of the other branches lead to one of these, with another
// version. Source: packages.ubuntu.com, "linux-modules-nvidia-*-server-*" and "libnvidia-extra"
// by release.
std::vector<Offer> OfUbuntu(const HostFacts& facts) {
  std::vector<unsigned> branches;
  switch (facts.distribution.major) {
    case 20:
      branches = {470, 535};
      break;
    case 22:
      branches = {470, 550, 580, 595};
      break;
    case 24:
      branches = {570, 580, 595};
      break;
    case 25:
    case 26:
      branches = {580, 595};
      break;
    default:
      break;
  }
  std::vector<Offer> offers;
  offers.reserve(branches.size());
  for (const unsigned branch : branches) {
    offers.push_back({.branch = branch,
                      .has_open = branch >= 535,
                      .has_closed = true,
                      .is_signed = HasUbuntuModules(facts)});
  }
  return offers;
}

std::vector<Offer> OfDistribution(const HostFacts& facts) {
  switch (facts.distribution.family) {
    case host::Family::kDebian:
      return OfDebian(facts.distribution.major);
    case host::Family::kUbuntu:
      return OfUbuntu(facts);
    case host::Family::kSuse:
      // The newest generation of packages only: of the one before it each release has another
      // branch.
      return {{.branch = 595, .has_open = true, .has_closed = false, .is_signed = true}};
    default:
      return {};
  }
}

struct FirstBranch {
  host::Family family;
  unsigned least;  // major version of the distribution
  unsigned most;
  unsigned branch;
};

constexpr unsigned kAny = std::numeric_limits<unsigned>::max();

// The oldest branch that NVIDIA's repository has for a distribution, in the packages that plans are
// made of. Sources: https://developer.download.nvidia.com/compute/cuda/repos/, and for Debian the
// guide's "Compute-only and Desktop Installation".
constexpr std::array kFirstBranches = {
    FirstBranch{host::Family::kDebian, 12, 12, 570},
    FirstBranch{host::Family::kDebian, 13, 13, 580},
    FirstBranch{host::Family::kUbuntu, 22, 25, 535},
    FirstBranch{host::Family::kUbuntu, 26, kAny, 595},
    FirstBranch{host::Family::kRhel, 8, 9, 535},
    FirstBranch{host::Family::kRhel, 10, kAny, 575},
    FirstBranch{host::Family::kFedora, 41, kAny, 570},
    FirstBranch{host::Family::kSuse, 0, 15, 580},
    FirstBranch{host::Family::kAmazon, 2023, kAny, 550},
    FirstBranch{host::Family::kSuse, 16, kAny, 595},
};

// 0: NVIDIA has no repository for it.
unsigned FirstOfNvidia(const host::Distribution& distribution) {
  // For Ubuntu only the releases with long-term support.
  if (distribution.family == host::Family::kUbuntu &&
      (distribution.major % 2 != 0 || distribution.minor != 4)) {
    return 0;
  }
  for (const FirstBranch& row : kFirstBranches) {
    if (row.family == distribution.family && row.least <= distribution.major &&
        distribution.major <= row.most) {
      return row.branch;
    }
  }
  return 0;
}

std::vector<Offer> OfNvidia(const HostFacts& facts) {
  const unsigned first = FirstOfNvidia(facts.distribution);
  std::vector<Offer> offers;
  for (const Branch& branch : Branches()) {
    if (first != 0 && branch.number >= first) {
      offers.push_back({.branch = branch.number,
                        .has_open = branch.has_open,
                        .has_closed = branch.has_closed && branch.number < 620,
                        .is_signed = facts.distribution.family == host::Family::kSuse});
    }
  }
  return offers;
}

std::vector<Offer> OfPrecompiled(const HostFacts& facts) {
  switch (facts.distribution.family) {
    case host::Family::kUbuntu:
      return HasUbuntuModules(facts) ? OfUbuntu(facts) : std::vector<Offer>();
    case host::Family::kSuse: {
      std::vector<Offer> offers = OfNvidia(facts);
      for (Offer& offer : offers) {  // the proprietary ones are built by DKMS
        offer.has_closed = false;
      }
      return offers;
    }
    case host::Family::kRhel:
      // Streams without "-open" or "-dkms": modules that NVIDIA builds for kernels of Red Hat's,
      // the proprietary ones. Source: the README of NVIDIA/yum-packaging-precompiled-kmod.
      if (facts.distribution.major == 8 || facts.distribution.major == 9) {
        return {{.branch = 535, .has_closed = true},
                {.branch = 570, .has_closed = true},
                {.branch = 580, .has_closed = true}};
      }
      return {};
    default:
      return {};
  }
}

}  // namespace

bool HasUbuntuModules(const HostFacts& facts) {
  if (!facts.prebuilt_modules.empty()) {
    const std::string end = fmt::format("-{}", facts.kernel.release);
    return std::ranges::any_of(facts.prebuilt_modules,
                               [&end](const std::string& name) { return name.ends_with(end); });
  }
  return host::IsNumberedAsUbuntus(facts.kernel.release) &&
         std::ranges::find(kUbuntuFlavours, facts.kernel.flavour) != kUbuntuFlavours.end();
}

std::vector<Offer> OffersOf(const HostFacts& facts, SourceKind source) {
  switch (source) {
    case SourceKind::kDistribution:
      return OfDistribution(facts);
    case SourceKind::kNvidia:
      return OfNvidia(facts);
    case SourceKind::kPrecompiled:
      return OfPrecompiled(facts);
    case SourceKind::kRunFile:
    case SourceKind::kLocalRepo:
      break;
  }
  return {};
}

}  // namespace kgpu::driver
