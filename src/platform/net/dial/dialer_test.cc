#include "src/platform/net/dial/dialer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <array>
#include <memory>
#include <optional>
#include <string>

#include "src/platform/sys/tcp_socket.h"
#include "src/platform/sys/unix_socket.h"
#include "testing/fake_loop.h"
#include "testing/run_until.h"
#include "testing/status_matchers.h"
#include "testing/temp_dir.h"

namespace kgpu::net {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

sys::TcpListener ListenAt(const std::string& address) {
  return sys::TcpListener::Listen(sys::TcpAddress::Parse(address).value()).value();
}

uint16_t PortOf(const sys::TcpListener& listener) {
  const std::string& address = listener.address();
  return static_cast<uint16_t>(std::stoi(address.substr(address.rfind(':') + 1)));
}

class DialTest : public ::testing::Test {
 protected:
  void Begin(const Endpoint& endpoint, const Proxy& proxy = {}) {
    result_.reset();
    dial_ = Dial::Start(loop_, endpoint, proxy, [this](StatusOr<UniqueFd> result) {
      result_ = std::move(result);
      dial_.reset();
    });
    EXPECT_FALSE(result_.has_value());
  }
  Status Finish() {
    EXPECT_TRUE(RunUntil(loop_, [this] { return result_.has_value(); }));
    return result_ ? result_->status() : Internal("no result");
  }
  int Socket() const { return result_ && result_->ok() ? (*result_)->get() : -1; }
  // What a proxy that answers `answer` was asked.
  std::string ThroughProxy(const std::string& answer, const std::string& authorization = "") {
    const sys::TcpListener proxy = ListenAt("127.0.0.1:0");
    Begin({.host = "api.test", .port = 6443},
          {.host = "127.0.0.1", .port = PortOf(proxy), .authorization = authorization});
    std::string asked;
    std::optional<UniqueFd> peer;
    const WatchId watch = loop_.WatchReadable(proxy.fd(), [&] { peer = AcceptOn(proxy); }).value();
    EXPECT_TRUE(RunUntil(loop_, [&] { return peer.has_value(); }));
    loop_.Unwatch(watch);
    std::array<char, 1000> bytes{};
    const WatchId read =
        loop_
            .WatchReadable(Fd(peer),
                           [&] {
                             const ssize_t count = recv(Fd(peer), bytes.data(), bytes.size(), 0);
                             asked.append(bytes.data(),
                                          static_cast<size_t>(std::max<ssize_t>(count, 0)));
                           })
            .value();
    EXPECT_TRUE(RunUntil(loop_, [&] { return asked.ends_with("\r\n\r\n"); }));
    loop_.Unwatch(read);
    EXPECT_EQ(send(Fd(peer), answer.data(), answer.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(answer.size()));
    peer.reset();
    return asked;
  }
  static int Fd(const std::optional<UniqueFd>& socket) { return socket ? socket->get() : -1; }
  static std::optional<UniqueFd> AcceptOn(const sys::TcpListener& listener) {
    auto accepted = const_cast<sys::TcpListener&>(listener).Accept();
    return accepted.ok() ? *std::move(accepted) : std::nullopt;
  }

  FakeLoop loop_;
  std::unique_ptr<Dial> dial_;
  std::optional<StatusOr<UniqueFd>> result_;
};

TEST_F(DialTest, Connects) {
  const sys::TcpListener listener = ListenAt("127.0.0.1:0");
  Begin({.host = "127.0.0.1", .port = PortOf(listener)});
  ASSERT_OK(Finish());
  int value = 0;
  socklen_t size = sizeof(value);
  const int fd = Socket();
  EXPECT_EQ(getsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &value, &size), 0);
  EXPECT_EQ(value, 30);
  EXPECT_EQ(getsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &value, &size), 0);
  EXPECT_EQ(value, 1);
}

TEST_F(DialTest, ConnectsOverIpv6) {
  auto listener = sys::TcpListener::Listen(sys::TcpAddress::Parse("[::1]:0").value());
  if (!listener.ok()) {
    GTEST_SKIP() << "no IPv6 here";
  }
  Begin({.host = "::1", .port = PortOf(*listener)});
  EXPECT_OK(Finish());
}

TEST_F(DialTest, TriesEachAddressOfAName) {
  // Of both families, most often; only one of them is listened at.
  const sys::TcpListener listener = ListenAt("127.0.0.1:0");
  Begin({.host = "localhost", .port = PortOf(listener)});
  EXPECT_OK(Finish());
}

TEST_F(DialTest, ConnectsToAUnixSocket) {
  const TempDir dir;
  const auto listener = sys::UnixListener::Listen(dir.At("s"), {});
  ASSERT_OK(listener);
  Begin({.kind = Endpoint::Kind::kUnix, .host = dir.At("s")});
  EXPECT_OK(Finish());
  Begin({.kind = Endpoint::Kind::kUnix, .host = dir.At("none")});
  EXPECT_THAT(Finish(), StatusIs(StatusCode::kNotFound));
}

TEST_F(DialTest, SaysThatNobodyListens) {
  uint16_t port = 0;
  {
    const sys::TcpListener listener = ListenAt("127.0.0.1:0");
    port = PortOf(listener);
  }
  Begin({.host = "127.0.0.1", .port = port});
  EXPECT_THAT(Finish(), StatusIs(StatusCode::kUnavailable, HasSubstr("connection refused")));
  EXPECT_EQ(loop_.watches(), 0U);
  EXPECT_EQ(loop_.timers(), 0U);
}

TEST_F(DialTest, MayBeGivenUp) {
  const sys::TcpListener listener = ListenAt("127.0.0.1:0");
  Begin({.host = "127.0.0.1", .port = PortOf(listener)});
  dial_.reset();
  loop_.Advance(std::chrono::seconds(60));
  EXPECT_FALSE(result_.has_value());
  EXPECT_EQ(loop_.watches(), 0U);
}

TEST_F(DialTest, AsksAProxyForATunnel) {
  EXPECT_EQ(ThroughProxy("HTTP/1.1 200 Connection established\r\nVia: x\r\n\r\nTLS", "Basic abc"),
            "CONNECT api.test:6443 HTTP/1.1\r\nHost: api.test:6443\r\n"
            "Proxy-Authorization: Basic abc\r\n\r\n");
  ASSERT_OK(Finish());
  // What comes behind the proxy's header is the server's.
  std::array<char, 10> bytes{};
  EXPECT_EQ(recv(Socket(), bytes.data(), bytes.size(), 0), 3);
}

TEST_F(DialTest, SaysWhatAProxySaid) {
  ThroughProxy("HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 5\r\n\r\nhello",
               "Basic secret");
  EXPECT_THAT(Finish(),
              StatusIs(StatusCode::kPermissionDenied,
                       AllOf(HasSubstr("set them in proxy-url"), Not(HasSubstr("secret")))));
  ThroughProxy("HTTP/1.1 503 No\r\n\r\n");
  EXPECT_THAT(Finish(), StatusIs(StatusCode::kUnavailable, HasSubstr("answered 503")));
  ThroughProxy("SSH-2.0\r\n\r\n");
  EXPECT_THAT(Finish(), StatusIs(StatusCode::kUnavailable, HasSubstr("with HTTP")));
  ThroughProxy("HTTP/1.1 200");
  EXPECT_THAT(Finish(), StatusIs(StatusCode::kUnavailable, HasSubstr("closed the connection")));
}

TEST(ProxyTest, ReadsItsAddress) {
  const auto proxy = Proxy::Parse("http://jane:p%40ss@proxy.test:3128");
  ASSERT_OK(proxy);
  EXPECT_EQ(proxy->host, "proxy.test");
  EXPECT_EQ(proxy->port, 3128);
  EXPECT_EQ(proxy->authorization, "Basic amFuZTpwQHNz");
  const auto plain = Proxy::Parse("http://[fd00::1]");
  ASSERT_OK(plain);
  EXPECT_EQ(plain->host, "fd00::1");
  EXPECT_EQ(plain->port, 80);
}

TEST(ProxyTest, RefusesWhatItCannotUse) {
  EXPECT_THAT(Proxy::Parse("socks5://h:1"), StatusIs(StatusCode::kUnimplemented));
  EXPECT_THAT(Proxy::Parse("https://h:1"), StatusIs(StatusCode::kUnimplemented));
  for (const std::string url : {"", "h:1", "http://", "http://u:secret@", "http://h/path"}) {
    EXPECT_THAT(Proxy::Parse(url), StatusIs(StatusCode::kInvalidArgument, Not(HasSubstr("secret"))))
        << url;
  }
}

}  // namespace
}  // namespace kgpu::net
