#include "src/setup/driver_install/replacing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/setup/driver_install/test_plans.h"
#include "src/setup/driver_install/test_run.h"

namespace kgpu::driver_install {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using driver::InstallPackages;
using driver::RemovePackages;
using report::Finding;
using report::Severity;

class ReplacingTest : public ::testing::Test {
 protected:
  ReplacingTest() : run_(world_), plan_(UpgradePlan()) {}

  std::vector<std::string> Removed() const {
    return std::get<RemovePackages>(plan_.steps[0].action).names;
  }

  World world_;
  OneRun run_;
  driver::Plan plan_;
  host::Packages here_;
};

TEST_F(ReplacingTest, APlanThatTakesNothingOffStaysAsItIs) {
  plan_.steps.erase(plan_.steps.begin());
  const driver::Plan before = plan_;
  EXPECT_THAT(CompleteRemoval(plan_, run_.packages(), here_), IsEmpty());
  EXPECT_EQ(plan_, before);
}

TEST_F(ReplacingTest, RefusesWhatOthersNeedAndNamesThem) {
  run_.packages().Need("cuda-runtime-12-2", "old-driver");
  EXPECT_THAT(CompleteRemoval(plan_, run_.packages(), here_),
              ElementsAre(AllOf(Field(&Finding::id, "other-version"),
                                Field(&Finding::severity, Severity::kError),
                                Field(&Finding::message, HasSubstr("cuda-runtime-12-2")))));
}

TEST_F(ReplacingTest, TakesThoseOfOtherArchitecturesAlong) {
  world_.Add("packages", "old-driver:i386=470");
  EXPECT_THAT(CompleteRemoval(plan_, run_.packages(), here_), IsEmpty());
  EXPECT_THAT(Removed(), ElementsAre("old-driver", "old-driver:i386"));
  EXPECT_EQ(here_["old-driver:i386"].version, "470");
}

TEST_F(ReplacingTest, WhatServesEveryVersionGoesAndComesAgain) {
  world_.Add("packages", "nvidia-persistenced=525");
  run_.packages().Need("nvidia-persistenced", "old-driver");
  EXPECT_THAT(CompleteRemoval(plan_, run_.packages(), here_), IsEmpty());
  EXPECT_THAT(Removed(), ElementsAre("old-driver", "nvidia-persistenced"));
  EXPECT_EQ(plan_.steps[2].id, "companions");
  EXPECT_EQ(plan_.steps[2].action, driver::Action(InstallPackages{{"nvidia-persistenced"}}));
}

// As apt would bring another branch's library for the daemon, and say nothing of the daemon.
TEST_F(ReplacingTest, WhatWouldComeForACompanionMakesThatOneGo) {
  world_.Add("packages", "nvidia-persistenced=525");
  run_.packages().Bring("libnvidia-cfg1", "nvidia-persistenced");
  EXPECT_THAT(CompleteRemoval(plan_, run_.packages(), here_), IsEmpty());
  EXPECT_THAT(Removed(), ElementsAre("old-driver", "nvidia-persistenced"));
}

TEST_F(ReplacingTest, WhatThePlanInstallsAnywayIsNotAskedForTwice) {
  world_.Add("packages", "nvidia-persistenced=525");
  run_.packages().Need("nvidia-persistenced", "old-driver");
  std::get<InstallPackages>(plan_.steps[1].action).names.emplace_back("nvidia-persistenced");
  const size_t steps = plan_.steps.size();
  EXPECT_THAT(CompleteRemoval(plan_, run_.packages(), here_), IsEmpty());
  EXPECT_EQ(plan_.steps.size(), steps);
}

}  // namespace
}  // namespace kgpu::driver_install
