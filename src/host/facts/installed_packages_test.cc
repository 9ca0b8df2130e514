#include "src/host/facts/installed_packages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/status_matchers.h"
#include "testing/temp_dir.h"

namespace kgpu::host {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

TEST(DpkgStatusTest, HasWhatIsInstalledAndWhatIsHeld) {
  EXPECT_THAT(ParseDpkgStatus("Package: a\nStatus: install ok installed\nVersion: 1:2-3\n\n"
                              "Package: b\nStatus: deinstall ok config-files\nVersion: 1\n\n"
                              "Package: c\nVersion: 4\nStatus: hold ok installed\n"),
              ElementsAre(Pair("a", InstalledPackage{"1:2-3", false}),
                          Pair("c", InstalledPackage{"4", true})));
  EXPECT_THAT(ParseDpkgStatus("Status: install ok installed\n\n"), IsEmpty());
}

TEST(DpkgStatusTest, HasWhatIsNotConfigured) {
  EXPECT_THAT(ParseDpkgStatus("Package: a\nStatus: install ok half-configured\nVersion: 1\n\n"
                              "Package: b\nStatus: install ok unpacked\nVersion: 2\n\n"
                              "Package: c\nStatus: install ok half-installed\nVersion: 3\n\n"
                              "Package: d\nStatus: install ok triggers-awaited\nVersion: 4\n\n"),
              ElementsAre(Pair("a", InstalledPackage{"1", false, true}),
                          Pair("b", InstalledPackage{"2", false, true}),
                          Pair("d", InstalledPackage{"4", false, false})));
}

TEST(RpmListTest, HasNamesAndVersions) {
  EXPECT_THAT(ParseRpmList("kernel-core\t5.14.0-570.el9\nno version\n\t1\n"),
              ElementsAre(Pair("kernel-core", InstalledPackage{"5.14.0-570.el9", false})));
}

TEST(UpstreamVersionTest, LeavesOutWhatThePackagersAdded) {
  EXPECT_EQ(UpstreamVersion("3:580.95.05-1.el9"), "580.95.05");
  EXPECT_EQ(UpstreamVersion("535.261.03-1~deb12u1"), "535.261.03");
  EXPECT_EQ(UpstreamVersion("580.95.05_k6.4.0_150600-1"), "580.95.05");
}

class RpmRunner : public sys::ProgramRunner {
 public:
  StatusOr<sys::RunResult> Run(const sys::RunRequest& request) override {
    argv_ = request.argv;
    return result_;
  }
  void Answer(int code, const std::string& out) {
    result_.exit.code = code;
    result_.out = out;
  }
  const std::vector<std::string>& argv() const { return argv_; }

 private:
  std::vector<std::string> argv_;
  sys::RunResult result_;
};

TEST(AskRpmTest, GivesWhatMatches) {
  const TempDir dir;
  dir.WriteFile("usr/bin/rpm", "");
  const sys::Root root = sys::Root::Open(dir.path()).value();
  RpmRunner runner;
  runner.Answer(0, "nvidia-driver\t580.95.05-1.el9\n");
  const auto packages = AskRpm(root, runner, "*nvidia*");
  ASSERT_OK(packages);
  EXPECT_THAT(*packages, ElementsAre(Pair("nvidia-driver", InstalledPackage{"580.95.05-1.el9"})));
  EXPECT_EQ(runner.argv().front(), "/usr/bin/rpm");
  EXPECT_EQ(runner.argv().back(), "*nvidia*");
}

TEST(AskRpmTest, SaysWhyItKnowsNothing) {
  const TempDir dir;
  const sys::Root root = sys::Root::Open(dir.path()).value();
  RpmRunner runner;
  EXPECT_THAT(AskRpm(root, runner, "*"),
              StatusIs(StatusCode::kNotFound, HasSubstr("rpm not found")));
  EXPECT_THAT(runner.argv(), IsEmpty());
  dir.WriteFile("usr/bin/rpm", "");
  runner.Answer(1, "");
  EXPECT_THAT(AskRpm(root, runner, "*"),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("rpm: ")));
}

}  // namespace
}  // namespace kgpu::host
