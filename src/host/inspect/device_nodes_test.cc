#include "src/host/inspect/device_nodes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/status_matchers.h"
#include "testing/temp_dir.h"

namespace kgpu::host {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class DeviceNodesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!dir_.MakeCharDevice("dev/nvidiactl", 195, 255)) {
      GTEST_SKIP() << "making device nodes is not permitted here";
    }
  }
  DeviceNodes Read() const {
    const auto root = sys::Root::Open(dir_.path());
    EXPECT_OK(root);
    const auto nodes = ReadDeviceNodes(*root);
    EXPECT_OK(nodes);
    return *nodes;
  }
  TempDir dir_;
};

TEST_F(DeviceNodesTest, SortsGpusByMinorNotByName) {
  dir_.MakeCharDevice("dev/nvidia10", 195, 10);
  dir_.MakeCharDevice("dev/nvidia2", 195, 2);
  dir_.MakeCharDevice("dev/nvidia-uvm", 509, 0);
  dir_.MakeCharDevice("dev/nvidia-uvm-tools", 509, 1);
  dir_.MakeCharDevice("dev/nvidia-modeset", 195, 254);

  const DeviceNodes nodes = Read();

  EXPECT_THAT(nodes.gpus, ElementsAre(GpuNode{2, {"/dev/nvidia2", 195, 2}},
                                      GpuNode{10, {"/dev/nvidia10", 195, 10}}));
  EXPECT_EQ(nodes.control, (DeviceFile{"/dev/nvidiactl", 195, 255}));
  EXPECT_EQ(nodes.uvm, (DeviceFile{"/dev/nvidia-uvm", 509, 0}));
  EXPECT_EQ(nodes.uvm_tools, (DeviceFile{"/dev/nvidia-uvm-tools", 509, 1}));
  EXPECT_EQ(nodes.modeset, (DeviceFile{"/dev/nvidia-modeset", 195, 254}));
}

TEST_F(DeviceNodesTest, ReadsCapabilityNodes) {
  dir_.MakeCharDevice("dev/nvidia-caps/nvidia-cap11", 237, 11);
  dir_.MakeCharDevice("dev/nvidia-caps/nvidia-cap2", 237, 2);
  const DeviceNodes nodes = Read();
  EXPECT_THAT(nodes.caps, ElementsAre(CapNode{2, {"/dev/nvidia-caps/nvidia-cap2", 237, 2}},
                                      CapNode{11, {"/dev/nvidia-caps/nvidia-cap11", 237, 11}}));
  EXPECT_NE(nodes.FindCap(11), nullptr);
  EXPECT_EQ(nodes.FindCap(12), nullptr);
}

TEST_F(DeviceNodesTest, RefusesFileInThePlaceOfANode) {
  dir_.WriteFile("dev/nvidia0", "");
  dir_.Symlink("nvidiactl", "dev/nvidia1");
  const DeviceNodes nodes = Read();
  EXPECT_THAT(nodes.gpus, IsEmpty());
  EXPECT_THAT(nodes.problems, ElementsAre(HasSubstr("dev/nvidia0"), HasSubstr("dev/nvidia1")));
}

TEST_F(DeviceNodesTest, FindsDriNodesOfOneFunction) {
  const auto pci = device::PciBusId::Parse("0000:07:00.0");
  ASSERT_OK(pci);
  dir_.MakeDir("sys/bus/pci/devices/0000:07:00.0/drm/card1");
  dir_.MakeDir("sys/bus/pci/devices/0000:07:00.0/drm/renderD129");
  dir_.MakeDir("sys/bus/pci/devices/0000:07:00.0/drm/version");
  dir_.MakeCharDevice("dev/dri/card0", 226, 0);
  dir_.MakeCharDevice("dev/dri/card1", 226, 1);
  dir_.MakeCharDevice("dev/dri/renderD129", 226, 129);
  const auto root = sys::Root::Open(dir_.path());
  ASSERT_OK(root);
  EXPECT_THAT(ReadDriNodes(*root, *pci), ElementsAre(DeviceFile{"/dev/dri/card1", 226, 1},
                                                     DeviceFile{"/dev/dri/renderD129", 226, 129}));
}

TEST(NumberedNodeTest, TakesOnlyWholeNumbers) {
  EXPECT_EQ(NumberedNode("nvidia0", "nvidia"), 0U);
  EXPECT_EQ(NumberedNode("nvidia", "nvidia"), std::nullopt);
  EXPECT_EQ(NumberedNode("nvidiactl", "nvidia"), std::nullopt);
  EXPECT_EQ(NumberedNode("nvidia1048576", "nvidia"), std::nullopt);
  EXPECT_EQ(NumberedNode("card3", "nvidia"), std::nullopt);
}

TEST(DeviceNodesWithoutDevTest, IsAnError) {
  const TempDir dir;
  const auto root = sys::Root::Open(dir.path());
  ASSERT_OK(root);
  EXPECT_THAT(ReadDeviceNodes(*root), StatusIs(StatusCode::kNotFound, HasSubstr("/dev")));
}

}  // namespace
}  // namespace kgpu::host
