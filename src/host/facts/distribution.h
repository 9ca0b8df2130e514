// Which distribution a host runs, and its family.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "src/platform/base/status.h"
#include "src/platform/sys/root.h"

namespace kgpu::host {

enum class Family : uint8_t {
  kOther,
  kDebian,
  kUbuntu,
  kRhel,
  kFedora,
  kAmazon,
  kAzure,
  kMariner,
  kSuse,
  kAlpine,
  kArch,
};
// Red Hat's family, and Amazon's, which is built like it.
bool UsesDnf(Family family);

// Hosts whose system is an image: packages are not how to add anything to them.
enum class Immutable : uint8_t {
  kNone,
  kRhcos,
  kFedoraCoreOs,
  kTalos,
  kFlatcar,
  kNixOs,
  kBottlerocket,
  kCos,
  kOstree,         // another one based on rpm-ostree
  kTransactional,  // SUSE's, updated by transactional-update
};

struct Distribution {
  std::string id;        // "rocky"
  std::string name;      // for people: "Rocky Linux 9.4 (Blue Onyx)"
  std::string version;   // "9.4"
  std::string codename;  // "bookworm"; empty: it has none
  unsigned major = 0;
  unsigned minor = 0;
  Family family = Family::kOther;
  Immutable immutable = Immutable::kNone;
};
// Parses an os-release(5) text. Pure function.
Distribution ParseDistribution(std::string_view os_release);

// Whether `kgpu driver` plans NVIDIA's driver for it: it takes packages, and kgpu knows those of
// the driver.
bool CanPlanDriver(const Distribution& distribution);

// Errors: as ReadOsRelease.
StatusOr<Distribution> ReadDistribution(const sys::Root& host);

}  // namespace kgpu::host
