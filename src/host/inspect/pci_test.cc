#include "src/host/inspect/pci.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/status_matchers.h"
#include "testing/temp_dir.h"

namespace kgpu::host {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// A type 0 header of an A100: 10de:20b2, class 0302, subsystem 10de:1463.
std::string Config() {
  std::string bytes(256, '\0');
  const auto put = [&bytes](size_t at, uint16_t value) {
    bytes[at] = static_cast<char>(value & 0xff);
    bytes[at + 1] = static_cast<char>(value >> 8);
  };
  put(0x00, 0x10de);
  put(0x02, 0x20b2);
  put(0x08, 0x00a1);  // revision, programming interface 0
  put(0x0a, 0x0302);
  put(0x2c, 0x10de);
  put(0x2e, 0x1463);
  return bytes;
}

constexpr std::string_view kResources =
    "0x00000000d0000000 0x00000000d0ffffff 0x0000000000040200\n"
    "0x0000024000000000 0x0000025fffffffff 0x000000000014220c\n"
    "0x0000000000000000 0x0000000000000000 0x0000000000000000\n";

class PciScanTest : public ::testing::Test {
 protected:
  static std::string Folder(std::string_view address) {
    return "sys/bus/pci/devices/" + std::string(address);
  }

  void AddDevice(std::string_view address, std::string_view vendor, std::string_view pci_class) {
    const std::string folder = Folder(address);
    dir_.WriteFile(folder + "/vendor", std::string(vendor) + "\n");
    dir_.WriteFile(folder + "/class", std::string(pci_class) + "\n");
    dir_.WriteFile(folder + "/device", "0x20b2\n");
    dir_.WriteFile(folder + "/subsystem_vendor", "0x10de\n");
    dir_.WriteFile(folder + "/subsystem_device", "0x1463\n");
    dir_.WriteFile(folder + "/numa_node", "1\n");
    dir_.WriteFile(folder + "/resource", kResources);
    dir_.WriteFile(folder + "/config", Config());
  }

  StatusOr<std::vector<PciDevice>> Scan() const {
    const auto root = sys::Root::Open(dir_.path());
    return root.ok() ? ScanNvidiaPci(*root) : StatusOr<std::vector<PciDevice>>(root.status());
  }

  TempDir dir_;
};

TEST_F(PciScanTest, ReadsEveryFact) {
  AddDevice("0000:07:00.0", "0x10de", "0x030200");
  dir_.Symlink("../../../../bus/pci/drivers/nvidia", Folder("0000:07:00.0") + "/driver");

  const auto devices = Scan();

  ASSERT_OK(devices);
  ASSERT_THAT(*devices, SizeIs(1));
  const PciDevice& gpu = devices->front();
  EXPECT_EQ(gpu.id.str(), "0000:07:00.0");
  EXPECT_TRUE(gpu.is_gpu());
  EXPECT_FALSE(gpu.is_nvswitch());
  EXPECT_EQ(gpu.class_code, 0x030200U);
  EXPECT_EQ(gpu.vendor_id, 0x10de);
  EXPECT_EQ(gpu.device_id, 0x20b2);
  EXPECT_EQ(gpu.subsystem_vendor_id, 0x10de);
  EXPECT_EQ(gpu.subsystem_device_id, 0x1463);
  EXPECT_EQ(gpu.numa_node, 1U);
  EXPECT_EQ(gpu.kernel_driver, "nvidia");
  EXPECT_THAT(gpu.bar_sizes, ElementsAre(MebiBytes(16), GibiBytes(128)));
  EXPECT_EQ(gpu.problem, "");
}

TEST_F(PciScanTest, SortsByAddressAndKeepsSwitches) {
  AddDevice("0000:c0:00.0", "0x10de", "0x068000");
  AddDevice("0000:07:00.0", "0x10de", "0x030000");
  AddDevice("0000:07:00.1", "0x10de", "0x040300");  // the board's audio function
  AddDevice("0000:00:02.0", "0x8086", "0x030000");

  const auto devices = Scan();

  ASSERT_OK(devices);
  ASSERT_THAT(*devices, SizeIs(2));
  EXPECT_EQ(devices->at(0).id.str(), "0000:07:00.0");
  EXPECT_TRUE(devices->at(1).is_nvswitch());
}

TEST_F(PciScanTest, OneUnreadableDeviceNeverHidesAnother) {
  AddDevice("0000:07:00.0", "0x10de", "0x030200");
  dir_.MakeDir(Folder("0000:08:00.0"));
  AddDevice("0000:09:00.0", "0x10de", "nonsense");
  dir_.MakeDir(Folder("not-an-address"));

  const auto devices = Scan();

  ASSERT_OK(devices);
  ASSERT_THAT(*devices, SizeIs(2));
  EXPECT_EQ(devices->at(0).problem, "");
  EXPECT_EQ(devices->at(1).id.str(), "0000:09:00.0");
  EXPECT_THAT(devices->at(1).problem, HasSubstr("\"nonsense\""));
  EXPECT_FALSE(devices->at(1).is_off_bus);
  EXPECT_TRUE(devices->at(1).is_gpu()) << "the class is taken from configuration space";
}

TEST_F(PciScanTest, FillsMissingFilesFromConfigurationSpace) {
  dir_.WriteFile(Folder("0000:07:00.0") + "/config", Config());

  const auto devices = Scan();

  ASSERT_OK(devices);
  ASSERT_THAT(*devices, SizeIs(1));
  EXPECT_EQ(devices->front().device_id, 0x20b2);
  EXPECT_EQ(devices->front().subsystem_device_id, 0x1463);
}

TEST_F(PciScanTest, SaysWhenDeviceHasFallenOffTheBus) {
  AddDevice("0000:07:00.0", "0x10de", "0x030200");
  dir_.WriteFile(Folder("0000:07:00.0") + "/config", std::string(256, '\xff'));

  const auto devices = Scan();

  ASSERT_OK(devices);
  ASSERT_THAT(*devices, SizeIs(1));
  EXPECT_THAT(devices->front().problem, HasSubstr("fallen off the bus"));
  EXPECT_TRUE(devices->front().is_off_bus);
}

TEST_F(PciScanTest, LeavesSleepingDeviceAlone) {
  AddDevice("0000:07:00.0", "0x10de", "0x030200");
  dir_.WriteFile(Folder("0000:07:00.0") + "/config", std::string(256, '\xff'));
  dir_.WriteFile(Folder("0000:07:00.0") + "/power/runtime_status", "suspended\n");

  const auto devices = Scan();

  ASSERT_OK(devices);
  EXPECT_EQ(devices->front().problem, "");
}

TEST_F(PciScanTest, MinusOneIsNoNumaNode) {
  AddDevice("0000:07:00.0", "0x10de", "0x030200");
  dir_.WriteFile(Folder("0000:07:00.0") + "/numa_node", "-1\n");
  const auto devices = Scan();
  ASSERT_OK(devices);
  EXPECT_EQ(devices->front().numa_node, std::nullopt);
}

TEST_F(PciScanTest, NoBusIsNotFound) {
  EXPECT_THAT(Scan(), StatusIs(StatusCode::kNotFound, HasSubstr("sys/bus/pci/devices")));
}

TEST(PciConfigTest, RejectsShortAndLostDevices) {
  EXPECT_THAT(ParsePciConfig(Config().substr(0, 63)),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("63 bytes")));
  EXPECT_THAT(ParsePciConfig(std::string(64, '\xff')),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("all ones")));
}

TEST(PciResourcesTest, LeavesOutWhatIsNoRegion) {
  EXPECT_THAT(ParsePciResources(""), IsEmpty());
  EXPECT_THAT(ParsePciResources("0x10 0x0f 0x0\nx y z\n1 2\n"), IsEmpty());
  EXPECT_THAT(ParsePciResources("0 0 0\n0x0 0xfff 0x0"), ElementsAre(Bytes{4096}));
}

TEST(PciClassNameTest, NamesTheClassesWeShow) {
  EXPECT_EQ(PciClassName(0x030000), "vga");
  EXPECT_EQ(PciClassName(0x030200), "3d-controller");
  EXPECT_EQ(PciClassName(0x068000), "bridge");
  EXPECT_EQ(PciClassName(0x040300), "0x0403");
}

}  // namespace
}  // namespace kgpu::host
