#include "src/platform/net/dial/resolver.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "src/platform/base/unique_fd.h"
#include "testing/fake_loop.h"
#include "testing/run_until.h"
#include "testing/status_matchers.h"

namespace kgpu::net {
namespace {

using std::chrono::milliseconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A DNS server that knows one name. Source: RFC 1035, section 4.
class TinyDns {
 public:
  explicit TinyDns(FakeLoop& loop) : loop_(loop) {
    socket_.Reset(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(bind(socket_.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
    socklen_t size = sizeof(address);
    EXPECT_EQ(getsockname(socket_.get(), reinterpret_cast<sockaddr*>(&address), &size), 0);
    port_ = ntohs(address.sin_port);
    watch_ = loop_.WatchReadable(socket_.get(), [this] { OnQuestion(); }).value();
  }
  ~TinyDns() { loop_.Unwatch(watch_); }
  TinyDns(const TinyDns&) = delete;
  TinyDns& operator=(const TinyDns&) = delete;

  std::string address() const { return fmt::format("127.0.0.1:{}", port_); }
  void SetSilent() { is_silent_ = true; }

 private:
  void OnQuestion() {
    std::array<char, 512> bytes{};
    sockaddr_storage peer{};
    socklen_t peer_size = sizeof(peer);
    const ssize_t size = recvfrom(socket_.get(), bytes.data(), bytes.size(), 0,
                                  reinterpret_cast<sockaddr*>(&peer), &peer_size);
    if (size < 17 || is_silent_) {
      return;
    }
    const std::string question(bytes.data(), static_cast<size_t>(size));
    const std::string reply = ReplyTo(question);
    (void)sendto(socket_.get(), reply.data(), reply.size(), 0, reinterpret_cast<sockaddr*>(&peer),
                 peer_size);
  }

  static std::string ReplyTo(const std::string& question) {
    const bool is_known = question.find(std::string("\x03"
                                                    "api\x04"
                                                    "test\0",
                                                    10)) != question.npos;
    const size_t end = question.find('\0', 12) + 1;
    const char type = question[end + 1];
    const std::string body =
        type == 1 ? Record(1, "\x0a\x00\x00\x01", 4) + Record(1, "\x0a\x00\x00\x02", 4)
                  : Record(28, "\xfd\x00\0\0\0\0\0\0\0\0\0\0\0\0\0\x07", 16);
    std::string reply = question.substr(0, 2);
    reply += is_known ? std::string("\x81\x80\0\1\0\0\0\0\0\0", 10)
                      : std::string("\x81\x83\0\1\0\0\0\0\0\0", 10);
    if (is_known) {
      reply[7] = type == 1 ? 2 : 1;
    }
    reply += question.substr(12, end + 4 - 12);
    return is_known ? reply + body : reply;
  }

  static std::string Record(char type, const char* data, char size) {
    return std::string("\xc0\x0c\0", 3) + type + std::string("\0\1\0\0\0\x3c\0", 7) + size +
           std::string(data, static_cast<size_t>(size));
  }

  FakeLoop& loop_;
  UniqueFd socket_;
  uint16_t port_ = 0;
  WatchId watch_ = WatchId::kNone;
  bool is_silent_ = false;
};

class ResolverTest : public ::testing::Test {
 protected:
  void Begin(const std::string& name) {
    lookup_ = Lookup::Start(loop_, name,
                            [this](StatusOr<std::vector<std::string>> result) {
                              result_ = std::move(result);
                              lookup_.reset();
                            },
                            {.servers = dns_.address()});
    EXPECT_FALSE(result_.has_value());
  }
  StatusOr<std::vector<std::string>> Resolve(const std::string& name) {
    result_.reset();
    Begin(name);
    EXPECT_TRUE(RunUntil(loop_, [this] { return result_.has_value(); }));
    return result_.value_or(Internal("no result"));
  }

  FakeLoop loop_;
  TinyDns dns_{loop_};
  std::unique_ptr<Lookup> lookup_;
  std::optional<StatusOr<std::vector<std::string>>> result_;
};

TEST_F(ResolverTest, AnAddressIsItsOwnAnswer) {
  EXPECT_THAT(Resolve("10.1.2.3"), IsOkAndHolds(ElementsAre("10.1.2.3")));
  EXPECT_THAT(Resolve("fd00::1"), IsOkAndHolds(ElementsAre("fd00::1")));
}

TEST_F(ResolverTest, AsksForBothFamiliesAndTakesThemInTurns) {
  const auto result = Resolve("api.test");
  ASSERT_OK(result);
  EXPECT_EQ(result->size(), 3U);
  EXPECT_THAT(*result, ::testing::UnorderedElementsAre("10.0.0.1", "10.0.0.2", "fd00::7"));
  // Never two of one kind first while there is one of the other.
  EXPECT_NE(result->at(0).find(':') == std::string::npos,
            result->at(1).find(':') == std::string::npos);
  EXPECT_EQ(loop_.watches(), 1U);  // of the server
  EXPECT_EQ(loop_.timers(), 0U);
}

TEST_F(ResolverTest, SaysThatThereIsNoSuchName) {
  EXPECT_THAT(Resolve("other.test"),
              StatusIs(StatusCode::kNotFound, HasSubstr("other.test: host not found")));
}

TEST_F(ResolverTest, DoesNotWaitForEver) {
  dns_.SetSilent();
  Begin("api.test");
  for (int i = 0; i < 100 && !result_; ++i) {
    loop_.Advance(milliseconds(100));
  }
  ASSERT_TRUE(result_.has_value());
  EXPECT_THAT(*result_, StatusIs(StatusCode::kUnavailable, HasSubstr("no answer from DNS")));
}

TEST_F(ResolverTest, MayBeGivenUp) {
  dns_.SetSilent();
  Begin("api.test");
  loop_.RunUntilIdle();
  lookup_.reset();
  EXPECT_EQ(loop_.watches(), 1U);
  EXPECT_EQ(loop_.timers(), 0U);
}

}  // namespace
}  // namespace kgpu::net
