#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include <fmt/format.h>

#include "src/setup/doctor/test_well_host.h"

namespace kgpu::doctor {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Not;

std::vector<Broken> AllBroken() {
  std::vector<Broken> all;
  for (const std::vector<Broken>& group :
       {BrokenHardware(), BrokenKernels(), BrokenDrivers(), BrokenContainers(), BrokenKubelets(),
        BrokenClusters()}) {
    all.insert(all.end(), group.begin(), group.end());
  }
  return all;
}

class BrokenHostTest : public ::testing::TestWithParam<Broken> {
 protected:
  void SetUp() override {
    if (!host_.has_nodes()) {
      GTEST_SKIP() << "device nodes can not be made here";
    }
  }

  const WellHost host_;
};

TEST_P(BrokenHostTest, ExactlyOneCheckFiresAndItsFileMendClearsIt) {
  GetParam().break_it(host_);
  const Diagnosis diagnosis = host_.Look();
  ASSERT_THAT(host_.Ids(), ElementsAre(std::string(GetParam().id)));
  EXPECT_THAT(diagnosis.findings[0].evidence, Not(IsEmpty()));
  EXPECT_THAT(diagnosis.findings[0].mend, Not(IsEmpty()));
  if (diagnosis.findings[0].fix) {
    host_.Mend();
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

class WellHostTest : public ::testing::TestWithParam<Family> {};

TEST_P(WellHostTest, NothingIsFoundOnIt) {
  const WellHost host(GetParam());
  if (!host.has_nodes()) {
    GTEST_SKIP() << "device nodes can not be made here";
  }
  EXPECT_THAT(host.Ids(), IsEmpty());
  EXPECT_THAT(host.Look().unseen, IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(All, WellHostTest,
                         ::testing::Values(Family::kDebian, Family::kUbuntu, Family::kRhel,
                                           Family::kSuse));

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
