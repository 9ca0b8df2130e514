#include "src/host/inspect/rivals.h"

#include <gtest/gtest.h>

#include <vector>

#include "testing/temp_dir.h"

namespace kgpu::host {
namespace {

PciDevice GpuOf(std::string_view driver, std::string_view module = "") {
  PciDevice gpu;
  gpu.class_code = 0x030200;
  gpu.kernel_driver = driver;
  gpu.driver_module = module;
  return gpu;
}

// Sources: beclab/Olares#3963, NVIDIA/k8s-driver-manager#37, openSUSE/nvidia-driver-G06#62.
TEST(RivalInTheWayTest, IsTheOneWithAGpuElseTheOneThatIsLoaded) {
  const std::vector<PciDevice> bound = {GpuOf("nvidia"), GpuOf("NovaCore")};
  EXPECT_EQ(RivalInTheWay("nova_core", true, bound), "nova_core");
  EXPECT_EQ(RivalInTheWay("", false, bound), "nova_core") << "built into the kernel";
  EXPECT_EQ(RivalInTheWay("nouveau", false, {}), "nouveau");
  EXPECT_EQ(RivalInTheWay("nova_core", false, {}), "nova_core");
  EXPECT_EQ(RivalInTheWay("", false, {}), "");
}

TEST(RivalInTheWayTest, NovaWithoutAGpuIsInNobodysWay) {
  const std::vector<PciDevice> ours = {GpuOf("nvidia")};
  EXPECT_EQ(RivalInTheWay("nova_core", true, ours), "");
  EXPECT_EQ(RivalInTheWay("nouveau", true, ours), "nouveau");
}

TEST(ModuleOfDriverTest, IsTheKernelsLinkElseTheName) {
  EXPECT_EQ(ModuleOfDriver(GpuOf("xe", "xe")), "xe");
  EXPECT_EQ(ModuleOfDriver(GpuOf("vfio-pci")), "vfio_pci");
  EXPECT_EQ(ModuleOfDriver(GpuOf("NovaCore")), "nova_core");
  EXPECT_EQ(ModuleOfDriver(GpuOf("Any-Name", "its_module")), "its_module");
  EXPECT_EQ(ModuleOfDriver(GpuOf("")), "");
}

TEST(ModuleOfDriverTest, TheBusNamesTheModule) {
  const TempDir dir;
  const std::string folder = "sys/bus/pci/devices/0000:25:00.0";
  dir.WriteFile(folder + "/vendor", "0x10de\n");
  dir.WriteFile(folder + "/device", "0x26b9\n");
  dir.WriteFile(folder + "/class", "0x030200\n");
  dir.MakeDir("sys/bus/pci/drivers/NovaCore");
  dir.MakeDir("sys/module/nova_core");
  dir.Symlink("../../../../module/nova_core", "sys/bus/pci/drivers/NovaCore/module");
  dir.Symlink("../../drivers/NovaCore", folder + "/driver");
  const auto root = sys::Root::Open(dir.path());
  ASSERT_TRUE(root.ok());
  const auto found = ScanNvidiaPci(*root);
  ASSERT_TRUE(found.ok());
  ASSERT_EQ(found->size(), 1U);
  EXPECT_EQ(found->front().kernel_driver, "NovaCore");
  EXPECT_EQ(found->front().driver_module, "nova_core");
}

}  // namespace
}  // namespace kgpu::host
