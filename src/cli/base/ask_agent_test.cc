#include "src/cli/base/ask_agent.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <unistd.h>

#include <optional>
#include <thread>

#include "src/platform/sys/unix_socket.h"
#include "testing/status_matchers.h"
#include "testing/temp_dir.h"

namespace kgpu::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// Without root's rights over files, for this thread.
class AsNobody {
 public:
  AsNobody() { (void)setfsuid(65534); }
  ~AsNobody() { (void)setfsuid(0); }
  AsNobody(const AsNobody&) = delete;
  AsNobody& operator=(const AsNobody&) = delete;
};

class AskAgentTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (geteuid() != 0) {
      GTEST_SKIP() << "needs root, to become somebody else";
    }
    ASSERT_EQ(chmod(dir_.path().c_str(), 0755), 0);
    auto listener = sys::UnixListener::Listen(dir_.At("agent.sock"), {.mode = 0600});
    ASSERT_OK(listener);
    listener_.emplace(*std::move(listener));
  }

  TempDir dir_;
  std::optional<sys::UnixListener> listener_;
};

TEST_F(AskAgentTest, AMissingPermissionIsNotTakenForAMissingAgent) {
  const AsNobody nobody;
  const Status status =
      PrintFromAgent(dir_.path(), "/v1/status", report::OutputFormat::kTable).status();
  EXPECT_THAT(status, StatusIs(StatusCode::kPermissionDenied,
                               AllOf(HasSubstr("agent.sock: permission denied: run this command "
                                               "as root"))));
  EXPECT_FALSE(IsNoAgent(status));
  EXPECT_THAT(IsAgentRunning(dir_.path()).status(), StatusIs(StatusCode::kPermissionDenied));
}

TEST_F(AskAgentTest, AnAgentThatDoesNotAnswerIsNotTakenForAMissingOne) {
  std::jthread hangs_up([this] {
    while (!listener_->Accept().value()) {
      std::this_thread::yield();
    }
  });
  const Status status =
      PrintFromAgent(dir_.path(), "/v1/status", report::OutputFormat::kTable).status();
  EXPECT_THAT(status, StatusIs(StatusCode::kUnavailable, HasSubstr("the agent does not answer")));
  EXPECT_FALSE(IsNoAgent(status));
  hangs_up.join();
  listener_.reset();
  EXPECT_TRUE(
      IsNoAgent(PrintFromAgent(dir_.path(), "/v1/status", report::OutputFormat::kTable).status()));
}

TEST_F(AskAgentTest, AnAgentRunsWhereItsSocketAnswers) {
  EXPECT_TRUE(IsAgentRunning(dir_.path()).value());
  listener_.reset();
  EXPECT_FALSE(IsAgentRunning(dir_.path()).value());
}

}  // namespace
}  // namespace kgpu::cli
