#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include <fmt/format.h>

#include "src/diagnose/doctor/test_healthy_host.h"

namespace kgpu::doctor {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Not;

std::vector<Broken> AllBroken() {
  std::vector<Broken> all;
  for (const std::vector<Broken>& group :
       {BrokenHardware(), BrokenKernels(), BrokenDrivers(), BrokenGpus(), BrokenContainers(),
        BrokenKubelets(), BrokenClusters()}) {
    all.insert(all.end(), group.begin(), group.end());
  }
  return all;
}

class BrokenHostTest : public ::testing::TestWithParam<Broken> {
 protected:
  void SetUp() override {
    if (!host_.has_nodes()) {
      GTEST_SKIP() << "cannot create device nodes here";
    }
  }

  const HealthyHost host_;
};

TEST_P(BrokenHostTest, ExactlyOneCheckFiresAndItsFileFixClearsIt) {
  GetParam().break_it(host_);
  const Diagnosis diagnosis = host_.Look();
  ASSERT_THAT(host_.Ids(), ElementsAre(std::string(GetParam().id)));
  EXPECT_THAT(diagnosis.findings[0].evidence, ElementsAre(Not(IsEmpty())));
  EXPECT_THAT(diagnosis.findings[0].fix.commands, Not(IsEmpty()));
  if (!diagnosis.findings[0].fix.edits.empty()) {
    host_.Fix();
    EXPECT_THAT(host_.Ids(), Not(Contains(std::string(GetParam().id))));
  }
}

std::string NameOf(const ::testing::TestParamInfo<Broken>& info) {
  std::string name;
  for (const char c : info.param.id) {
    name += c == '-' ? '_' : c;
  }
  return fmt::format("{}_{}", name, info.index);  // a check may have several hosts
}

INSTANTIATE_TEST_SUITE_P(All, BrokenHostTest, ::testing::ValuesIn(AllBroken()), NameOf);

class HealthyHostTest : public ::testing::TestWithParam<host::Family> {};

TEST_P(HealthyHostTest, NothingIsFoundOnIt) {
  const HealthyHost host(GetParam());
  if (!host.has_nodes()) {
    GTEST_SKIP() << "cannot create device nodes here";
  }
  EXPECT_THAT(host.Ids(), IsEmpty());
  EXPECT_THAT(host.Look().unreadable, IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(All, HealthyHostTest,
                         ::testing::Values(host::Family::kDebian, host::Family::kUbuntu,
                                           host::Family::kRhel, host::Family::kSuse));

TEST(BrokenHostsTest, EveryCheckHasOne) {
  std::set<std::string_view> checks;
  std::set<std::string_view> broken;
  for (const Check& check : AllChecks()) {
    EXPECT_TRUE(checks.insert(check.id).second) << check.id << " stands twice";
  }
  for (const Broken& host : AllBroken()) {
    broken.insert(host.id);
  }
  EXPECT_EQ(checks, broken);
}

}  // namespace
}  // namespace kgpu::doctor
