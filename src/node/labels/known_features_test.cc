#include "src/node/labels/known_features.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "src/host/features/cpuid.h"
#include "src/host/features/read.h"
#include "src/platform/sys/root.h"
#include "testing/host_tree.h"
#include "testing/status_matchers.h"
#include "testing/temp_dir.h"

namespace kgpu::labels {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(KnownFeaturesTest, NamesTheNearestFeature) {
  EXPECT_EQ(HintOnFeature("pci.device"), "");
  EXPECT_EQ(HintOnFeature("kernel.loadedModule"), "");
  EXPECT_THAT(HintOnFeature("pci.devices"), HasSubstr("did you mean pci.device?"));
  EXPECT_THAT(HintOnFeature("kubernetes.label"),
              AllOf(HasSubstr("no source has the feature kubernetes.label"),
                    HasSubstr("known are cpu.cpuid, ")));
}

TEST(KnownFeaturesTest, NamesTheNearestElement) {
  EXPECT_EQ(HintOnElement("PCI.device", "vendor"), "");
  EXPECT_THAT(HintOnElement("pci.device", "vendorid"),
              HasSubstr("pci.device never has vendorid: did you mean vendor?"));
  EXPECT_THAT(HintOnElement("kernel.version", "patch"),
              HasSubstr("known are full, major, minor, revision"));
  EXPECT_EQ(HintOnElement("kernel.config", "X86"), "") << "depends on the host";
  EXPECT_EQ(HintOnElement("pci.devices", "x"), "") << "the feature has a hint of its own";
}

class KnownOnHostTest : public ::testing::TestWithParam<const char*> {};

// All features of a host are known.
TEST_P(KnownOnHostTest, EverythingThatIsReadIsKnown) {
  const TempDir dir;
  UnpackRecordedHost(GetParam(), dir);
  const auto host = sys::Root::Open(dir.path());
  ASSERT_OK(host);
  const auto cpuid = features::OpenCpuid(*host);
  ASSERT_OK(cpuid);
  const features::FeatureSet read =
      features::ReadFeatures(*host, features::FeatureOptions(), **cpuid).features;
  for (const auto& [name, flags] : read.flags) {
    EXPECT_EQ(HintOnFeature(name), "");
    for (const std::string& flag : flags) {
      EXPECT_EQ(HintOnElement(name, flag), "");
    }
  }
  const auto expect_known = [](const std::string& name, const features::Attributes& attributes) {
    EXPECT_EQ(HintOnFeature(name), "");
    for (const auto& [key, value] : attributes) {
      EXPECT_EQ(HintOnElement(name, key), "");
    }
  };
  for (const auto& [name, attributes] : read.attributes) {
    expect_known(name, attributes);
  }
  for (const auto& [name, instances] : read.instances) {
    for (const features::Attributes& attributes : instances) {
      expect_known(name, attributes);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(RecordedHosts, KnownOnHostTest,
                         ::testing::Values("amd-epyc-sev", "arm-server", "intel-sriov-nvme",
                                           "rhcos", "vm-no-dmi"));

}  // namespace
}  // namespace kgpu::labels
