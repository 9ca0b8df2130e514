#include "src/platform/net/http/idle_connections.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "testing/fake_loop.h"

namespace kgpu::http {
namespace {

using std::chrono::seconds;

class IdleConnectionsTest : public ::testing::Test {
 protected:
  std::shared_ptr<ClientConnection> NewConnection() {
    int ends[2] = {-1, -1};
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends), 0);
    servers_.emplace_back(ends[1]);
    return ClientConnection::Open(loop_, UniqueFd(ends[0]), nullptr, "test", {}).value();
  }

  FakeLoop loop_;
  std::vector<UniqueFd> servers_;
  IdleConnections idle_{loop_, {.max = 2, .limit = seconds(20)}};
};

TEST_F(IdleConnectionsTest, GivesTheOneThatWasUsedLast) {
  EXPECT_EQ(idle_.Take(), nullptr);
  const auto first = NewConnection();
  const auto second = NewConnection();
  idle_.Keep(first);
  idle_.Keep(second);
  EXPECT_EQ(idle_.Take(), second);
  EXPECT_EQ(idle_.Take(), first);
  EXPECT_EQ(idle_.Take(), nullptr);
}

TEST_F(IdleConnectionsTest, KeepsNoMoreThanItMay) {
  const auto oldest = NewConnection();
  idle_.Keep(oldest);
  idle_.Keep(NewConnection());
  idle_.Keep(NewConnection());
  EXPECT_EQ(idle_.size(), 2U);
  EXPECT_FALSE(oldest->IsReusable());
}

TEST_F(IdleConnectionsTest, ClosesWhatNobodyUses) {
  idle_.Keep(NewConnection());
  loop_.Advance(seconds(15));
  idle_.Keep(NewConnection());
  loop_.Advance(seconds(5));
  EXPECT_EQ(idle_.size(), 1U);
  loop_.Advance(seconds(15));
  EXPECT_EQ(idle_.size(), 0U);
  EXPECT_EQ(loop_.timers(), 0U) << "nothing is left to do";
}

TEST_F(IdleConnectionsTest, ForgetsWhatTheServerCloses) {
  idle_.Keep(NewConnection());
  servers_.clear();
  loop_.RunUntilIdle();
  EXPECT_EQ(idle_.size(), 0U);
  EXPECT_EQ(idle_.Take(), nullptr);
}

TEST_F(IdleConnectionsTest, ReadsOnWhatWasPaused) {
  const auto connection = NewConnection();
  connection->Pause();
  idle_.Keep(connection);
  servers_.clear();
  loop_.RunUntilIdle();
  EXPECT_EQ(idle_.size(), 0U) << "it has seen the server's end";
}

TEST_F(IdleConnectionsTest, RefusesWhatCannotBeUsedAgain) {
  const auto closed = NewConnection();
  closed->Close();
  idle_.Keep(closed);
  EXPECT_EQ(idle_.size(), 0U);
}

}  // namespace
}  // namespace kgpu::http
