#include "src/platform/net/http/server_connection.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <string>

namespace kgpu::http {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr WallTime kConnectionNow{std::chrono::seconds(784111777)};
constexpr std::string_view kPlainGet = "GET /a HTTP/1.1\r\nHost: h\r\n\r\n";
constexpr std::string_view kPost = "POST /b HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nxyz";

// All that waits to be sent.
std::string Sent(ServerConnection& connection) {
  std::string bytes;
  while (!connection.output().empty()) {
    std::array<iovec, OutputQueue::kMaxPieces> pieces{};
    const size_t count = connection.output().Fill(pieces);
    for (size_t i = 0; i < count; ++i) {
      bytes.append(static_cast<const char*>(pieces.at(i).iov_base), pieces.at(i).iov_len);
    }
    connection.output().Consume(bytes.size());
  }
  return bytes;
}

class ServerConnectionTest : public ::testing::Test {
 protected:
  void Receive(std::string_view bytes) { http_.Receive(bytes, kConnectionNow); }

  ServerConnection http_{{.header = 300, .body = 100}};
};

TEST_F(ServerConnectionTest, GoesThroughTheStatesOfARequest) {
  EXPECT_EQ(http_.phase(), Phase::kIdle);
  Receive("\r\n");
  EXPECT_EQ(http_.phase(), Phase::kIdle) << "an empty line is no request";
  Receive(kPost.substr(0, 10));
  EXPECT_EQ(http_.phase(), Phase::kHeader);
  Receive(kPost.substr(10, kPost.size() - 12));
  EXPECT_EQ(http_.phase(), Phase::kBody);
  Receive(kPost.substr(kPost.size() - 2));
  ASSERT_EQ(http_.phase(), Phase::kReady);
  EXPECT_EQ(http_.TakeRequest().body, "xyz");
  EXPECT_EQ(http_.phase(), Phase::kHandling);
  http_.Respond(TextResponse(200, "ok"), kConnectionNow);
  EXPECT_EQ(http_.phase(), Phase::kIdle);
  EXPECT_THAT(Sent(http_), StartsWith("HTTP/1.1 200 OK\r\n"));
}

TEST(JudgingConnectionTest, AsksForTheBodyOnceTheRequestIsAdmitted) {
  ServerConnection connection({.header = 300, .body = 100}, true);
  connection.Receive(
      "POST /b HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n",
      kConnectionNow);
  ASSERT_TRUE(connection.awaits_verdict());
  EXPECT_EQ(connection.Head().path, "/b");
  EXPECT_EQ(connection.Head().headers.Find("content-length"), "3");
  EXPECT_EQ(Sent(connection), "");
  connection.Admit();
  EXPECT_FALSE(connection.awaits_verdict());
  EXPECT_THAT(Sent(connection), StartsWith("HTTP/1.1 100 "));
  connection.Receive("xyz", kConnectionNow);
  ASSERT_EQ(connection.phase(), Phase::kReady);
  EXPECT_EQ(connection.TakeRequest().body, "xyz");
}

TEST(JudgingConnectionTest, TakesNoBodyOfARefusedRequest) {
  ServerConnection connection({.header = 300, .body = 100}, true);
  connection.Receive(kPost.substr(0, kPost.size() - 1), kConnectionNow);
  ASSERT_TRUE(connection.awaits_verdict());
  Response refusal = TextResponse(401, "no token");
  refusal.headers.Add("WWW-Authenticate", "Bearer");
  connection.Refuse(refusal, kConnectionNow);
  EXPECT_EQ(connection.body_size(), 0U);
  EXPECT_FALSE(connection.wants_input());
  const std::string sent = Sent(connection);
  EXPECT_THAT(sent, StartsWith("HTTP/1.1 401 "));
  EXPECT_THAT(sent, HasSubstr("\r\nWWW-Authenticate: Bearer\r\n"));
  EXPECT_THAT(sent, EndsWith("no token\n"));
}

TEST_F(ServerConnectionTest, AnswersHeadWithTheLengthThatTheHandlerKnows) {
  constexpr std::string_view kHead = "HEAD /a HTTP/1.1\r\nHost: h\r\n\r\n";
  const auto answer_of = [&](Response response) {
    Receive(kHead);
    (void)http_.TakeRequest();
    http_.Respond(std::move(response), kConnectionNow);
    return Sent(http_);
  };
  EXPECT_THAT(answer_of({.headers = {{"Content-Length", "70"}}}),
              HasSubstr("\r\nContent-Length: 70\r\n"));
  EXPECT_THAT(answer_of({.body = "four"}), HasSubstr("\r\nContent-Length: 4\r\n"));
  EXPECT_THAT(answer_of({}), Not(HasSubstr("Content-Length")));
  EXPECT_THAT(answer_of({.body = "four"}), EndsWith("\r\n\r\n"));
}

TEST_F(ServerConnectionTest, RefusesAHostThatIsNone) {
  Receive("GET /a HTTP/1.1\r\nHost: a b/c\r\n\r\n");
  EXPECT_THAT(Sent(http_), StartsWith("HTTP/1.1 400 "));
}

TEST_F(ServerConnectionTest, LetsRequestsThatCameEarlyWait) {
  Receive(std::string(kPlainGet) + std::string(kPost) + std::string(kPlainGet));
  for (const std::string path : {"/a", "/b", "/a"}) {
    ASSERT_EQ(http_.phase(), Phase::kReady);
    EXPECT_EQ(http_.TakeRequest().path, path);
    http_.Respond(TextResponse(200, path), kConnectionNow);
    EXPECT_THAT(Sent(http_), HasSubstr("\r\n\r\n" + path));
  }
  EXPECT_EQ(http_.phase(), Phase::kIdle);
}

TEST_F(ServerConnectionTest, WantsNoMoreWhileEnoughWaits) {
  Receive(kPlainGet);
  (void)http_.TakeRequest();
  EXPECT_TRUE(http_.wants_input());
  Receive(std::string(300, 'G'));
  EXPECT_FALSE(http_.wants_input());
}

TEST_F(ServerConnectionTest, RefusesAndCloses) {
  Receive("nonsense\r\n\r\n");
  EXPECT_EQ(http_.phase(), Phase::kClosing);
  EXPECT_FALSE(http_.wants_input());
  const std::string sent = Sent(http_);
  EXPECT_THAT(sent, StartsWith("HTTP/1.1 400 Bad Request\r\n"));
  EXPECT_THAT(sent, HasSubstr("\r\nConnection: close\r\n"));
  Receive(kPlainGet);
  EXPECT_EQ(http_.phase(), Phase::kClosing);
}

TEST_F(ServerConnectionTest, AnswersGoodRequestsBeforeItRefusesABadOne) {
  Receive(std::string(kPlainGet) + "nonsense\r\n\r\n");
  ASSERT_EQ(http_.phase(), Phase::kReady);
  (void)http_.TakeRequest();
  http_.Respond(TextResponse(200, "ok"), kConnectionNow);
  const std::string sent = Sent(http_);
  EXPECT_THAT(sent, StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(sent, HasSubstr("HTTP/1.1 400"));
}

TEST_F(ServerConnectionTest, PermitsABodyThatIsWaitedFor) {
  const std::string header =
      "POST / HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n";
  Receive(header);
  EXPECT_EQ(Sent(http_), "HTTP/1.1 100 Continue\r\n\r\n");
  Receive("x");
  EXPECT_EQ(Sent(http_), "") << "once is enough";
  Receive("yz");
  ASSERT_EQ(http_.phase(), Phase::kReady);
  (void)http_.TakeRequest();
  http_.Respond(TextResponse(200, "ok"), kConnectionNow);
  (void)Sent(http_);
  Receive(header);
  EXPECT_EQ(Sent(http_), "HTTP/1.1 100 Continue\r\n\r\n") << "of the next request too";
}

TEST_F(ServerConnectionTest, EndsAfterTheRequestInProgress) {
  Receive(kPlainGet);
  (void)http_.TakeRequest();
  http_.Shutdown();
  Receive(kPlainGet);
  http_.Respond(TextResponse(200, "last"), kConnectionNow);
  EXPECT_EQ(http_.phase(), Phase::kClosing) << "the next request is too late";
  const std::string sent = Sent(http_);
  EXPECT_THAT(sent, HasSubstr("\r\nConnection: close\r\n"));
  EXPECT_THAT(sent, EndsWith("last\n"));
}

TEST_F(ServerConnectionTest, AStreamInProgressGoesOnToItsEnd) {
  Receive(kPlainGet);
  (void)http_.TakeRequest();
  http_.BeginStream({}, kConnectionNow);
  http_.Shutdown();
  ASSERT_EQ(http_.phase(), Phase::kStreaming);
  http_.Write("more");
  http_.EndStream(kConnectionNow);
  EXPECT_EQ(http_.phase(), Phase::kClosing);
  EXPECT_THAT(Sent(http_), EndsWith("more\r\n0\r\n\r\n"));
}

TEST_F(ServerConnectionTest, TheFirstRequestMayComeAfterAShutdown) {
  http_.Shutdown();
  Receive(kPlainGet);
  ASSERT_EQ(http_.phase(), Phase::kReady);
  (void)http_.TakeRequest();
  http_.Respond(TextResponse(200, "ok"), kConnectionNow);
  EXPECT_EQ(http_.phase(), Phase::kClosing);
}

TEST_F(ServerConnectionTest, AnIdleConnectionEndsAtAShutdown) {
  Receive(kPlainGet);
  (void)http_.TakeRequest();
  http_.Respond(TextResponse(200, "ok"), kConnectionNow);
  http_.Shutdown();
  EXPECT_EQ(http_.phase(), Phase::kClosing);
}

TEST_F(ServerConnectionTest, SendsNoBodyForHead) {
  Receive("HEAD / HTTP/1.1\r\nHost: h\r\n\r\n");
  (void)http_.TakeRequest();
  http_.Respond(TextResponse(200, "12345"), kConnectionNow);
  const std::string sent = Sent(http_);
  EXPECT_THAT(sent, HasSubstr("Content-Length: 6\r\n"));
  EXPECT_TRUE(sent.ends_with("\r\n\r\n"));
  EXPECT_EQ(http_.phase(), Phase::kIdle);
}

TEST_F(ServerConnectionTest, StreamsInChunks) {
  Receive(kPlainGet);
  (void)http_.TakeRequest();
  http_.BeginStream({.body = "one"}, kConnectionNow);
  EXPECT_EQ(http_.phase(), Phase::kStreaming);
  http_.Write("");
  http_.Write("three");
  http_.EndStream(kConnectionNow);
  EXPECT_THAT(Sent(http_), HasSubstr("chunked\r\nConnection: keep-alive\r\n\r\n"
                                     "3\r\none\r\n5\r\nthree\r\n0\r\n\r\n"));
  EXPECT_EQ(http_.phase(), Phase::kIdle);
}

TEST_F(ServerConnectionTest, StreamsUntilCloseToOldClients) {
  Receive("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
  (void)http_.TakeRequest();
  http_.BeginStream({.body = "one"}, kConnectionNow);
  http_.Write("two");
  http_.EndStream(kConnectionNow);
  const std::string sent = Sent(http_);
  EXPECT_TRUE(sent.ends_with("\r\nConnection: close\r\n\r\nonetwo")) << sent;
  EXPECT_THAT(sent, Not(HasSubstr("chunked")));
  EXPECT_EQ(http_.phase(), Phase::kClosing);
}

TEST_F(ServerConnectionTest, EndsAStreamForHeadWithItsHead) {
  Receive("HEAD / HTTP/1.1\r\nHost: h\r\n\r\n");
  (void)http_.TakeRequest();
  http_.BeginStream({.body = "one"}, kConnectionNow);
  EXPECT_EQ(http_.phase(), Phase::kIdle);
  EXPECT_TRUE(Sent(http_).ends_with("\r\n\r\n"));
}

TEST_F(ServerConnectionTest, ClosesWhenAskedTo) {
  Receive("GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
  (void)http_.TakeRequest();
  http_.Respond(TextResponse(200, "ok"), kConnectionNow);
  EXPECT_EQ(http_.phase(), Phase::kClosing);
}

TEST_F(ServerConnectionTest, AnswersAPeerThatSendsNoMore) {
  Receive(std::string(kPlainGet) + std::string(kPlainGet) + "GET /ha");
  http_.ReceiveEnd();
  for (int i = 0; i < 2; ++i) {
    ASSERT_EQ(http_.phase(), Phase::kReady);
    (void)http_.TakeRequest();
    http_.Respond(TextResponse(200, "ok"), kConnectionNow);
  }
  EXPECT_EQ(http_.phase(), Phase::kClosing);
}

TEST_F(ServerConnectionTest, ClosesWithAPeerThatAsksNothing) {
  Receive("GET /ha");
  http_.ReceiveEnd();
  EXPECT_EQ(http_.phase(), Phase::kClosing);
  EXPECT_EQ(Sent(http_), "");
}

TEST_F(ServerConnectionTest, EndsAStreamToAPeerThatHasGone) {
  Receive(kPlainGet);
  (void)http_.TakeRequest();
  http_.BeginStream({}, kConnectionNow);
  http_.ReceiveEnd();
  EXPECT_EQ(http_.phase(), Phase::kClosing);
}

TEST_F(ServerConnectionTest, SendsTheSharedFrontBeforeTheBody) {
  Receive(kPlainGet);
  (void)http_.TakeRequest();
  const auto front = std::make_shared<const std::string>("one ");
  http_.Respond({.shared_front = front, .body = "two"}, kConnectionNow);
  const std::string sent = Sent(http_);
  EXPECT_THAT(sent, HasSubstr("Content-Length: 7\r\n"));
  EXPECT_THAT(sent, EndsWith("\r\n\r\none two"));
}

TEST(OutputQueueTest, KeepsSharedBytesUntilTheyHaveGone) {
  OutputQueue queue;
  auto bytes = std::make_shared<const std::string>("abc");
  const std::weak_ptr<const std::string> held = bytes;
  queue.AppendShared(nullptr);
  queue.AppendShared(std::move(bytes));
  queue.Append("d");
  EXPECT_EQ(queue.size(), 4U);
  queue.Consume(1);
  EXPECT_FALSE(held.expired());
  queue.Consume(2);
  EXPECT_TRUE(held.expired());
  EXPECT_EQ(queue.size(), 1U);
}

TEST(OutputQueueTest, ForgetsWhatHasGone) {
  OutputQueue queue;
  for (int i = 0; i < 20; ++i) {
    queue.Append("ab");
  }
  queue.Append("");
  EXPECT_EQ(queue.size(), 40U);
  queue.Consume(5);
  std::array<iovec, OutputQueue::kMaxPieces> pieces{};
  EXPECT_EQ(queue.Fill(pieces), pieces.size());
  EXPECT_EQ(std::string_view(static_cast<const char*>(pieces[0].iov_base), pieces[0].iov_len), "b");
  queue.Consume(35);
  EXPECT_TRUE(queue.empty());
  EXPECT_EQ(queue.Fill(pieces), 0U);
}

}  // namespace
}  // namespace kgpu::http
