#include "src/container/engine/packages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/container/engine/test_engine_host.h"
#include "testing/status_matchers.h"

namespace kgpu::engine {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

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
  host.folder().WriteFile("etc/os-release", "ID=cos\n");

  EXPECT_THAT(PlanInstall(host.root(), Kind::kPodman),
              StatusIs(StatusCode::kUnimplemented, HasSubstr("cos: unknown distribution")));
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
  BecomeDistribution(host, "nixos", "", "nix");

  EXPECT_THAT(PlanInstall(host.root(), Kind::kPodman),
              StatusIs(StatusCode::kUnimplemented, HasSubstr("Test nixos")));
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
