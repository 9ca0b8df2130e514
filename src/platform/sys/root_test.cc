#include "src/platform/sys/root.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <csignal>
#include <filesystem>

#include "src/platform/base/unique_fd.h"
#include "testing/status_matchers.h"
#include "testing/temp_dir.h"

namespace kgpu::sys {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class RootTest : public ::testing::Test {
 protected:
  TempDir dir_;
  Root root_ = Root::Open(dir_.path()).value();
};

TEST_F(RootTest, ReadsAFileWithOrWithoutLeadingSlash) {
  dir_.WriteFile("proc/version", "Linux");
  EXPECT_THAT(root_.ReadFile("proc/version"), IsOkAndHolds("Linux"));
  EXPECT_THAT(root_.ReadFile("/proc/version"), IsOkAndHolds("Linux"));
}

TEST_F(RootTest, RefusesAFileOverTheLimit) {
  dir_.WriteFile("big", std::string(101, 'x'));
  EXPECT_THAT(root_.ReadFile("big", 100),
              StatusIs(StatusCode::kOutOfRange, HasSubstr("100 bytes")));
  EXPECT_THAT(root_.ReadFile("big", 101), IsOkAndHolds(std::string(101, 'x')));
}

// Whoever owns a file can take one. Source: fcntl(2).
TEST_F(RootTest, ALeaseOfAnotherIsAnErrorAndNoLoop) {
  (void)signal(SIGIO, SIG_IGN);  // "somebody opens it"
  dir_.WriteFile("leased", "text");
  const UniqueFd fd(open(dir_.At("leased").c_str(), O_RDONLY | O_CLOEXEC));
  if (fcntl(fd.get(), F_SETLEASE, F_WRLCK) != 0) {
    GTEST_SKIP() << "this file system has no leases";
  }
  EXPECT_THAT(root_.ReadFile("leased"), StatusIs(StatusCode::kUnavailable));
  ASSERT_EQ(fcntl(fd.get(), F_SETLEASE, F_UNLCK), 0);
  EXPECT_THAT(root_.ReadFile("leased"), IsOkAndHolds("text"));
}

TEST_F(RootTest, NamesTheWholePathInErrors) {
  EXPECT_THAT(root_.ReadFile("etc/absent"),
              StatusIs(StatusCode::kNotFound, HasSubstr(dir_.At("etc/absent"))));
}

TEST_F(RootTest, AnAbsoluteLinkStaysBelowTheRoot) {
  dir_.WriteFile("etc/passwd", "ours");
  dir_.Symlink("/etc/passwd", "lib/link");
  EXPECT_THAT(root_.ReadFile("lib/link"), IsOkAndHolds("ours"));
}

TEST_F(RootTest, DotDotStopsAtTheRoot) {
  dir_.WriteFile("etc/passwd", "ours");
  dir_.Symlink("../../../../../../etc/passwd", "lib/link");
  EXPECT_THAT(root_.ReadFile("lib/link"), IsOkAndHolds("ours"));
  EXPECT_THAT(root_.ReadFile("../../../../etc/passwd"), IsOkAndHolds("ours"));
}

TEST_F(RootTest, ResolveFollowsEveryLink) {
  dir_.WriteFile("usr/lib/libcuda.so.535.1", "");
  dir_.Symlink("libcuda.so.535.1", "usr/lib/libcuda.so.1");
  dir_.Symlink("usr/lib", "lib");
  EXPECT_THAT(root_.Resolve("lib/libcuda.so.1"), IsOkAndHolds("/usr/lib/libcuda.so.535.1"));
  EXPECT_THAT(root_.Resolve("/"), IsOkAndHolds("/"));
}

TEST_F(RootTest, FollowsLinksForFunctionsThatTakePaths) {
  dir_.MakeDir("data/kubelet");
  dir_.MakeDir("var/lib");
  dir_.Symlink("/data/kubelet", "var/lib/kubelet");
  EXPECT_THAT(root_.FollowLinks("/var/lib/kubelet"), IsOkAndHolds(dir_.At("data/kubelet")));
  EXPECT_THAT(root_.FollowLinks("/var/lib/kubelet/a/b"), IsOkAndHolds(dir_.At("data/kubelet/a/b")));
  EXPECT_THAT(root_.FollowLinks("var/lib/kgpu"), IsOkAndHolds(dir_.At("var/lib/kgpu")));
  EXPECT_THAT(root_.FollowLinks("new/kgpu"), IsOkAndHolds(dir_.At("new/kgpu")));
  dir_.Symlink("/etc/kubelet", "var/lib/gone");
  EXPECT_THAT(root_.FollowLinks("/var/lib/gone/a"),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("var/lib/gone is a link")));
}

TEST_F(RootTest, ARootThatWasMovedIsNotTakenForOneBelowItself) {
  dir_.WriteFile("driver/file", "");
  const Root moved = Root::Open(dir_.At("driver")).value();
  EXPECT_THAT(moved.Resolve("file"), IsOkAndHolds("/file"));
  std::filesystem::rename(dir_.At("driver"), dir_.At("driver.new"));
  EXPECT_THAT(moved.Resolve("file"), StatusIs(StatusCode::kUnavailable, HasSubstr("was moved")));
}

TEST_F(RootTest, ALinkThatPointsAtItselfIsAnErrorNotALoop) {
  dir_.Symlink("loop", "loop");
  EXPECT_THAT(root_.ReadFile("loop"), StatusIs(StatusCode::kInvalidArgument));
}

TEST_F(RootTest, ListsAFolderSorted) {
  dir_.WriteFile("d/b", "");
  dir_.WriteFile("d/a", "");
  dir_.MakeDir("d/c");
  EXPECT_THAT(root_.ListDir("d"), IsOkAndHolds(ElementsAre("a", "b", "c")));
  EXPECT_THAT(root_.ListDir("absent"), StatusIs(StatusCode::kNotFound));
  EXPECT_THAT(root_.ListDir("d/a"), StatusIs(StatusCode::kInvalidArgument));
}

TEST_F(RootTest, ReadsTheTextOfALink) {
  dir_.Symlink("/any/where", "link");
  dir_.WriteFile("file", "");
  EXPECT_THAT(root_.ReadLink("link"), IsOkAndHolds("/any/where"));
  EXPECT_THAT(root_.ReadLink("file"), StatusIs(StatusCode::kInvalidArgument));
}

TEST_F(RootTest, StatFollowsLinksAndLinkStatDoesNot) {
  dir_.WriteFile("file", "abc");
  dir_.Symlink("file", "link");
  EXPECT_EQ(root_.Stat("link")->st_size, 3);
  EXPECT_TRUE(S_ISLNK(root_.LinkStat("link")->st_mode));
}

TEST_F(RootTest, AFifoDoesNotBlockTheReader) {
  ASSERT_EQ(mkfifo(dir_.At("fifo").c_str(), 0600), 0);
  EXPECT_THAT(root_.ReadFile("fifo"), IsOkAndHolds(""));
}

TEST_F(RootTest, AtJoinsWithoutDoubleSlash) {
  EXPECT_EQ(root_.At("/a/b"), dir_.path() + "/a/b");
  EXPECT_EQ(Root::Open("/").value().At("a"), "/a");
  EXPECT_EQ(Root::Open("/").value().At("/"), "/");
}

TEST_F(RootTest, OpenRefusesWhatIsNotAFolder) {
  dir_.WriteFile("file", "");
  EXPECT_FALSE(Root::Open(dir_.At("file")).ok());
  EXPECT_THAT(Root::Open(dir_.At("absent")), StatusIs(StatusCode::kNotFound));
}

TEST_F(RootTest, EveryDescriptorIsCloseOnExec) {
  dir_.WriteFile("file", "");
  const UniqueFd fd = root_.OpenFile("file", O_RDONLY).value();
  EXPECT_NE(fcntl(fd.get(), F_GETFD) & FD_CLOEXEC, 0);
}

TEST(HostRootTest, AnswersAsAnyOther) {
  const Root root = Root::Open("/").value();
  EXPECT_TRUE(S_ISCHR(root.LinkStat("dev/null").value().st_mode));
  EXPECT_TRUE(S_ISLNK(root.LinkStat("/proc/self").value().st_mode));
  EXPECT_THAT(root.LinkStat("/no/such/file").status(),
              StatusIs(StatusCode::kNotFound, ::testing::HasSubstr("/no/such/file")));
  EXPECT_EQ(root.Resolve("/proc/../dev/null").value(), "/dev/null");
}

}  // namespace
}  // namespace kgpu::sys
