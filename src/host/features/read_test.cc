#include "src/host/features/read.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "src/host/features/sources.h"
#include "src/host/features/test_host.h"
#include "testing/status_matchers.h"

namespace kgpu::features {
namespace {

using ::testing::Contains;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

Reading ReadAll(const TempDir& dir, const FeatureOptions& options = {}) {
  const auto host = sys::Root::Open(dir.path());
  const auto cpuid = ParseRecordedCpuid("0x0 0x0: eax=0x1 ebx=0x0 ecx=0x0 edx=0x0\n");
  EXPECT_THAT(host, IsOk());
  EXPECT_THAT(cpuid, IsOk());
  return ReadFeatures(*host, options, **cpuid);
}

TEST(ReadFeaturesTest, HidesNothingBehindWhatCannotBeRead) {
  const TempDir dir;
  UnpackRecordedHost("intel-sriov-nvme", dir);
  const Reading whole = ReadAll(dir);
  // A folder where a file should be, a file where a folder should be.
  const TempDir broken;
  UnpackRecordedHost("intel-sriov-nvme", broken);
  std::filesystem::remove(broken.At("proc/swaps"));
  broken.MakeDir("proc/swaps");
  std::filesystem::remove_all(broken.At("sys/bus/usb/devices"));
  broken.WriteFile("sys/bus/usb/devices", "");
  std::filesystem::remove(broken.At("sys/class/net/ens2f0/mtu"));
  broken.MakeDir("sys/class/net/ens2f0/mtu");
  const Reading reading = ReadAll(broken);
  EXPECT_FALSE(reading.features.attributes.contains("memory.swap"));
  EXPECT_THAT(reading.problems, Contains(Field(&Problem::text, HasSubstr("proc/swaps"))));
  EXPECT_THAT(reading.problems, Contains(Field(&Problem::text, HasSubstr("ens2f0/mtu"))));
  EXPECT_THAT(reading.features.instances.at("usb.device"), IsEmpty());
  EXPECT_EQ(reading.features.instances.at("pci.device"), whole.features.instances.at("pci.device"));
  EXPECT_EQ(reading.features.attributes.at("memory.hugepages"),
            whole.features.attributes.at("memory.hugepages"));
  EXPECT_EQ(reading.features.instances.at("network.device").size(),
            whole.features.instances.at("network.device").size());
}

TEST(ReadFeaturesTest, ReadsTheSourcesAskedForAlone) {
  const TempDir dir;
  dir.WriteFile("etc/os-release", "ID=debian\n");
  FeatureOptions options;
  options.feature_sources = {"system"};
  const Reading reading = ReadAll(dir, options);
  EXPECT_TRUE(reading.features.attributes.contains("system.osrelease"));
  EXPECT_FALSE(reading.features.attributes.contains("cpu.model"));
  EXPECT_THAT(reading.problems, IsEmpty());
}

TEST(ReadFeaturesTest, SaysOfAnEmptyRootWhatIsNotShown) {
  const TempDir dir;
  const Reading reading = ReadAll(dir);
  EXPECT_THAT(reading.problems, Contains(Field(&Problem::text, HasSubstr("osrelease"))));
  EXPECT_THAT(reading.problems, Contains(Field(&Problem::text, HasSubstr("os-release"))));
  EXPECT_THAT(reading.problems, Not(Contains(Field(&Problem::source, "pci"))));
}

TEST(ReadFeaturesTest, CallsProblemsBySourcesThatExist) {
  const TempDir dir;
  for (const Problem& problem : ReadAll(dir).problems) {
    EXPECT_THAT(kSourceNames, Contains(problem.source)) << problem.text;
  }
}

}  // namespace
}  // namespace kgpu::features
