#include "src/container/engine/packages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/container/engine/test_engine_host.h"
#include "testing/status_matchers.h"

namespace kgpu::engine {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

void BecomeDistribution(EngineHost& host, const std::string& id, const std::string& like,
                        const std::string& manager) {
  host.folder().WriteFile(
      "etc/os-release",
      fmt::format("PRETTY_NAME=\"Test {0}\"\nID={0}\nID_LIKE=\"{1}\"\n", id, like));
  host.folder().WriteFile("usr/bin/" + manager, "");
}

TEST(PackagesTest, InstallsWithApt) {
  EngineHost host;
  BecomeDistribution(host, "debian", "", "apt-get");

  const auto plan = PlanInstall(host.root(), Kind::kDocker);

  ASSERT_OK(plan);
  EXPECT_EQ(Print(*plan), "/usr/bin/apt-get update\n/usr/bin/apt-get install --yes docker.io\n");
}

TEST(PackagesTest, ADistributionWithoutANiceNameIsCalledByItsId) {
  EngineHost host;
  host.folder().WriteFile("etc/os-release", "ID=void\n");

  EXPECT_THAT(PlanInstall(host.root(), Kind::kPodman),
              StatusIs(StatusCode::kUnimplemented, HasSubstr("void: unknown distribution")));
}

TEST(PackagesTest, StartsTheEngineUnderSystemd) {
  EngineHost host;
  BecomeDistribution(host, "nobara", "fedora", "dnf");
  host.AddSystemd({});

  const auto plan = PlanInstall(host.root(), Kind::kCrio);

  ASSERT_OK(plan);
  EXPECT_EQ(Print(*plan),
            "/usr/bin/dnf install -y cri-o\n/usr/bin/systemctl enable --now crio.service\n");
}

TEST(PackagesTest, KnowsSuseByItsManyNames) {
  EngineHost host;
  BecomeDistribution(host, "opensuse-leap", "suse opensuse", "zypper");

  const auto plan = PlanInstall(host.root(), Kind::kPodman);

  ASSERT_OK(plan);
  EXPECT_EQ(Print(*plan), "/usr/bin/zypper --non-interactive install podman\n");
}

TEST(PackagesTest, SaysWhatADistributionLacks) {
  EngineHost host;
  BecomeDistribution(host, "rocky", "rhel centos fedora", "dnf");

  EXPECT_THAT(PlanInstall(host.root(), Kind::kDocker),
              StatusIs(StatusCode::kUnimplemented, HasSubstr("or use podman")));
  EXPECT_OK(PlanInstall(host.root(), Kind::kPodman));
}

TEST(PackagesTest, RefusesADistributionItDoesNotKnow) {
  EngineHost host;
  BecomeDistribution(host, "void", "", "xbps-install");

  EXPECT_THAT(PlanInstall(host.root(), Kind::kPodman),
              StatusIs(StatusCode::kUnimplemented, HasSubstr("Test void")));
}

TEST(PackagesTest, PlansWithoutThePackageManagerAndSaysThatItIsMissing) {
  EngineHost host;
  host.folder().WriteFile("etc/os-release", "PRETTY_NAME=\"Test debian\"\nID=debian\n");

  const auto plan = PlanInstall(host.root(), Kind::kPodman);

  ASSERT_OK(plan);
  EXPECT_EQ(Print(*plan), "apt-get update\napt-get install --yes podman\n");
  EXPECT_THAT(CheckInstall(*plan), StatusIs(StatusCode::kFailedPrecondition,
                                            HasSubstr("Test debian: apt-get not found")));
  EXPECT_THAT(Install(*plan, host.root(), host.runner()),
              StatusIs(StatusCode::kFailedPrecondition));
  EXPECT_THAT(host.runner().commands(), IsEmpty());
}

TEST(PackagesTest, TakesTheDnfThatIsThere) {
  EngineHost host;
  BecomeDistribution(host, "amzn", "fedora", "yum");

  const auto plan = PlanInstall(host.root(), Kind::kDocker);

  ASSERT_OK(plan);
  EXPECT_EQ(Print(*plan), "/usr/bin/yum install -y docker\n");
}

TEST(PackagesTest, AnImageOrNoSystemAtAllHasItsOwnAdvice) {
  EngineHost host;
  EXPECT_THAT(PlanInstall(host.root(), Kind::kPodman),
              StatusIs(StatusCode::kNotFound, HasSubstr("set --host-root to the root of")));
  host.folder().WriteFile("etc/os-release", "ID=fedora\nVARIANT_ID=coreos\n");
  EXPECT_THAT(PlanInstall(host.root(), Kind::kPodman),
              StatusIs(StatusCode::kUnimplemented, HasSubstr("takes no packages")));
}

TEST(EngineToInstallTest, IsOneForPodsWhereTheDistributionHasIt) {
  EngineHost debian;
  BecomeDistribution(debian, "debian", "", "apt-get");
  EXPECT_THAT(EngineToInstall(debian.root()), IsOkAndHolds(Kind::kContainerd));
  EXPECT_EQ(InstallAdvice(debian.root()), "kgpu runtime install --engine containerd");

  EngineHost rocky;
  BecomeDistribution(rocky, "rocky", "rhel centos fedora", "dnf");
  EXPECT_EQ(InstallAdvice(rocky.root()), "kgpu runtime install --engine podman");
  rocky.folder().WriteFile("var/lib/kubelet/config.yaml", "");
  EXPECT_THAT(EngineToInstall(rocky.root()),
              StatusIs(StatusCode::kUnimplemented, HasSubstr("no package for containerd or CRI-O")))
      << "podman does not run pods";
}

TEST(EngineToInstallTest, WordsForAPersonStandInAComment) {
  EngineHost host;
  BecomeDistribution(host, "void", "", "xbps-install");
  EXPECT_THAT(InstallAdvice(host.root()),
              AllOf(StartsWith("# "), HasSubstr("install a container engine manually")));
}

TEST(PackagesTest, StopsAtTheFirstCommandThatFails) {
  EngineHost host;
  BecomeDistribution(host, "debian", "", "apt-get");
  host.runner().Answer("/usr/bin/apt-get update", "", 100, "E: no network\n");
  const auto plan = PlanInstall(host.root(), Kind::kDocker);
  ASSERT_OK(plan);

  EXPECT_THAT(Install(*plan, host.root(), host.runner()),
              StatusIs(StatusCode::kUnavailable, HasSubstr("E: no network")));
  EXPECT_THAT(host.runner().commands(), ElementsAre("/usr/bin/apt-get update"));
}

}  // namespace
}  // namespace kgpu::engine
