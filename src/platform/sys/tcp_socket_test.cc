#include "src/platform/sys/tcp_socket.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>

#include <string>

#include "testing/status_matchers.h"

namespace kgpu::sys {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(TcpAddressTest, ReadsAddressesOfBothKinds) {
  for (const std::string text : {"127.0.0.1:9401", "0.0.0.0:1", "[::1]:65535", "[::]:80"}) {
    const auto address = TcpAddress::Parse(text);
    ASSERT_OK(address) << text;
    EXPECT_EQ(address->str(), text);
  }
}

TEST(TcpAddressTest, TakesAPortAloneForEveryAddress) {
  const auto address = TcpAddress::Parse(":9401");
  ASSERT_OK(address);
  EXPECT_TRUE(address->is_any());
  EXPECT_EQ(address->str(), "[::]:9401");
}

TEST(TcpAddressTest, KnowsAddressesOfThisHostAlone) {
  for (const auto& [text, is_loopback] :
       std::initializer_list<std::pair<const char*, bool>>{{"127.0.0.1:1", true},
                                                           {"127.9.9.9:1", true},
                                                           {"[::1]:1", true},
                                                           {"128.0.0.1:1", false},
                                                           {"0.0.0.0:1", false},
                                                           {"[::]:1", false},
                                                           {"[::ffff:127.0.0.1]:1", false},
                                                           {":1", false}}) {
    EXPECT_EQ(TcpAddress::Parse(text).value().is_loopback(), is_loopback) << text;
  }
}

TEST(TcpAddressTest, NamesWhatItTakesWhereItTakesNot) {
  for (const std::string text : {"", ":", "9401", "127.0.0.1", "127.0.0.1:", "127.0.0.1:65536",
                                 "127.0.0.1:-1", "localhost:80", "[::1:80", "::1:80",
                                 "[127.0.0.1]:80", "1.2.3:80", "127.0.0.1:80x", "[]:80"}) {
    EXPECT_THAT(TcpAddress::Parse(text),
                StatusIs(StatusCode::kInvalidArgument, HasSubstr("IP:PORT")))
        << text;
  }
}

// Waits until a connection that was begun is made or has failed.
Status Outcome(const UniqueFd& socket, const TcpAddress& address) {
  pollfd polled{.fd = socket.get(), .events = POLLOUT, .revents = 0};
  EXPECT_EQ(poll(&polled, 1, 10'000), 1);
  return ConnectResult(socket, address);
}

TEST(TcpListenerTest, TakesConnections) {
  auto listener = TcpListener::Listen(TcpAddress::Parse("127.0.0.1:0").value());
  ASSERT_OK(listener);
  EXPECT_THAT(listener->address(), StartsWith("127.0.0.1:"));
  auto none = listener->Accept();
  ASSERT_OK(none);
  EXPECT_FALSE(none->has_value());

  const TcpAddress address = TcpAddress::Parse(listener->address()).value();
  const auto client = StartConnectTcp(address);
  ASSERT_OK(client);
  EXPECT_OK(Outcome(*client, address));
  EXPECT_EQ(PeerAddress(client->get()), "127.0.0.1");
  EXPECT_EQ(PeerAddress(listener->fd()), "") << "it has no other end";
  auto connection = listener->Accept();
  ASSERT_OK(connection);
  EXPECT_TRUE(connection->has_value());
}

TEST(TcpListenerTest, EveryAddressTakesIpv4) {
  auto listener = TcpListener::Listen(TcpAddress::Parse(":0").value());
  ASSERT_OK(listener);
  const std::string port = listener->address().substr(listener->address().rfind(':'));
  const TcpAddress address = TcpAddress::Parse("127.0.0.1" + port).value();
  const auto client = StartConnectTcp(address);
  ASSERT_OK(client);
  EXPECT_OK(Outcome(*client, address));
}

TEST(TcpListenerTest, SaysThatAnotherListensThere) {
  const auto first = TcpListener::Listen(TcpAddress::Parse("127.0.0.1:0").value());
  ASSERT_OK(first);
  EXPECT_THAT(TcpListener::Listen(TcpAddress::Parse(first->address()).value()),
              StatusIs(StatusCode::kAlreadyExists, HasSubstr(first->address())));
}

TEST(TcpListenerTest, SaysThatTheHostHasNoSuchAddress) {
  // Source: RFC 5737, an address for documents.
  EXPECT_THAT(TcpListener::Listen(TcpAddress::Parse("192.0.2.1:0").value()),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("192.0.2.1")));
}

TEST(ConnectTcpTest, SaysThatNobodyListens) {
  // A port that somebody listened on a moment ago.
  TcpAddress address;
  {
    const auto listener = TcpListener::Listen(TcpAddress::Parse("127.0.0.1:0").value());
    ASSERT_OK(listener);
    address = TcpAddress::Parse(listener->address()).value();
  }
  const auto client = StartConnectTcp(address);
  const Status outcome = client.ok() ? Outcome(*client, address) : client.status();
  EXPECT_THAT(outcome, StatusIs(StatusCode::kUnavailable, HasSubstr("connection refused")));
}

}  // namespace
}  // namespace kgpu::sys
