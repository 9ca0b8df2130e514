#include "src/platform/net/http/event_feed.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <array>
#include <string>
#include <vector>

#include "src/platform/base/strings.h"
#include "src/platform/sys/unix_socket.h"
#include "testing/fake_loop.h"
#include "testing/temp_dir.h"

namespace kgpu::http {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class EventFeedTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(server_.Listen(address_).ok()); }
  UniqueFd Follow() {
    UniqueFd socket = sys::ConnectUnix(address_).value();
    constexpr std::string_view kRequest = "GET /events HTTP/1.1\r\nHost: h\r\n\r\n";
    EXPECT_EQ(send(socket.get(), kRequest.data(), kRequest.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(kRequest.size()));
    loop_.RunUntilIdle();
    return socket;
  }
  static std::string ReceivedBy(const UniqueFd& socket) {
    std::string bytes;
    std::array<char, 4096> part{};
    for (ssize_t count = 0;
         (count = recv(socket.get(), part.data(), part.size(), MSG_DONTWAIT)) > 0;) {
      bytes.append(part.data(), static_cast<size_t>(count));
    }
    return bytes;
  }

  FakeLoop loop_;
  TempDir dir_;
  const std::string address_ = dir_.At("feed.sock");
  int texts_ = 0;
  std::vector<bool> watched_;
  EventFeed feed_{loop_,
                  {.text = [this] { return fmt::format("text {}", ++texts_); },
                   .watched = [this](bool is_watched) { watched_.push_back(is_watched); }}};
  Server server_{loop_,
                 [this](const Request&, const Responder& responder) { feed_.Listen(responder); }};
};

TEST_F(EventFeedTest, AListenerGetsTheTextAndItsChanges) {
  const UniqueFd socket = Follow();
  const std::string first = ReceivedBy(socket);
  EXPECT_THAT(first, StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(first, HasSubstr("data: text 1\n\n"));
  feed_.Changed();
  feed_.Changed();
  loop_.Advance(EventFeed::kSameFor);
  EXPECT_THAT(ReceivedBy(socket), HasSubstr("data: text 2\n\n"));
  loop_.Advance(std::chrono::minutes(1));
  EXPECT_EQ(ReceivedBy(socket), "") << "nothing has changed";
  EXPECT_THAT(watched_, ElementsAre(true));
}

TEST_F(EventFeedTest, NobodyIsWatchedForOnceTheListenersAreGone) {
  {
    const UniqueFd socket = Follow();
    loop_.Advance(std::chrono::minutes(5));
    EXPECT_TRUE(feed_.is_watched());
  }
  loop_.RunUntilIdle();
  loop_.Advance(EventFeed::kWatchTime);
  EXPECT_FALSE(feed_.is_watched());
  EXPECT_THAT(watched_, ElementsAre(true, false));
  feed_.Changed();
  loop_.Advance(std::chrono::minutes(1));
  EXPECT_EQ(texts_, 1) << "no text for nobody";
}

TEST_F(EventFeedTest, ListenersAreLimited) {
  std::vector<UniqueFd> sockets;
  for (size_t i = 0; i < EventFeed::kMostListeners; ++i) {
    sockets.push_back(Follow());
    EXPECT_THAT(ReceivedBy(sockets.back()), StartsWith("HTTP/1.1 200"));
  }
  EXPECT_THAT(ReceivedBy(Follow()), StartsWith("HTTP/1.1 503"));
  sockets.pop_back();
  loop_.RunUntilIdle();
  EXPECT_THAT(ReceivedBy(Follow()), StartsWith("HTTP/1.1 200")) << "one has gone";
  EXPECT_EQ(texts_, 1) << "one text for all";
}

}  // namespace
}  // namespace kgpu::http
