// `kgpu doctor --fix`: what it keeps, what it refuses, what it tells.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "src/diagnose/doctor/test_healthy_host.h"
#include "src/host/change/disk.h"
#include "src/host/change/lock.h"
#include "testing/status_matchers.h"

namespace kgpu::doctor {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::string_view kFlags = "etc/default/kubelet";
constexpr std::string_view kKept = "etc/default/kubelet.before-kgpu";
constexpr std::string_view kOld = "# flags\nARGS=\"--network-plugin=cni --v=2\"\n";
constexpr std::string_view kNew = "# flags\nARGS=\"--v=2\"\n";

class FixTest : public ::testing::Test {
 protected:
  FixTest() { host_.Write(kFlags, kOld); }

  Fixed Run(const Diagnosis& diagnosis, bool is_dry_run = false) {
    const auto root = sys::Root::Open(host_.tree().path());
    if (!root.ok()) {
      return {.done = {}, .failed = {root.status()}};
    }
    change::HostDisk disk(*root);
    return Fix(diagnosis, *root, disk, is_dry_run);
  }

  std::string Text() const { return host_.dir().ReadFile(kFlags); }
  bool IsKept() const { return std::filesystem::exists(host_.dir().At(kKept)); }

  const HealthyHost host_;
};

TEST_F(FixTest, KeepsWhatStoodThere) {
  EXPECT_THAT(Run(host_.Look()).failed, IsEmpty());
  EXPECT_EQ(Text(), kNew);
  EXPECT_EQ(host_.dir().ReadFile(kKept), kOld);
}

TEST_F(FixTest, ChangesNothingWhileAnotherKgpuDoes) {
  const auto root = sys::Root::Open(host_.tree().path());
  ASSERT_OK(root);
  change::HostDisk disk(*root);
  auto other = change::LockFolder(*root, disk, change::kStateFolder, "a test");
  ASSERT_OK(other);

  const Fixed refused = Run(host_.Look());

  EXPECT_THAT(refused.done, IsEmpty());
  EXPECT_THAT(refused.failed, ElementsAre(StatusIs(StatusCode::kUnavailable)));
  EXPECT_EQ(Text(), kOld);
  EXPECT_FALSE(IsKept());
  other->Reset();
  EXPECT_THAT(Run(host_.Look()).failed, IsEmpty());
}

TEST_F(FixTest, TheFirstTextIsKeptForTheSameEyes) {
  std::filesystem::permissions(host_.dir().At(kFlags), std::filesystem::perms(0600));
  EXPECT_THAT(Run(host_.Look()).failed, IsEmpty());
  EXPECT_EQ(std::filesystem::status(host_.dir().At(kKept)).permissions(),
            std::filesystem::perms(0600));

  host_.Write(kFlags, "ARGS=\"--network-plugin=cni\"\n");
  EXPECT_THAT(Run(host_.Look()).failed, IsEmpty());

  EXPECT_EQ(Text(), "ARGS=\"\"\n");
  EXPECT_EQ(host_.dir().ReadFile(kKept), kOld);
}

TEST_F(FixTest, ADryRunChangesNothingAndShowsTheLines) {
  const Fixed fixed = Run(host_.Look(), true);
  EXPECT_THAT(fixed.failed, IsEmpty());
  EXPECT_THAT(fixed.done,
              ElementsAre(HasSubstr("\n  - ARGS=\"--network-plugin=cni --v=2\"\n  + ARGS=")));
  EXPECT_EQ(Text(), kOld);
}

TEST_F(FixTest, RefusesAFileThatHasChangedSince) {
  const Diagnosis diagnosis = host_.Look();
  host_.Write(kFlags, "ARGS=\"--network-plugin=cni --v=4\"\n");
  EXPECT_THAT(Run(diagnosis).failed,
              ElementsAre(StatusIs(StatusCode::kFailedPrecondition, HasSubstr("has changed"))));
  EXPECT_EQ(Text(), "ARGS=\"--network-plugin=cni --v=4\"\n");
  EXPECT_FALSE(IsKept());
}

TEST_F(FixTest, RefusesToReplaceAFileThatWasNotThere) {
  host_.Remove(kFlags);
  host_.Remove("etc/modprobe.d/nouveau.conf");
  const Diagnosis diagnosis = host_.Look();
  host_.Write("etc/modprobe.d/kgpu-nouveau.conf", "# mine\n");
  EXPECT_THAT(Run(diagnosis).failed,
              ElementsAre(StatusIs(StatusCode::kFailedPrecondition, HasSubstr("already exists"))));
  EXPECT_EQ(host_.dir().ReadFile("etc/modprobe.d/kgpu-nouveau.conf"), "# mine\n");
}

TEST_F(FixTest, OneThatIsRefusedHindersNoOther) {
  host_.Remove("etc/modprobe.d/nouveau.conf");
  const Diagnosis diagnosis = host_.Look();
  host_.Write(kFlags, "ARGS=\n");
  const Fixed fixed = Run(diagnosis);
  EXPECT_THAT(fixed.failed,
              ElementsAre(StatusIs(StatusCode::kFailedPrecondition, HasSubstr("/etc/default"))));
  EXPECT_THAT(fixed.done, ElementsAre(HasSubstr("write /etc/modprobe.d/kgpu-nouveau.conf")));
}

// As root only: nobody else can give files away, and nobody else's writing does harm.
class FixAsRootTest : public FixTest {
 protected:
  void SetUp() override {
    if (geteuid() != 0) {
      GTEST_SKIP() << "takes root";
    }
  }

  void ExpectRefused(std::string_view why) {
    EXPECT_THAT(Run(host_.Look()).failed, ElementsAre(StatusIs(StatusCode::kFailedPrecondition,
                                                               HasSubstr(std::string(why)))));
    EXPECT_EQ(Text(), kOld);
    EXPECT_FALSE(IsKept());
  }
};

TEST_F(FixAsRootTest, RefusesAFileOfAnotherUser) {
  ASSERT_EQ(chown(host_.dir().At(kFlags).c_str(), 1000, 1000), 0);
  ExpectRefused("kubelet: owned by user 1000");
}

TEST_F(FixAsRootTest, RefusesAFolderThatOthersMayWriteTo) {
  ASSERT_EQ(chmod(host_.dir().At("etc/default").c_str(), 0777), 0);
  ExpectRefused("/etc/default: has mode 0777");
}

TEST_F(FixAsRootTest, RefusesALinkThatLeadsThroughAFolderOfAnotherUser) {
  host_.Write("home/u/flags", kOld);
  ASSERT_EQ(chown(host_.dir().At("home/u").c_str(), 1000, 1000), 0);
  host_.Link("../../home/u/flags", kFlags);
  ExpectRefused("/home/u: owned by user 1000");
}

TEST_F(FixAsRootTest, WritesThroughALinkOfRoots) {
  host_.Write("data/flags", kOld);
  host_.Link("/data/flags", kFlags);
  EXPECT_THAT(Run(host_.Look()).failed, IsEmpty());
  EXPECT_EQ(host_.dir().ReadFile("data/flags"), kNew);
}

}  // namespace
}  // namespace kgpu::doctor
