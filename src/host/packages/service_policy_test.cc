#include "src/host/packages/service_policy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/status_matchers.h"
#include "testing/temp_dir.h"

namespace kgpu::packages {
namespace {

using ::testing::HasSubstr;

constexpr const char* kPath = "usr/sbin/policy-rc.d";

class ServicePolicyTest : public ::testing::Test {
 protected:
  ServicePolicyTest() { dir_.MakeDir("usr/sbin"); }
  const TempDir dir_;
};

TEST_F(ServicePolicyTest, SaysNoWhileItLives) {
  const auto root = sys::Root::Open(dir_.path());
  ASSERT_OK(root);
  const auto policy = ServicePolicy::Impose(*root);
  ASSERT_OK(policy);
  EXPECT_THAT(dir_.ReadFile(kPath), HasSubstr("exit 101"));
  const auto stat = root->Stat(kPath);
  ASSERT_OK(stat);
  EXPECT_EQ(stat->st_mode & 0777U, 0755U);
}

TEST_F(ServicePolicyTest, TakesAwayWhatAKilledRunLeft) {
  const auto root = sys::Root::Open(dir_.path());
  ASSERT_OK(root);
  std::string text;
  {
    const auto policy = ServicePolicy::Impose(*root);
    ASSERT_OK(policy);
    text = dir_.ReadFile(kPath);
  }
  dir_.WriteFile(kPath, text);
  const Status imposed = ServicePolicy::Impose(*root).status();
  ASSERT_OK(imposed);
  EXPECT_FALSE(root->Exists(kPath));
}

TEST_F(ServicePolicyTest, OneOfAKilledRunGoesWithoutAnInstallation) {
  const auto root = sys::Root::Open(dir_.path());
  ASSERT_OK(root);
  ASSERT_OK(RemoveOurPolicy(*root));
  std::string text;
  {
    const auto policy = ServicePolicy::Impose(*root);
    ASSERT_OK(policy);
    text = dir_.ReadFile(kPath);
  }
  dir_.WriteFile(kPath, text);
  ASSERT_OK(RemoveOurPolicy(*root));
  EXPECT_FALSE(root->Exists(kPath));
}

TEST_F(ServicePolicyTest, OneOfSomebodyStays) {
  dir_.WriteFile(kPath, "#!/bin/sh\nexit 101\n");
  const auto root = sys::Root::Open(dir_.path());
  ASSERT_OK(root);
  ASSERT_OK(RemoveOurPolicy(*root));
  EXPECT_TRUE(root->Exists(kPath));
}

TEST_F(ServicePolicyTest, LeavesALinkThatLeadsNowhere) {
  dir_.Symlink("/nowhere", kPath);
  const auto root = sys::Root::Open(dir_.path());
  ASSERT_OK(root);
  const Status imposed = ServicePolicy::Impose(*root).status();
  ASSERT_OK(imposed);
  EXPECT_TRUE(root->LinkStat(kPath).ok());
}

}  // namespace
}  // namespace kgpu::packages
