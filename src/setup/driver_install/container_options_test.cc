#include "src/setup/driver_install/container_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/temp_dir.h"

namespace kgpu::driver_install {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

TEST(ModuleOptionsTest, AreAsTheyAreWritten) {
  EXPECT_THAT(ParseModuleOptions("# nvidia\n"
                                 "options nvidia-current  NVreg_A=1\tNVreg_B=\"x  y\" \n"
                                 "options nvidia_uvm uvm_a=1 \\\n"
                                 "  uvm_b=2\n"
                                 "options nvidia NVreg_C=3\n"),
              ElementsAre(Pair("nvidia", "NVreg_A=1\tNVreg_B=\"x  y\" NVreg_C=3"),
                          Pair("nvidia_uvm", "uvm_a=1   uvm_b=2")));
}

TEST(ModuleOptionsTest, OtherLinesAndModulesSayNothing) {
  EXPECT_THAT(ParseModuleOptions("options kvm nested=1\n"
                                 "options nvidia\n"
                                 "alias nvidia nvidia-current a=1\n"
                                 "#options nvidia NVreg_A=1\n"
                                 "options\n"),
              IsEmpty());
}

TEST(ModuleOptionsTest, AFileOfEtcHidesThePackagesOne) {
  const TempDir dir;
  dir.WriteFile("etc/modprobe.d/nvidia.conf", "options nvidia a=1\n");
  dir.WriteFile("usr/lib/modprobe.d/nvidia.conf", "options nvidia a=2\n");
  dir.WriteFile("usr/lib/modprobe.d/0.conf", "options nvidia b=3\n");
  dir.WriteFile("usr/lib/modprobe.d/README", "options nvidia b=4\n");
  const auto root = sys::Root::Open(dir.path());
  ASSERT_TRUE(root.ok());
  EXPECT_THAT(ReadModuleOptions({&*root}), ElementsAre(Pair("nvidia", "b=3 a=1")));
}

TEST(ModuleOptionsTest, ALaterRootComesLastAndWhatBothSayComesOnce) {
  const TempDir first;
  const TempDir second;
  first.WriteFile("etc/modprobe.d/nvidia.conf", "options nvidia a=1\n");
  second.WriteFile("etc/modprobe.d/nvidia.conf", "options nvidia a=1\n");
  second.WriteFile("etc/modprobe.d/site.conf", "options nvidia a=2\n");
  const auto one = sys::Root::Open(first.path());
  const auto two = sys::Root::Open(second.path());
  ASSERT_TRUE(one.ok() && two.ok());
  EXPECT_THAT(ReadModuleOptions({&*one, &*two}), ElementsAre(Pair("nvidia", "a=1 a=2")));
}

}  // namespace
}  // namespace kgpu::driver_install
