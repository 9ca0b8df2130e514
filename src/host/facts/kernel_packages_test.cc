#include "src/host/facts/kernel_packages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kgpu::host {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

Packages Installed(const std::vector<std::pair<std::string, std::string>>& names) {
  Packages packages;
  for (const auto& [name, version] : names) {
    packages[name].version = version;
  }
  return packages;
}

Distribution Of(Family family) {
  Distribution distribution;
  distribution.family = family;
  return distribution;
}

// Sources: KyleGospo/gasket-dkms#20, anomixer/proxmox-vgpu-installer#7, NVIDIA/gpu-operator#155,
// strongtz/i915-sriov-dkms#403.
TEST(HeadersPackageTest, IsCalledAsTheInstalledPackagesOfThatKernel) {
  struct Case {
    Family family;
    std::string release;
    Packages packages;
    std::string name;
  };
  for (const Case& c : {
           Case{Family::kDebian, "6.1.0-18-amd64", {}, "linux-headers-6.1.0-18-amd64"},
           Case{Family::kDebian, "6.8.12-4-pve", {}, "proxmox-headers-6.8.12-4-pve"},
           Case{Family::kDebian, "6.14.11-2-pve",
                Installed({{"proxmox-kernel-6.14.11-2-pve-signed", "6.14.11-2"}}),
                "proxmox-headers-6.14.11-2-pve"},
           Case{Family::kDebian, "5.15.102-1-pve",
                Installed({{"pve-kernel-5.15.102-1-pve", "5.15.102-1"}}),
                "pve-headers-5.15.102-1-pve"},
           Case{Family::kUbuntu, "6.10.5-061005-generic",
                Installed({{"linux-image-unsigned-6.10.5-061005-generic", "6.10.5"}}),
                "linux-headers-6.10.5-061005-generic"},
           Case{Family::kUbuntu, "6.9.7-x64v3-xanmod1",
                Installed({{"linux-headers-6.9.7-x64v3-xanmod1", "6.9.7"}}),
                "linux-headers-6.9.7-x64v3-xanmod1"},
           Case{Family::kRhel, "6.9.7-1.el9.elrepo.x86_64",
                Installed({{"kernel-ml-core", "6.9.7-1.el9.elrepo"},
                           {"kernel-core", "5.14.0-427.13.1.el9_4"}}),
                "kernel-ml-devel-6.9.7-1.el9.elrepo.x86_64"},
           Case{Family::kRhel, "6.1.100-1.el9.elrepo.x86_64",
                Installed({{"kernel-lt", "6.1.100-1.el9.elrepo"}}),
                "kernel-lt-devel-6.1.100-1.el9.elrepo.x86_64"},
           Case{Family::kRhel,
                "6.9.7-1.el9.elrepo.x86_64",
                {},
                "kernel-ml-devel-6.9.7-1.el9.elrepo.x86_64"},
           Case{Family::kRhel, "5.14.0-427.13.1.el9_4.x86_64",
                Installed({{"kernel-headers", "5.14.0-427.13.1.el9_4"}}),
                "kernel-devel-5.14.0-427.13.1.el9_4.x86_64"},
           Case{Family::kRhel,
                "5.14.0-427.13.1.el9_4.aarch64+64k",
                {},
                "kernel-64k-devel-5.14.0-427.13.1.el9_4.aarch64"},
           Case{Family::kRhel,
                "5.15.0-206.153.7.el9uek.x86_64",
                {},
                "kernel-uek-devel-5.15.0-206.153.7.el9uek.x86_64"},
           Case{Family::kAmazon,
                "6.12.30-31.98.amzn2023.x86_64",
                {},
                "kernel6.12-devel-6.12.30-31.98.amzn2023.x86_64"},
       }) {
    EXPECT_EQ(HeadersPackage(Of(c.family), c.release, c.packages), c.name);
  }
}

TEST(FollowingHeadersTest, AreOfThePackagesThatBringKernels) {
  EXPECT_THAT(FollowingHeaders("6.1.0-18-amd64", "amd64", Installed({{"linux-image-amd64", "1"}})),
              ElementsAre("linux-headers-amd64"));
  EXPECT_THAT(FollowingHeaders("6.8.0-31-generic", "generic",
                               Installed({{"linux-image-generic-hwe-24.04", "1"}})),
              ElementsAre("linux-headers-generic-hwe-24.04"));
  EXPECT_THAT(FollowingHeaders("6.8.12-4-pve", "pve",
                               Installed({{"linux-image-amd64", "1"},
                                          {"proxmox-default-kernel", "1.1.0"},
                                          {"proxmox-kernel-6.8", "6.8.12-4"},
                                          {"proxmox-kernel-6.8.12-4-pve-signed", "6.8.12-4"}})),
              ElementsAre("proxmox-default-headers", "proxmox-headers-6.8"));
  EXPECT_THAT(FollowingHeaders("6.9.7-x64v3-xanmod1", "xanmod1", {}), IsEmpty());
}

TEST(IsNumberedAsUbuntusTest, TellsUbuntusKernelsFromOthers) {
  for (const char* own :
       {"6.8.0-31-generic", "6.8.0-1029-gke", "5.15.0-1-aws", "6.17.0-1003-nvidia-64k"}) {
    EXPECT_TRUE(IsNumberedAsUbuntus(own)) << own;
  }
  for (const char* other :
       {"6.10.5-061005-generic", "6.10.0-061000-generic", "6.9.3-76060903-generic",
        "6.8.0-76060800-generic", "6.9.7-x64v3-xanmod1", "6.8.12-4-pve", "", "6.8.0"}) {
    EXPECT_FALSE(IsNumberedAsUbuntus(other)) << other;
  }
}

}  // namespace
}  // namespace kgpu::host
