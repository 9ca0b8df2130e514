#include "src/platform/sys/acceptor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <chrono>
#include <memory>
#include <vector>

#include "src/platform/base/log.h"
#include "testing/sanitizer.h"
#include "testing/status_matchers.h"
#include "testing/temp_dir.h"

namespace kgpu::sys {
namespace {

class AcceptorTest : public ::testing::Test {
 protected:
  // Runs the loop until `count` connections are there, or for ten seconds.
  void RunUntil(size_t count) {
    wanted_ = count;
    const TimerId give_up = loop_->After(std::chrono::seconds(10), [this] { loop_->Quit(); });
    if (connections_.size() < wanted_) {
      loop_->Run();
    }
    loop_->CancelTimer(give_up);
  }

  std::unique_ptr<Acceptor> Accept(const std::string& path) {
    return Acceptor::Create(*loop_, UnixListener::Listen(path, {}).value(),
                            [this](UniqueFd fd) {
                              connections_.push_back(std::move(fd));
                              if (connections_.size() >= wanted_) {
                                loop_->Quit();
                              }
                            })
        .value();
  }

  TempDir dir_;
  std::unique_ptr<EpollLoop> loop_ = EpollLoop::Create().value();
  std::vector<UniqueFd> connections_;
  size_t wanted_ = 0;
};

TEST_F(AcceptorTest, HandsOverEveryConnection) {
  const auto acceptor = Accept(dir_.At("s"));
  std::vector<UniqueFd> clients;
  clients.reserve(40);
  for (int i = 0; i < 40; ++i) {
    clients.push_back(ConnectUnix(dir_.At("s")).value());
  }
  RunUntil(40);
  EXPECT_EQ(connections_.size(), 40U);
}

TEST_F(AcceptorTest, GoesOnAfterDescriptorsRanOut) {
  if (kHasAddressSanitizer) {
    GTEST_SKIP() << "UBSan opens descriptors itself when it looks at an object's type";
  }
  const auto acceptor = Accept(dir_.At("s"));
  const UniqueFd client = ConnectUnix(dir_.At("s")).value();
  rlimit limit = {};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
  // No descriptor can be made any more, until the loop has met that.
  const rlimit none = {.rlim_cur = 0, .rlim_max = limit.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  loop_->After(std::chrono::milliseconds(50), [&] { setrlimit(RLIMIT_NOFILE, &limit); });
  RunUntil(1);
  EXPECT_EQ(connections_.size(), 1U);
}

TEST_F(AcceptorTest, HandsOverConnectionsOfTcp) {
  TcpListener listener = TcpListener::Listen(TcpAddress::Parse("127.0.0.1:0").value()).value();
  const TcpAddress address = TcpAddress::Parse(listener.address()).value();
  const auto acceptor = Acceptor::Create(*loop_, std::move(listener), [this](UniqueFd fd) {
                          connections_.push_back(std::move(fd));
                          loop_->Quit();
                        }).value();
  EXPECT_TRUE(acceptor->IsInPlace());
  EXPECT_EQ(acceptor->path(), address.str());
  const UniqueFd client = StartConnectTcp(address).value();
  RunUntil(1);
  EXPECT_EQ(connections_.size(), 1U);
}

TEST_F(AcceptorTest, TakesItsSocketAlong) {
  auto acceptor = Accept(dir_.At("s"));
  EXPECT_TRUE(acceptor->IsInPlace());
  acceptor.reset();
  EXPECT_THAT(ConnectUnix(dir_.At("s")), StatusIs(StatusCode::kNotFound));
}

}  // namespace
}  // namespace kgpu::sys
