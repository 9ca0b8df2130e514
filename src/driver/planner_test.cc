#include "src/driver/planner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/status_matchers.h"
#include "testing/temp_dir.h"

namespace kgpu::driver {
namespace {

using ::testing::Contains;
using ::testing::Field;
using ::testing::IsSupersetOf;

class NoRunner final : public sys::ProgramRunner {
 public:
  StatusOr<sys::RunResult> Run(const sys::RunRequest& request) override {
    return NotFound("{}: no such program", request.argv[0]);
  }
};

constexpr std::string_view kRelease = "6.1.0-56-amd64";

// What debootstrap and the kernel's headers leave in a folder.
void MakeChroot(const TempDir& dir) {
  dir.WriteFile("etc/os-release",
                "ID=debian\nVERSION_ID=\"12\"\nVERSION_CODENAME=bookworm\n"
                "PRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\n");
  dir.WriteFile("etc/apt/sources.list", "deb http://mirror.example/debian bookworm main\n");
  dir.WriteFile("lib/modules/6.1.0-56-amd64/build/Makefile", "");
  dir.WriteFile("lib/modules/6.1.0-9-amd64/build/Makefile", "");
  dir.WriteFile("var/lib/dpkg/status", "");
}

const Step* Find(const Plan& plan, std::string_view id) {
  const auto step = std::ranges::find(plan.steps, id, &Step::id);
  return step == plan.steps.end() ? nullptr : &*step;
}

TEST(VersionTest, IsOfTheBranchItBeginsWith) {
  EXPECT_TRUE(IsVersion("580.95.05", "580"));
  EXPECT_TRUE(IsVersion("580.95.05", "580.95.05"));
  EXPECT_FALSE(IsVersion("580.95.05", "58"));
  EXPECT_FALSE(IsVersion("580.95.05", "580.95.0"));
  EXPECT_FALSE(IsVersion("580.95.05", ""));
  EXPECT_FALSE(IsVersion("", "580"));
}

TEST(PlannerTest, ServesAChrootOfDebian12) {
  const TempDir dir;
  MakeChroot(dir);
  const auto root = host::OpenDriverRoot(dir.path(), "", "");
  ASSERT_OK(root);
  NoRunner runner;
  const auto facts = GatherHostFacts(*root, runner, {});
  ASSERT_OK(facts);
  EXPECT_EQ(facts->kernel.release, kRelease);
  const auto plan = PlanDriver(*facts, {});
  ASSERT_OK(plan);
  EXPECT_EQ(plan->version, "535");
  const Step* packages = Find(*plan, "packages");
  ASSERT_NE(packages, nullptr);
  const auto* install = std::get_if<InstallPackages>(&packages->deed);
  ASSERT_NE(install, nullptr);
  EXPECT_THAT(install->names, IsSupersetOf({"nvidia-kernel-dkms", "libcuda1", "nvidia-smi"}));
  EXPECT_EQ(Find(*plan, "load"), nullptr) << "the kernel of a chroot does not run";
}

}  // namespace
}  // namespace kgpu::driver
