// The sources that list devices: PCI, USB, network, storage; and IOMMUs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/host/features/pci_uevent.h"
#include "src/host/features/test_host.h"

namespace kgpu::features {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

Instances ReadInstances(const TestHost& host, const std::string& source,
                        const std::string& feature) {
  return host.Read(source).features.instances[feature];
}

constexpr std::string_view kUevent =
    "DRIVER=nvidia\nPCI_CLASS=30200\nPCI_ID=10DE:20B2\nPCI_SUBSYS_ID=10DE:1463\n"
    "PCI_SLOT_NAME=0000:07:00.0\nMODALIAS=pci:v000010DEd000020B2\n";

TEST(PciUeventTest, HasAllIds) {
  EXPECT_EQ(ParsePciUevent(kUevent), (PciIds{"0302", "10de", "20b2", "10de", "1463"}));
}

TEST(PciUeventTest, IsNothingWhenAnyIdIsMissingOrWrong) {
  for (const std::string_view text :
       {"", "PCI_CLASS=30200\nPCI_ID=10DE:20B2", "PCI_CLASS=30200\nPCI_SUBSYS_ID=10DE:1463",
        "PCI_ID=10DE:20B2\nPCI_SUBSYS_ID=10DE:1463",
        "PCI_CLASS=x\nPCI_ID=10DE:20B2\nPCI_SUBSYS_ID=10DE:1463",
        "PCI_CLASS=1000000\nPCI_ID=10DE:20B2\nPCI_SUBSYS_ID=10DE:1463",
        "PCI_CLASS=30200\nPCI_ID=10DE20B2\nPCI_SUBSYS_ID=10DE:1463",
        "PCI_CLASS=30200\nPCI_ID=10DE:20B21\nPCI_SUBSYS_ID=10DE:1463"}) {
    EXPECT_EQ(ParsePciUevent(text), std::nullopt) << text;
  }
}

const Attributes kGpu = {{"class", "0302"},
                         {"vendor", "10de"},
                         {"device", "20b2"},
                         {"subsystem_vendor", "10de"},
                         {"subsystem_device", "1463"}};

TEST(PciTest, NamesIdsOfAFunction) {
  EXPECT_THAT(
      ReadInstances(TestHost("@pci 0000:07:00.0 class=030200 id=10de:20b2 subsystem=10de:1463"),
                    "pci", "pci.device"),
      ElementsAre(kGpu));
}

TEST(PciTest, ReadsEachIdWhereTheyDoNotStandTogether) {
  EXPECT_THAT(
      ReadInstances(TestHost("@pci 0000:07:00.0 class=030200 id=10de:20b2 subsystem=10de:1463 "
                             "no-uevent"),
                    "pci", "pci.device"),
      ElementsAre(kGpu));
}

TEST(PciTest, NamesVirtualFunctionsAndIommu) {
  const TestHost host(
      "[sys/devices/virtual/iommu/dmar3/intel-iommu]\nversion = 1:0\n"
      "[sys/class/iommu]\ndmar3 -> ../../devices/virtual/iommu/dmar3\n[]\n"
      "@pci 0000:17:00.0 class=020000 id=8086:159b vfs=128 numvfs=8 group=12 group_type=identity "
      "iommu=dmar3");
  const Instances devices = ReadInstances(host, "pci", "pci.device");
  ASSERT_THAT(devices, SizeIs(1));
  EXPECT_EQ(devices[0].at("sriov_totalvfs"), "128");
  EXPECT_EQ(devices[0].at("iommu_group/type"), "identity");
  EXPECT_EQ(devices[0].at("iommu/intel-iommu/version"), "1:0");
}

TEST(PciTest, LeavesOutAFunctionThatHasNoIdsAndSaysSo) {
  const TestHost host(
      "@pci 0000:01:00.0 class=020000 id=8086:1521\n"
      "[sys/devices/pci0000:00/0000:02:00.0]\nclass = 0x020000\n"
      "[sys/bus/pci/devices]\n0000:02:00.0 -> ../../../devices/pci0000:00/0000:02:00.0");
  const Reading reading = host.Read("pci");
  EXPECT_THAT(reading.features.instances.at("pci.device"), SizeIs(1));
  ASSERT_THAT(reading.problems, SizeIs(1));
  EXPECT_EQ(reading.problems[0].source, "pci");
  EXPECT_THAT(reading.problems[0].text, HasSubstr("0000:02:00.0/vendor: is missing"));
}

TEST(PciTest, IsEmptyOnAHostWithoutTheBus) {
  const Reading reading = TestHost("[sys]").Read("pci");
  EXPECT_THAT(reading.features.instances.at("pci.device"), IsEmpty());
  EXPECT_THAT(reading.problems, IsEmpty());
}

TEST(UsbTest, NamesDevicesAndClassesOfInterfaces) {
  const TestHost host(
      "[sys/bus/usb/devices]\n"
      "usb1/idVendor = 1d6b\nusb1/idProduct = 0002\nusb1/bDeviceClass = 09\n"
      "usb1/serial = 0000:00:14.0\n1-0:1.0/bInterfaceClass = 09\n"
      "1-1/idVendor = 046d\n1-1/idProduct = 085c\n1-1/bDeviceClass = 00\n"
      "1-1:1.0/bInterfaceClass = 0e\n1-1:1.1/bInterfaceClass = 01\n1-10:1.0/bInterfaceClass = 03");
  EXPECT_THAT(ReadInstances(host, "usb", "usb.device"),
              ElementsAre(Attributes{{"class", "0e"}, {"vendor", "046d"}, {"device", "085c"}},
                          Attributes{{"class", "01"}, {"vendor", "046d"}, {"device", "085c"}},
                          Attributes{{"class", "09"},
                                     {"vendor", "1d6b"},
                                     {"device", "0002"},
                                     {"serial", "0000:00:14.0"}}));
}

TEST(NetworkTest, TellsInterfacesOfDevicesFromOthers) {
  const TestHost host(
      "@pci 0000:17:00.0 class=020000 id=8086:159b vfs=128 numvfs=8 net=ens1\n"
      "[sys/devices/pci0000:17/0000:17:00.0/net/ens1]\nspeed = 25000\nmtu = 9000\noperstate = up\n"
      "[sys/class/net]\nbonding_masters = bond0\n"
      "lo/operstate = unknown\nlo/mtu = 65536");
  EXPECT_THAT(ReadInstances(host, "network", "network.device"),
              ElementsAre(Attributes{{"name", "ens1"},
                                     {"operstate", "up"},
                                     {"speed", "25000"},
                                     {"mtu", "9000"},
                                     {"sriov_numvfs", "8"},
                                     {"sriov_totalvfs", "128"}}));
  EXPECT_THAT(ReadInstances(host, "network", "network.virtual"),
              ElementsAre(Attributes{{"name", "lo"}, {"operstate", "unknown"}, {"mtu", "65536"}}));
}

TEST(StorageTest, TellsWhatQueuesAreLike) {
  const TestHost host(
      "[sys/block]\nnvme0n1/queue/rotational = 0\nnvme0n1/queue/zoned = none\n"
      "nvme0n1/queue/nr_zones = 0\nnvme0n1/queue/dax = 0\nram0/");
  EXPECT_THAT(ReadInstances(host, "storage", "storage.block"),
              ElementsAre(Attributes{{"name", "nvme0n1"},
                                     {"rotational", "0"},
                                     {"zoned", "none"},
                                     {"nr_zones", "0"},
                                     {"dax", "0"}},
                          Attributes{{"name", "ram0"}}));
}

TEST(IommuTest, IsOnWhenThereIsOne) {
  EXPECT_EQ(TestHost("[sys/class/iommu]\ndmar0/")
                .Read("iommu")
                .features.attributes.at("iommu.device")
                .at("enabled"),
            "true");
  EXPECT_EQ(TestHost("[sys/class/iommu]")
                .Read("iommu")
                .features.attributes.at("iommu.device")
                .at("enabled"),
            "false");
}

TEST(DevicesTest, NeverLeadOutOfTheRoot) {
  const TempDir outside;
  outside.WriteFile("queue/rotational", "0\n");
  const TestHost host("[sys/block]");
  host.dir().Symlink(outside.path(), "sys/block/sda");
  host.dir().MakeDir("sys/block/sdb/queue");
  host.dir().Symlink(outside.At("queue/rotational"), "sys/block/sdb/queue/rotational");
  EXPECT_THAT(ReadInstances(host, "storage", "storage.block"),
              ElementsAre(Attributes{{"name", "sda"}}, Attributes{{"name", "sdb"}}));
}

}  // namespace
}  // namespace kgpu::features
