#include "src/host/facts/facts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/status_matchers.h"
#include "testing/temp_dir.h"

namespace kgpu::host {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

class SilentRunner : public sys::ProgramRunner {
 public:
  StatusOr<sys::RunResult> Run(const sys::RunRequest&) override { return Unavailable("no"); }
};

class FactsTest : public ::testing::Test {
 protected:
  static DriverRoot Open(const TempDir& dir, const std::string& driver = "") {
    return OpenDriverRoot(dir.path(), driver, "").value();
  }
  static void AddLibrary(const TempDir& dir, const std::string& below) {
    dir.WriteFile(below + "usr/lib/x86_64-linux-gnu/libnvidia-ml.so.535.104.05", "");
  }

  const TempDir dir_;
};

TEST_F(FactsTest, FindADriverBesideTheHostsOwnFiles) {
  EXPECT_FALSE(FindOtherRoot(Open(dir_)).has_value());
  AddLibrary(dir_, "run/nvidia/driver/");
  const auto other = FindOtherRoot(Open(dir_));
  ASSERT_TRUE(other.has_value());
  EXPECT_THAT(other->driver.path(), HasSubstr("run/nvidia/driver"));
  EXPECT_EQ(other->host.path(), Open(dir_).host.path());
  AddLibrary(dir_, "");
  EXPECT_FALSE(FindOtherRoot(Open(dir_)).has_value()) << "the host has its own";
}

TEST_F(FactsTest, KeepToTheRootThatIsNamed) {
  AddLibrary(dir_, "run/nvidia/driver/");
  dir_.MakeDir("opt/driver");
  EXPECT_FALSE(FindOtherRoot(Open(dir_, "/opt/driver")).has_value());
}

TEST_F(FactsTest, TellOfADriverByItsFilesAlone) {
  SilentRunner runner;
  EXPECT_FALSE(GatherFacts(Open(dir_), runner).has_driver());
  AddLibrary(dir_, "");
  dir_.WriteFile("usr/bin/nvidia-uninstall", "");
  const Facts facts = GatherFacts(Open(dir_), runner);
  EXPECT_TRUE(facts.has_driver());
  EXPECT_TRUE(facts.has_runfile);
  EXPECT_THAT(facts.driver.library_versions, ElementsAre("535.104.05"));
}

TEST_F(FactsTest, SayWhatCouldNotBeSeen) {
  SilentRunner runner;
  EXPECT_THAT(GatherFacts(Open(dir_), runner).unreadable,
              ElementsAre(HasSubstr("/sys/bus not found"), HasSubstr("proc/devices"),
                          HasSubstr("proc/modules")));
}

TEST(SightTest, SaysASentenceOnce) {
  const TempDir dir;
  const sys::Root root = sys::Root::Open(dir.path()).value();
  std::vector<std::string> unreadable;
  Sight sight(root, unreadable);
  sight.Say("a");
  sight.Say("b");
  sight.Say("a");
  EXPECT_THAT(unreadable, ElementsAre("a", "b"));
  EXPECT_FALSE(sight.Text("missing").has_value());
  EXPECT_THAT(unreadable, SizeIs(2)) << "what is not there is not reported";
}

}  // namespace
}  // namespace kgpu::host
