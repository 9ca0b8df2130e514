#include "src/host/facts/os_release.h"

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

TEST(OsReleaseTest, TakesQuotesOff) {
  EXPECT_THAT(ParseOsRelease("ID=debian\nNAME=\"Debian GNU/Linux\"\nVARIANT='server'\n"),
              ElementsAre(Pair("ID", "debian"), Pair("NAME", "Debian GNU/Linux"),
                          Pair("VARIANT", "server")));
}

TEST(OsReleaseTest, SplitsTheVersion) {
  const auto parts = [](const std::string& version) {
    auto values = ParseOsRelease("VERSION_ID=" + version);
    values.erase("VERSION_ID");
    return values;
  };
  EXPECT_THAT(parts("\"22.04\""),
              ElementsAre(Pair("VERSION_ID.major", "22"), Pair("VERSION_ID.minor", "04")));
  EXPECT_THAT(parts("8.5.2111"),
              ElementsAre(Pair("VERSION_ID.major", "8"), Pair("VERSION_ID.minor", "5")));
  EXPECT_THAT(parts("12"), ElementsAre(Pair("VERSION_ID.major", "12")));
  EXPECT_THAT(parts("9.x"), ElementsAre(Pair("VERSION_ID.major", "9")));
  EXPECT_THAT(parts("15-SP4"), IsEmpty());
  EXPECT_THAT(parts("rolling.1"), IsEmpty());
}

TEST(OsReleaseTest, LeavesOutWhatIsNoAssignment) {
  EXPECT_THAT(ParseOsRelease("# comment\n\nID\n=x\nA B=c\nEMPTY=\n"), IsEmpty());
  EXPECT_THAT(ParseOsRelease("ID=\"\"\r\n"), ElementsAre(Pair("ID", "")));
}

class ReadOsReleaseTest : public ::testing::Test {
 protected:
  StatusOr<std::string> Read() const { return ReadOsRelease(sys::Root::Open(dir_.path()).value()); }

  TempDir dir_;
};

TEST_F(ReadOsReleaseTest, TakesTheAdminsFileFirst) {
  dir_.WriteFile("usr/lib/os-release", "ID=debian\n");
  EXPECT_EQ(Read().value_or(""), "ID=debian\n");
  dir_.WriteFile("etc/os-release", "ID=own\n");
  EXPECT_EQ(Read().value_or(""), "ID=own\n");
}

TEST_F(ReadOsReleaseTest, TakesTheOtherWhereTheFirstCannotBeRead) {
  dir_.WriteFile("usr/lib/os-release", "ID=debian\n");
  dir_.WriteFile("etc/os-release", std::string(size_t{1} << 20, 'x'));
  EXPECT_EQ(Read().value_or(""), "ID=debian\n");
}

TEST_F(ReadOsReleaseTest, NamesTheFileThatIsMissing) {
  EXPECT_THAT(Read(), StatusIs(StatusCode::kNotFound, HasSubstr("etc/os-release")));
}

}  // namespace
}  // namespace kgpu::host
