#include "src/platform/sys/unix_socket.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include "testing/status_matchers.h"
#include "testing/temp_dir.h"

namespace kgpu::sys {
namespace {

using ::testing::HasSubstr;

bool HasFile(const std::string& path) {
  return std::filesystem::exists(std::filesystem::symlink_status(path));
}

TEST(UnixSocketTest, ConnectsToAListenerAtALongPath) {
  const TempDir dir;
  const std::string folder = dir.At(std::string(120, 'd'));
  std::filesystem::create_directory(folder);
  auto listener = UnixListener::Listen(folder + "/s", {});
  ASSERT_OK(listener.status());
  EXPECT_OK(ConnectUnix(folder + "/s").status());
  auto connection = listener->Accept();
  ASSERT_OK(connection.status());
  EXPECT_TRUE(connection->has_value());
}

TEST(UnixSocketTest, AcceptsNothingWhileNobodyConnects) {
  const TempDir dir;
  auto listener = UnixListener::Listen(dir.At("s"), {});
  ASSERT_OK(listener.status());
  auto connection = listener->Accept();
  ASSERT_OK(connection.status());
  EXPECT_FALSE(connection->has_value());
}

TEST(UnixSocketTest, TellsAMissingSocketFromADeafOne) {
  const TempDir dir;
  EXPECT_THAT(ConnectUnix(dir.At("s")), StatusIs(StatusCode::kNotFound));
  {
    // A file without a listener, as a killed server leaves it.
    auto listener = UnixListener::Listen(dir.At("s"), {});
    ASSERT_OK(listener.status());
    std::filesystem::rename(dir.At("s"), dir.At("left"));
  }
  EXPECT_THAT(ConnectUnix(dir.At("left")),
              StatusIs(StatusCode::kUnavailable, HasSubstr("connection refused")));
}

TEST(UnixSocketTest, FollowsALinkOnlyWhereItMay) {
  const TempDir dir;
  auto listener = UnixListener::Listen(dir.At("s"), {});
  ASSERT_OK(listener.status());
  EXPECT_OK(ConnectUnix(dir.At("s"), Links::kRefuse).status());
  std::filesystem::create_symlink(dir.At("s"), dir.At("link"));
  EXPECT_OK(ConnectUnix(dir.At("link")).status());
  EXPECT_THAT(ConnectUnix(dir.At("link"), Links::kRefuse),
              StatusIs(StatusCode::kPermissionDenied, HasSubstr("not a socket")));
  EXPECT_THAT(ConnectUnix(dir.At("none"), Links::kRefuse), StatusIs(StatusCode::kNotFound));
  dir.WriteFile("file", "");
  EXPECT_FALSE(ConnectUnix(dir.At("file"), Links::kRefuse).ok());
}

TEST(UnixSocketTest, AServerThatIsTooBusyStillListens) {
  const TempDir dir;
  EXPECT_THAT(IsListening(dir.At("none/s")), IsOkAndHolds(false));
  EXPECT_THAT(IsListening(dir.At("s")), IsOkAndHolds(false));
  auto listener = UnixListener::Listen(dir.At("s"), {.backlog = 1});
  ASSERT_OK(listener.status());
  std::vector<UniqueFd> waiting;
  StatusOr<UniqueFd> next = ConnectUnix(dir.At("s"));
  for (; next.ok() && waiting.size() < 10; next = ConnectUnix(dir.At("s"))) {
    waiting.push_back(*std::move(next));
  }
  ASSERT_THAT(next, StatusIs(StatusCode::kUnavailable, HasSubstr("too busy")));
  EXPECT_THAT(IsListening(dir.At("s")), IsOkAndHolds(true));
  // And nobody takes its path.
  EXPECT_THAT(UnixListener::Listen(dir.At("s"), {}), StatusIs(StatusCode::kAlreadyExists));
}

TEST(UnixSocketTest, ReplacesASocketThatNobodyAnswers) {
  const TempDir dir;
  {
    auto listener = UnixListener::Listen(dir.At("a"), {});
    ASSERT_OK(listener.status());
    std::filesystem::rename(dir.At("a"), dir.At("s"));
  }
  EXPECT_OK(UnixListener::Listen(dir.At("s"), {}).status());
}

TEST(UnixSocketTest, RefusesThePathOfALiveServer) {
  const TempDir dir;
  auto listener = UnixListener::Listen(dir.At("s"), {});
  ASSERT_OK(listener.status());
  EXPECT_THAT(UnixListener::Listen(dir.At("s"), {}),
              StatusIs(StatusCode::kAlreadyExists, HasSubstr("stop it first")));
}

TEST(UnixSocketTest, RefusesAPathThatIsNoSocket) {
  const TempDir dir;
  std::filesystem::create_directory(dir.At("s"));
  EXPECT_THAT(UnixListener::Listen(dir.At("s"), {}),
              StatusIs(StatusCode::kAlreadyExists, HasSubstr("not a socket")));
}

TEST(UnixSocketTest, RemovesItsOwnFileAndNobodyElses) {
  const TempDir dir;
  {
    auto listener = UnixListener::Listen(dir.At("s"), {});
    ASSERT_OK(listener.status());
    EXPECT_TRUE(listener->IsInPlace());
  }
  EXPECT_FALSE(HasFile(dir.At("s")));
  {
    auto first = UnixListener::Listen(dir.At("s"), {});
    ASSERT_OK(first.status());
    std::filesystem::rename(dir.At("s"), dir.At("moved"));
    auto second = UnixListener::Listen(dir.At("s"), {});
    ASSERT_OK(second.status());
    EXPECT_FALSE(first->IsInPlace());
    first = std::move(second);
    EXPECT_TRUE(HasFile(dir.At("s")));
  }
  EXPECT_FALSE(HasFile(dir.At("s")));
}

TEST(UnixSocketTest, SetsTheModeAndClosesOnExec) {
  const TempDir dir;
  auto listener = UnixListener::Listen(dir.At("s"), {.mode = 0660});
  ASSERT_OK(listener.status());
  struct stat file = {};
  ASSERT_EQ(stat(dir.At("s").c_str(), &file), 0);
  EXPECT_EQ(file.st_mode & 07777, 0660U);
  EXPECT_NE(fcntl(listener->fd(), F_GETFD) & FD_CLOEXEC, 0);
}

}  // namespace
}  // namespace kgpu::sys
