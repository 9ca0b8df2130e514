#include "src/container/shim/cuda_compat.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/container/shim/test_bundle.h"
#include "testing/status_matchers.h"

namespace kgpu::shim {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

std::string Demanding(const std::string& variable) {
  return TestBundle::Spec({"NVIDIA_VISIBLE_DEVICES=0", variable});
}

class RequirementsTest : public ::testing::Test {
 protected:
  RequirementsTest() { bundle_.config.accept_env = true; }

  // The libraries of a driver as its package lays them out.
  void InstallCompat(const std::string& version) {
    const std::string folder = "host/opt/compat/";
    for (const std::string stem : {"libcuda", "libnvidia-nvvm", "libnvidia-ptxjitcompiler"}) {
      bundle_.dir().WriteFile(fmt::format("{}{}.so.{}", folder, stem, version), stem);
    }
    bundle_.dir().Symlink("libcuda.so." + version, folder + "libcuda.so.1");
    bundle_.dir().Symlink("libcuda.so.1", folder + "libcuda.so");
    bundle_.dir().Symlink("libnvidia-nvvm.so." + version, folder + "libnvidia-nvvm.so.4");
    bundle_.dir().WriteFile(folder + "README", "");
    bundle_.config.cuda_compat = "/opt/compat";
  }

  TestBundle bundle_;
};

TEST_F(RequirementsTest, ADemandThatTheDriverMeetsIsNoObstacle) {
  EXPECT_OK(bundle_.Edit(Demanding("NVIDIA_REQUIRE_CUDA=cuda>=12.2 brand=tesla,driver>=470")));
  EXPECT_THAT(bundle_.spec(), HasSubstr("/dev/nvidia0"));
}

TEST_F(RequirementsTest, ADemandThatIsNotMetIsRefusedWithDemandHostAndFix) {
  EXPECT_THAT(bundle_.Edit(Demanding("NVIDIA_REQUIRE_CUDA=cuda>=12.4")),
              StatusIs(StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr("cuda>=12.4"), HasSubstr("535.104.05"), HasSubstr("12.2"))));
  EXPECT_THAT(bundle_.audit(), AllOf(HasSubstr("gpu-refused"), HasSubstr("cuda>=12.4")));
  EXPECT_THAT(bundle_.Edit(Demanding("NVIDIA_REQUIRE_CUDA=cuda>>12")),
              StatusIs(StatusCode::kInvalidArgument));
}

TEST_F(RequirementsTest, OldImagesSayTheirCudaAndAnyoneMayDisableTheCheck) {
  EXPECT_THAT(bundle_.Edit(Demanding("CUDA_VERSION=12.4.1")),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("12.4")));
  EXPECT_OK(bundle_.Edit(TestBundle::Spec(
      {"NVIDIA_VISIBLE_DEVICES=0", "CUDA_VERSION=12.4.1", "NVIDIA_DISABLE_REQUIRE=true"})));
}

TEST_F(RequirementsTest, ContainersWithoutTheDriverAreNotChecked) {
  EXPECT_OK(bundle_.Edit(
      TestBundle::Spec({"NVIDIA_VISIBLE_DEVICES=void", "NVIDIA_REQUIRE_CUDA=cuda>=99"})));
}

TEST_F(RequirementsTest, TheAdminsNewerLibrariesReplaceTheDriversOnDemandOnly) {
  InstallCompat("550.54.15");
  EXPECT_OK(bundle_.Edit(Demanding("NVIDIA_REQUIRE_CUDA=cuda>=12.2")));
  EXPECT_THAT(bundle_.spec(), Not(HasSubstr("compat")));
  EXPECT_OK(bundle_.Edit(Demanding("NVIDIA_REQUIRE_CUDA=cuda>=12.4")));
  const std::string compat = bundle_.dir().At("host/opt/compat/");
  for (
      const std::string& mount :
      {fmt::format(R"("destination":"/usr/lib64/libcuda.so.1","source":"{}libcuda.so.550.54.15")",
                   compat),
       fmt::format(
           R"("destination":"/usr/lib64/libcuda.so.550.54.15","source":"{}libcuda.so.550.54.15")",
           compat),
       fmt::format(
           R"("destination":"/usr/lib64/libnvidia-nvvm.so.4","source":"{}libnvidia-nvvm.so.550.54.15")",
           compat)}) {
    EXPECT_THAT(bundle_.spec(), HasSubstr(mount));
  }
  EXPECT_THAT(bundle_.spec(), AllOf(Not(HasSubstr("libcuda.so.535")), HasSubstr("nvidia-smi")));
  EXPECT_THAT(bundle_.audit(), HasSubstr("forward-compatibility libraries of CUDA 12.4"));
}

TEST_F(RequirementsTest, LibrariesThatDoNotHelpAreNamedWithTheReason) {
  InstallCompat("550.54.15");
  EXPECT_THAT(bundle_.Edit(Demanding("NVIDIA_REQUIRE_CUDA=cuda>=12.8")),
              StatusIs(StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr("cuda>=12.8"), HasSubstr("those of CUDA 12.4"))));
  inject::InjectionIndex index = TestIndex();
  index.devices[0].brand = "GeForceRTX";
  bundle_.WriteIndex(index);
  EXPECT_THAT(bundle_.Edit(Demanding("NVIDIA_REQUIRE_CUDA=cuda>=12.4")),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("does not support them")));
  bundle_.WriteIndex(TestIndex());
  bundle_.config.cuda_compat = "/opt/none";
  EXPECT_THAT(bundle_.Edit(Demanding("NVIDIA_REQUIRE_CUDA=cuda>=12.4")),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("/opt/none")));
}

TEST(CudaCompatTest, Libraries32BitStayTheDrivers) {
  inject::InjectionIndex index = TestIndex();
  index.files.push_back({inject::Capability::kCompute,
                         true,
                         false,
                         "/usr/lib32/libcuda.so.535.104.05",
                         {"/usr/lib/i386-linux-gnu/libcuda.so.1"}});
  cdi::ContainerEdits edits;
  edits.mounts = inject::MountsFor(index, inject::kAllCapabilities);
  const CompatLibraries compat{
      "550.54.15", "12.4", {{"libcuda.so.1", "libcuda.so.550.54.15", "/opt/libcuda"}}};
  UseCompatLibraries(compat, index, edits);
  for (const cdi::Mount& mount : edits.mounts) {
    if (mount.container_path.find("libcuda") != std::string::npos) {
      EXPECT_EQ(mount.host_path, mount.container_path.find("i386") == std::string::npos
                                     ? "/opt/libcuda"
                                     : "/usr/lib32/libcuda.so.535.104.05");
    }
  }
}

}  // namespace
}  // namespace kgpu::shim
