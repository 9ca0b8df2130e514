#include "src/setup/driver_install/former.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/setup/driver_install/test_plans.h"

namespace kgpu::driver_install {
namespace {

using ::testing::ElementsAre;
using ::testing::Key;

Journal InstalledJournal() {
  Journal journal;
  journal.phase = Phase::kInstalled;
  journal.plan = PlanOf({driver::RemovePackages{.names = {"nvidia-tesla-470-kernel-dkms"}},
                         driver::InstallPackages{{"linux-headers-amd64"}},
                         driver::InstallPackages{{"nvidia-kernel-dkms", "libcuda1"}, "dkms"}});
  journal.steps.resize(3);
  journal.steps[0].replaced = {{"nvidia-tesla-470-kernel-dkms", "470.256.02-1~deb12u1"}};
  journal.steps[1].came = {{"linux-headers-amd64", "6.1.140-1"}};
  journal.steps[2].came = {{"dkms", "3.0.10-8"},
                           {"libcuda1", "535.261.03-1~deb12u1"},
                           {"nvidia-kernel-dkms", "535.261.03-1~deb12u1"}};
  return journal;
}

TEST(FormerTest, ComesAgainInItsVersionsWithTodaysCompilers) {
  const driver::Plan plan = PlanToReinstall(InstalledJournal());

  const auto& headers = std::get<driver::InstallPackages>(plan.steps[1].action);
  EXPECT_THAT(headers.names, ElementsAre("linux-headers-amd64"));
  const auto& packages = std::get<driver::InstallPackages>(plan.steps[2].action);
  EXPECT_THAT(packages.names, ElementsAre("libcuda1=535.261.03-1~deb12u1",
                                          "nvidia-kernel-dkms=535.261.03-1~deb12u1"));
  EXPECT_EQ(packages.version_of, "");
}

TEST(FormerTest, IsNotAmongTheFactsForTheNextDriver) {
  driver::HostFacts facts;
  facts.existing = driver::Existing::kPackages;
  facts.existing_version = "535.261.03";
  facts.packages = {{"bash", {.version = "5.2"}},
                    {"dkms", {.version = "3.0.10-8"}},
                    {"libcuda1", {.version = "535.261.03-1~deb12u1", .is_held = true}},
                    {"nvidia-kernel-dkms", {.version = "535.261.03-1~deb12u1"}}};

  ForgetDriver(InstalledJournal(), facts);

  EXPECT_EQ(facts.ours, InstalledJournal().plan);
  EXPECT_THAT(facts.packages, ElementsAre(Key("bash"), Key("nvidia-tesla-470-kernel-dkms")));
  EXPECT_THAT(facts.former, ElementsAre(Key("libcuda1"), Key("nvidia-kernel-dkms")));
  EXPECT_TRUE(facts.former.at("libcuda1").is_held);
  EXPECT_EQ(facts.existing, driver::Existing::kPackages) << "the one that is installed again";
  EXPECT_EQ(facts.existing_version, "470.256.02");
}

TEST(FormerTest, LeavesAHostWithoutADriver) {
  Journal journal = InstalledJournal();
  journal.steps[0].replaced.clear();
  driver::HostFacts facts;
  facts.existing = driver::Existing::kRunFile;

  ForgetDriver(journal, facts);

  EXPECT_EQ(facts.existing, driver::Existing::kNone);
}

}  // namespace
}  // namespace kgpu::driver_install
