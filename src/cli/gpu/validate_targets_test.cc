#include "src/cli/gpu/validate_targets.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/gpu/health/test_health_event.h"
#include "testing/status_matchers.h"

namespace kgpu::cli {
namespace {

using health::TestGpu;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr char kMig[] = "MIG-6e3c3c1e-0c9e-5e6c-8b0e-7a0f6c1c0001";

auto Runs(const std::string& uuid) {
  return AllOf(Field(&ValidateTarget::uuid, uuid), Field(&ValidateTarget::why_absent, IsEmpty()));
}

auto IsAbsent(const std::string& name, const std::string& why) {
  return AllOf(Field(&ValidateTarget::name, name),
               Field(&ValidateTarget::why_absent, HasSubstr(why)));
}

// A GPU, one in MIG mode with a device.
class ValidateTargetsTest : public ::testing::Test {
 protected:
  ValidateTargetsTest() {
    snapshot_.driver.state = device::DriverState::kReady;
    device::Gpu& plain = snapshot_.gpus.emplace_back();
    plain.uuid = TestGpu(0);
    device::Gpu& split = snapshot_.gpus.emplace_back();
    split.uuid = TestGpu(1);
    split.index = 1;
    split.mig_mode = device::MigMode{.is_enabled = true, .is_pending_enabled = true};
    split.mig_devices.emplace_back().uuid = device::MigUuid::Parse(kMig).value();
  }
  void AddUnmanaged(const std::string& kernel_driver) {
    device::UnmanagedGpu& gpu = snapshot_.unmanaged.emplace_back();
    gpu.pci = device::PciBusId::Parse("0000:41:00.0").value();
    gpu.kernel_driver = kernel_driver;
    gpu.reason = "off the bus: reboot";
  }

  device::Snapshot snapshot_;
};

TEST_F(ValidateTargetsTest, AllAreGpusAndMigDevices) {
  EXPECT_THAT(AllTargets(snapshot_).value(), ElementsAre(Runs(TestGpu(0).str()), Runs(kMig)));
}

TEST_F(ValidateTargetsTest, AGpuThatTheDriverDoesNotShowIsAbsent) {
  AddUnmanaged("nvidia");
  EXPECT_THAT(AllTargets(snapshot_).value(),
              ElementsAre(Runs(TestGpu(0).str()), Runs(kMig),
                          IsAbsent("0000:41:00.0", "off the bus: reboot")));
}

TEST_F(ValidateTargetsTest, AGpuOfAVirtualMachineIsNotOurs) {
  AddUnmanaged("vfio-pci");
  EXPECT_THAT(AllTargets(snapshot_).value(), ElementsAre(Runs(TestGpu(0).str()), Runs(kMig)));
}

TEST_F(ValidateTargetsTest, AGpuInMigModeWithoutDevicesCannotCompute) {
  snapshot_.gpus[1].mig_devices.clear();
  EXPECT_THAT(
      AllTargets(snapshot_).value(),
      ElementsAre(Runs(TestGpu(0).str()), IsAbsent(TestGpu(1).str(), "kgpu mig apply --gpu 1")));
  EXPECT_THAT(TargetsOf(snapshot_, "1").status(), StatusIs(StatusCode::kFailedPrecondition));
}

TEST_F(ValidateTargetsTest, OneIsNamedByIndexOrUuid) {
  EXPECT_THAT(TargetsOf(snapshot_, "0").value(), ElementsAre(Runs(TestGpu(0).str())));
  EXPECT_THAT(TargetsOf(snapshot_, TestGpu(0).str()).value(), ElementsAre(Runs(TestGpu(0).str())));
  EXPECT_THAT(TargetsOf(snapshot_, kMig).value(), ElementsAre(Runs(kMig)));
  EXPECT_THAT(TargetsOf(snapshot_, "1:0").value(), ElementsAre(Runs(kMig)));
  EXPECT_THAT(TargetsOf(snapshot_, "1:1").status(), StatusIs(StatusCode::kNotFound));
}

TEST_F(ValidateTargetsTest, AGpuInMigModeMeansItsDevices) {
  EXPECT_THAT(TargetsOf(snapshot_, "1").value(), ElementsAre(Runs(kMig)));
  EXPECT_THAT(TargetsOf(snapshot_, TestGpu(1).str()).value(), ElementsAre(Runs(kMig)));
}

TEST_F(ValidateTargetsTest, WhatIsNotThereIsNotFound) {
  EXPECT_THAT(TargetsOf(snapshot_, "7").status(), StatusIs(StatusCode::kNotFound));
  EXPECT_THAT(TargetsOf(snapshot_, TestGpu(5).str()).status(), StatusIs(StatusCode::kNotFound));
  EXPECT_THAT(TargetsOf(snapshot_, "first").status(), StatusIs(StatusCode::kInvalidArgument));
  snapshot_.gpus.clear();
  EXPECT_THAT(AllTargets(snapshot_).status(), StatusIs(StatusCode::kNotFound));
}

TEST_F(ValidateTargetsTest, AGpuThatLeftTheBusIsNamedWhereItsIndexIsGone) {
  AddUnmanaged("vfio-pci");
  EXPECT_THAT(TargetsOf(snapshot_, "7").status(),
              StatusIs(StatusCode::kNotFound, Not(HasSubstr("off the bus"))));
  AddUnmanaged("nvidia");
  EXPECT_THAT(TargetsOf(snapshot_, "7").status(),
              StatusIs(StatusCode::kNotFound,
                       HasSubstr("kgpu devices lists them; the driver does not list 0000:41:00.0: "
                                 "off the bus: reboot")));
}

TEST_F(ValidateTargetsTest, WithoutTheDriversLibraryAUuidIsTakenAsItIs) {
  device::Snapshot silent;
  silent.driver.state = device::DriverState::kNoLibrary;
  silent.driver.reason = "no libnvidia-ml";
  EXPECT_THAT(TargetsOf(silent, kMig).value(), ElementsAre(Runs(kMig)));
  EXPECT_THAT(TargetsOf(silent, "0").status(),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("no libnvidia-ml")));
  EXPECT_THAT(AllTargets(silent).status(), StatusIs(StatusCode::kFailedPrecondition));
}

}  // namespace
}  // namespace kgpu::cli
