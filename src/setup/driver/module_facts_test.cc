#include "src/setup/driver/module_facts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kgpu::driver {
namespace {

using ::testing::ElementsAre;

TEST(ModinfoTest, HasVersionKernelAndLicence) {
  const ModuleInfo info = ParseModinfo(
      "filename:       /lib/modules/6.1.0-56-amd64/updates/dkms/nvidia-current.ko\n"
      "alias:          char-major-195-*\n"
      "version:        535.309.01\nsupported:      external\nlicense:        NVIDIA\n"
      "vermagic:       6.1.0-56-amd64 SMP preempt mod_unload modversions \n"
      "signer:         DKMS module signing key\n");
  EXPECT_EQ(info.version, "535.309.01");
  EXPECT_EQ(info.kernel(), "6.1.0-56-amd64");
  EXPECT_EQ(info.license, "NVIDIA");
  EXPECT_EQ(info.signer, "DKMS module signing key");
  EXPECT_EQ(ParseModinfo("modinfo: ERROR: Module nvidia not found.\n"), ModuleInfo{});
}

TEST(DkmsStatusTest, IsReadInBothForms) {
  EXPECT_THAT(
      ParseDkmsStatus("nvidia-current/535.309.01, 6.1.0-56-amd64, x86_64: installed\n"
                      "nvidia, 470.1, 5.4.0-9-generic, x86_64: built (WARNING! Diff)\n"
                      "zfs/2.1: added\nError! Something\n"),
      ElementsAre(
          DkmsEntry{"nvidia-current", "535.309.01", "6.1.0-56-amd64", "x86_64", "installed"},
          DkmsEntry{"nvidia", "470.1", "5.4.0-9-generic", "x86_64", "built", "Diff"},
          DkmsEntry{"zfs", "2.1", "", "", "added"}));
}

}  // namespace
}  // namespace kgpu::driver
