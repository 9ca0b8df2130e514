#include "src/host/facts/pci_facts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/temp_dir.h"

namespace kgpu::host {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(FindAcsControlTest, AListThatGoesRoundEnds) {
  std::string config(4096, '\0');
  config[0x100] = 0x01;
  config[0x102] = 0x01;
  config[0x103] = 0x10;  // next: itself
  EXPECT_FALSE(FindAcsControl(config).has_value());
  EXPECT_FALSE(FindAcsControl(std::string(64, '\xff')).has_value());
}

TEST(FindAcsControlTest, AListThatLeadsOutEnds) {
  std::string config(0x140, '\xff');
  EXPECT_FALSE(FindAcsControl(config).has_value());
}

TEST(GuestIdsTest, AreThoseOfTheCommandLineAndOfModprobe) {
  EXPECT_THAT(GuestIds("quiet vfio-pci.ids=10DE:20b5,10de:2204:1:2 nvme.ids=1"),
              ElementsAre("10de:20b5", "10de:2204"));
  EXPECT_THAT(GuestIds("options vfio-pci ids=10de:20b5"), ElementsAre("10de:20b5"));
  EXPECT_THAT(GuestIds("ids"), IsEmpty());
}

TEST(MarkGuestGpusTest, MarksWhatIsHeldAndWhatIsToBeHeld) {
  const auto mark = [](const std::string& driver, bool is_off_bus) {
    PciFacts pci;
    pci.gpus.emplace_back();
    pci.gpus[0].pci.vendor_id = 0x10de;
    pci.gpus[0].pci.device_id = 0x20b5;
    pci.gpus[0].pci.kernel_driver = driver;
    pci.gpus[0].pci.is_off_bus = is_off_bus;
    MarkGuestGpus(pci, {"10de:20b5"});
    return pci.gpus[0].is_for_guests;
  };
  EXPECT_TRUE(mark("vfio-pci", false));
  EXPECT_TRUE(mark("nvgrace_gpu_vfio_pci", false));
  EXPECT_TRUE(mark("", false));
  EXPECT_FALSE(mark("", true));
  EXPECT_FALSE(mark("nvidia", false));
}

TEST(PciFactsTest, WithoutSysfsNothingIsKnownOfGpus) {
  const TempDir dir;
  const sys::Root root = sys::Root::Open(dir.path()).value();
  std::vector<std::string> unreadable;
  Sight sight(root, unreadable);
  EXPECT_TRUE(ReadPciFacts(sight).is_unreadable);
  EXPECT_THAT(unreadable, ElementsAre(HasSubstr("/sys/bus not found")));

  unreadable.clear();
  dir.MakeDir("sys/bus/pci/devices");
  EXPECT_FALSE(ReadPciFacts(sight).is_unreadable);
  EXPECT_THAT(unreadable, IsEmpty());
}

}  // namespace
}  // namespace kgpu::host
