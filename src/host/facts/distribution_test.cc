#include "src/host/facts/distribution.h"

#include <gtest/gtest.h>

#include "testing/status_matchers.h"
#include "testing/temp_dir.h"

namespace kgpu::host {
namespace {

TEST(DistributionTest, IsKnownByItsIdThenByWhatItIsLike) {
  EXPECT_EQ(ParseDistribution("ID=rocky\nID_LIKE=\"rhel centos fedora\"\n").family, Family::kRhel);
  EXPECT_EQ(ParseDistribution("ID=linuxmint\nID_LIKE=\"ubuntu debian\"\n").family, Family::kUbuntu);
  EXPECT_EQ(ParseDistribution("ID=opensuse-leap\nVERSION_ID=15.6\n").family, Family::kSuse);
  EXPECT_EQ(ParseDistribution("ID=void\n").family, Family::kOther);
  EXPECT_EQ(ParseDistribution("ID=ubuntu\nVERSION_ID=\"24.04\"\n").minor, 4U);
}

TEST(DistributionTest, IsTheReleaseOfUbuntuThatItIsMadeOf) {
  const Distribution mint = ParseDistribution(
      "ID=linuxmint\nID_LIKE=\"ubuntu debian\"\nVERSION_ID=\"22.1\"\nVERSION_CODENAME=xia\n"
      "UBUNTU_CODENAME=noble\n");
  EXPECT_EQ(mint.major, 24U);
  EXPECT_EQ(mint.minor, 4U);
  EXPECT_EQ(mint.codename, "noble");
  EXPECT_EQ(ParseDistribution("ID=x\nID_LIKE=ubuntu\nVERSION_ID=\"24.04\"\n").major, 0U);
}

TEST(DistributionTest, IsAnImageWhereItSaysSo) {
  EXPECT_EQ(ParseDistribution("ID=rhcos\n").immutable, Immutable::kRhcos);
  EXPECT_EQ(ParseDistribution("ID=rhel\nVARIANT_ID=coreos\nOPENSHIFT_VERSION=4.19\n").immutable,
            Immutable::kRhcos);
  EXPECT_EQ(ParseDistribution("ID=rhel\nVARIANT_ID=coreos\n").immutable, Immutable::kRhcos);
  EXPECT_EQ(ParseDistribution("ID=fedora\nVARIANT_ID=coreos\n").immutable,
            Immutable::kFedoraCoreOs);
  EXPECT_EQ(ParseDistribution("ID=fedora\nVARIANT_ID=server\n").immutable, Immutable::kNone);
  EXPECT_EQ(ParseDistribution("ID=talos\n").immutable, Immutable::kTalos);
  EXPECT_EQ(ParseDistribution("ID=flatcar\nID_LIKE=coreos\n").immutable, Immutable::kFlatcar);
}

TEST(DistributionTest, KnowsEveryFamilyByItsMembers) {
  struct Case {
    std::string_view release;
    Family family;
  };
  for (const Case& one :
       {Case{"ID=raspbian\nID_LIKE=debian\n", Family::kDebian},
        Case{"ID=neon\nID_LIKE=\"debian ubuntu\"\n", Family::kUbuntu},
        Case{"ID=rhel\nID_LIKE=fedora\n", Family::kRhel},
        Case{"ID=ol\nID_LIKE=fedora\n", Family::kRhel},
        Case{"ID=centos\nID_LIKE=\"rhel fedora\"\n", Family::kRhel},
        Case{"ID=nobara\nID_LIKE=fedora\n", Family::kFedora},
        Case{"ID=amzn\nID_LIKE=\"centos rhel fedora\"\n", Family::kAmazon},
        Case{"ID=azurelinux\n", Family::kAzure}, Case{"ID=mariner\n", Family::kMariner},
        Case{"ID=sles_sap\n", Family::kSuse}, Case{"ID=x\nID_LIKE=opensuse\n", Family::kSuse},
        Case{"ID=alpine\n", Family::kAlpine}, Case{"ID=manjaro\nID_LIKE=arch\n", Family::kArch},
        Case{"", Family::kOther}}) {
    EXPECT_EQ(ParseDistribution(one.release).family, one.family) << one.release;
  }
}

TEST(DistributionTest, SaysWhichUseDnf) {
  EXPECT_TRUE(UsesDnf(Family::kRhel));
  EXPECT_TRUE(UsesDnf(Family::kAmazon));
  EXPECT_FALSE(UsesDnf(Family::kAzure));
  EXPECT_FALSE(UsesDnf(Family::kSuse));
}

TEST(ReadDistributionTest, KnowsAnImageOfRpmOstree) {
  const TempDir dir;
  const auto root = sys::Root::Open(dir.path());
  ASSERT_OK(root);
  dir.WriteFile("usr/lib/os-release", "ID=fedora\nVARIANT_ID=silverblue\n");
  EXPECT_EQ(ReadDistribution(*root).value_or(Distribution()).immutable, Immutable::kNone);
  dir.WriteFile("run/ostree-booted", "");
  EXPECT_EQ(ReadDistribution(*root).value_or(Distribution()).immutable, Immutable::kOstree);
  dir.WriteFile("usr/lib/os-release", "ID=rhcos\n");
  EXPECT_EQ(ReadDistribution(*root).value_or(Distribution()).immutable, Immutable::kRhcos);
}

TEST(ReadDistributionTest, FailsWithoutAnOsRelease) {
  const TempDir dir;
  const auto root = sys::Root::Open(dir.path());
  ASSERT_OK(root);
  EXPECT_THAT(ReadDistribution(*root), StatusIs(StatusCode::kNotFound));
}

}  // namespace
}  // namespace kgpu::host
