#include "src/platform/net/http/server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <array>
#include <cerrno>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "src/platform/sys/tcp_socket.h"
#include "src/platform/sys/unix_socket.h"
#include "testing/fake_loop.h"
#include "testing/status_matchers.h"
#include "testing/temp_dir.h"

namespace kgpu::http {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr std::string_view kGet = "GET /a HTTP/1.1\r\nHost: h\r\n\r\n";

// The other end of a connection.
class Client {
 public:
  explicit Client(UniqueFd socket) : socket_(std::move(socket)) {}

  // What the socket takes at once.
  size_t Send(std::string_view bytes) const {
    const ssize_t count = send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    return count > 0 ? static_cast<size_t>(count) : 0;
  }
  void SendEnd() const { (void)shutdown(socket_.get(), SHUT_WR); }
  void Vanish() { socket_.Reset(); }

  // What is there, at most `limit` bytes of it.
  std::string Receive(size_t limit = SIZE_MAX) {
    std::string bytes;
    std::array<char, 4096> part{};
    while (bytes.size() < limit) {
      const ssize_t count = recv(socket_.get(), part.data(), part.size(), MSG_DONTWAIT);
      is_closed_ = is_closed_ || count == 0 || (count < 0 && errno != EAGAIN);
      if (count <= 0) {
        break;
      }
      bytes.append(part.data(), static_cast<size_t>(count));
    }
    return bytes;
  }
  // As Receive has seen it.
  bool is_closed() const { return is_closed_; }

 private:
  UniqueFd socket_;
  bool is_closed_ = false;
};

std::string BodyOf(const std::string& answer) {
  const size_t end = answer.find("\r\n\r\n");
  return end == std::string::npos ? "" : answer.substr(end + 4);
}

class HttpServerTest : public ::testing::Test {
 protected:
  void Serve(Server::Handler handler, const ServerOptions& options = {}) {
    server_ = std::make_unique<Server>(loop_, std::move(handler), options);
    ASSERT_OK(server_->Listen(path_));
  }
  // Answers with the path.
  void ServePaths(const ServerOptions& options = {}) {
    Serve([](const Request& request,
             const Responder& responder) { responder.Send(TextResponse(200, request.path)); },
          options);
  }
  // Keeps the responders.
  void ServeLater(const ServerOptions& options = {}) {
    Serve([this](const Request&, Responder responder) { waiting_.push_back(std::move(responder)); },
          options);
  }
  Client Connect() {
    Client client(sys::ConnectUnix(path_).value());
    loop_.RunUntilIdle();
    return client;
  }
  std::string Ask(Client& client, std::string_view request) {
    client.Send(request);
    loop_.RunUntilIdle();
    return client.Receive();
  }

  TempDir dir_;
  const std::string path_ = dir_.At("s");
  FakeLoop loop_;
  std::vector<Responder> waiting_;
  std::unique_ptr<Server> server_;
};

TEST_F(HttpServerTest, Answers) {
  ServePaths();
  Client client = Connect();
  EXPECT_EQ(Ask(client, kGet),
            "HTTP/1.1 200 OK\r\nContent-Type: text/plain; charset=utf-8\r\n"
            "Date: Tue, 14 Nov 2023 22:13:20 GMT\r\nContent-Length: 3\r\n"
            "Connection: keep-alive\r\n\r\n/a\n");
  EXPECT_FALSE(client.is_closed());
  EXPECT_EQ(BodyOf(Ask(client, kGet)), "/a\n");
}

TEST_F(HttpServerTest, AnswersRequestsThatComeByteByByte) {
  ServePaths();
  Client client = Connect();
  std::string answer;
  for (const char byte : std::string(kGet) + std::string(kGet)) {
    answer += Ask(client, {&byte, 1});
  }
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(answer, HasSubstr("/a\nHTTP/1.1 200"));
}

TEST_F(HttpServerTest, AnswersInTheOrderOfTheRequests) {
  ServeLater();
  Client client = Connect();
  EXPECT_EQ(Ask(client, std::string(kGet) + std::string(kGet)), "");
  ASSERT_EQ(waiting_.size(), 1U) << "one at a time";
  waiting_[0].Send(TextResponse(200, "one"));
  EXPECT_EQ(BodyOf(client.Receive()), "one\n");
  ASSERT_EQ(waiting_.size(), 2U);
  waiting_[0].Send(TextResponse(200, "one again"));
  EXPECT_EQ(client.Receive(), "");
  waiting_[1].Send(TextResponse(200, "two"));
  EXPECT_EQ(BodyOf(client.Receive()), "two\n");
}

TEST_F(HttpServerTest, AnswersThousandsOfRequestsThatCameTogether) {
  size_t asked = 0;
  Serve([&](const Request&, const Responder& responder) {
    ++asked;
    responder.Send({.code = 204});
  });
  Client client = Connect();
  std::string many;
  for (int i = 0; i < 3000; ++i) {
    many += kGet;
  }
  size_t sent = 0;
  size_t answers = 0;
  while (answers < 3000) {
    sent += client.Send(std::string_view(many).substr(sent));
    loop_.RunUntilIdle();
    const std::string bytes = client.Receive();
    for (size_t at = bytes.find("\r\n\r\n"); at != std::string::npos;
         at = bytes.find("\r\n\r\n", at + 1)) {
      ++answers;
    }
    ASSERT_FALSE(client.is_closed());
  }
  EXPECT_EQ(asked, 3000U);
}

TEST_F(HttpServerTest, ServesManyConnections) {
  ServePaths();
  std::vector<Client> clients;
  for (int i = 0; i < 64; ++i) {
    clients.push_back(Connect());
  }
  EXPECT_EQ(server_->connections(), 64U);
  for (int round = 0; round < 3; ++round) {
    for (Client& client : clients) {
      EXPECT_EQ(BodyOf(Ask(client, kGet)), "/a\n");
    }
  }
}

TEST_F(HttpServerTest, RefusesConnectionsPastItsLimit) {
  ServeLater({.limits = {}, .max_connections = 2});
  Client first = Connect();
  Client second = Connect();
  EXPECT_EQ(Ask(first, kGet), "");
  EXPECT_EQ(Ask(second, kGet), "");
  Client third = Connect();
  // The request may be on its way when the refusal is sent: it must not cut it off.
  EXPECT_THAT(Ask(third, kGet), StartsWith("HTTP/1.1 503"));
  EXPECT_TRUE(third.is_closed());
  ASSERT_EQ(waiting_.size(), 2U);
  waiting_[0].Send(TextResponse(200, "first"));
  EXPECT_EQ(BodyOf(first.Receive()), "first\n");
  Client fourth = Connect();
  EXPECT_EQ(Ask(fourth, kGet), "");
  EXPECT_EQ(waiting_.size(), 3U) << "whose answer has gone makes room";
}

TEST_F(HttpServerTest, ClientsThatAskNothingKeepNobodyOut) {
  ServePaths({.limits = {}, .max_connections = 4});
  std::vector<Client> silent;
  for (int i = 0; i < 4; ++i) {
    silent.push_back(Connect());
  }
  silent[1].Send(kGet.substr(0, 5));
  loop_.RunUntilIdle();
  for (int i = 0; i < 3; ++i) {
    Client client = Connect();
    EXPECT_EQ(BodyOf(Ask(client, kGet)), "/a\n");
  }
  EXPECT_LE(server_->connections(), 4U);
  EXPECT_EQ(silent[0].Receive(), "");
  EXPECT_TRUE(silent[0].is_closed()) << "the oldest goes first";
  EXPECT_EQ(silent[3].Receive(), "");
  EXPECT_FALSE(silent[3].is_closed());
}

TEST_F(HttpServerTest, MakesRoomWithoutLosingARequestThatHasCome) {
  ServePaths({.limits = {}, .max_connections = 2});
  Client first = Connect();
  EXPECT_EQ(BodyOf(Ask(first, kGet)), "/a\n");
  Client second = Connect();
  EXPECT_EQ(BodyOf(Ask(second, kGet)), "/a\n");
  // The server sees the new connection first, then the request on the oldest one.
  Client third(sys::ConnectUnix(path_).value());
  EXPECT_EQ(BodyOf(Ask(first, kGet)), "/a\n");
  EXPECT_EQ(second.Receive(), "");
  EXPECT_TRUE(second.is_closed());
  EXPECT_EQ(BodyOf(Ask(third, kGet)), "/a\n");
}

TEST_F(HttpServerTest, ClientsThatTakeNoAnswerKeepNobodyOut) {
  const std::string large(size_t{8} << 20, 'x');
  Serve(
      [&](const Request& request, const Responder& responder) {
        responder.Send({.body = request.path == "/large" ? large : "small"});
      },
      {.limits = {}, .max_connections = 2});
  std::vector<Client> slow;
  for (int i = 0; i < 2; ++i) {
    slow.push_back(Connect());
    slow.back().Send("GET /large HTTP/1.1\r\nHost: h\r\n\r\n");
    loop_.RunUntilIdle();
  }
  Client client = Connect();
  EXPECT_EQ(BodyOf(Ask(client, kGet)), "small");
}

TEST_F(HttpServerTest, GivesWhoConnectsLittleTimeToAsk) {
  ServePaths();
  Client silent = Connect();
  Client client = Connect();
  EXPECT_EQ(BodyOf(Ask(client, kGet)), "/a\n");
  loop_.Advance(seconds(10));
  EXPECT_EQ(silent.Receive(), "");
  EXPECT_TRUE(silent.is_closed());
  EXPECT_EQ(BodyOf(Ask(client, kGet)), "/a\n");
}

TEST_F(HttpServerTest, JustClosesConnectionsFarPastItsLimit) {
  ServeLater({.limits = {}, .max_connections = 1});
  std::vector<Client> clients;
  clients.push_back(Connect());
  EXPECT_EQ(Ask(clients[0], kGet), "");
  for (int i = 1; i < 20; ++i) {
    clients.push_back(Connect());
  }
  EXPECT_THAT(clients[16].Receive(), StartsWith("HTTP/1.1 503"));
  EXPECT_EQ(clients[17].Receive(), "");
  EXPECT_TRUE(clients[17].is_closed());
  // Those that got an answer do not stay for long.
  loop_.Advance(seconds(2));
  Client late = Connect();
  EXPECT_THAT(late.Receive(), StartsWith("HTTP/1.1 503"));
}

TEST_F(HttpServerTest, ClosesAfterTheLastAnswer) {
  ServePaths();
  Client client = Connect();
  EXPECT_EQ(BodyOf(Ask(client, "GET /b HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")), "/b\n");
  EXPECT_TRUE(client.is_closed());
  client.Vanish();
  loop_.RunUntilIdle();
  EXPECT_EQ(loop_.timers(), 0U);
  EXPECT_EQ(loop_.watches(), 1U) << "the listener's";
}

TEST_F(HttpServerTest, AnswersAClientThatSendsNoMore) {
  ServePaths();
  Client client = Connect();
  client.Send(kGet);
  client.SendEnd();
  loop_.RunUntilIdle();
  EXPECT_EQ(BodyOf(client.Receive()), "/a\n");
  EXPECT_TRUE(client.is_closed());
  EXPECT_EQ(server_->connections(), 0U);
}

TEST_F(HttpServerTest, RefusesWhatIsTooLarge) {
  ServePaths();
  Client header = Connect();
  header.Send("GET /" + std::string(size_t{16} << 10, 'a'));
  loop_.RunUntilIdle();
  EXPECT_THAT(header.Receive(), StartsWith("HTTP/1.1 431"));
  Client body = Connect();
  EXPECT_THAT(Ask(body, "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1048577\r\n\r\n0123"),
              StartsWith("HTTP/1.1 413"));
  EXPECT_TRUE(body.is_closed());
}

TEST_F(HttpServerTest, GivesUpARequestThatDoesNotCome) {
  ServePaths();
  Client client = Connect();
  EXPECT_EQ(Ask(client, kGet.substr(0, 5)), "");
  loop_.Advance(seconds(9));
  EXPECT_EQ(Ask(client, kGet.substr(5, 5)), "") << "more of it gives no more time";
  loop_.Advance(seconds(1));
  EXPECT_THAT(client.Receive(), StartsWith("HTTP/1.1 408"));
  EXPECT_TRUE(client.is_closed());
}

TEST_F(HttpServerTest, GivesUpABodyThatDoesNotCome) {
  ServePaths();
  Client client = Connect();
  client.Send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 9\r\n\r\n");
  for (int i = 0; i < 6; ++i) {
    EXPECT_EQ(Ask(client, "x"), "");
    loop_.Advance(seconds(10));
  }
  EXPECT_THAT(client.Receive(), StartsWith("HTTP/1.1 408"));
}

TEST_F(HttpServerTest, ClosesIdleConnections) {
  ServePaths();
  Client client = Connect();
  EXPECT_EQ(BodyOf(Ask(client, kGet)), "/a\n");
  loop_.Advance(seconds(59));
  EXPECT_EQ(BodyOf(Ask(client, kGet)), "/a\n");
  loop_.Advance(seconds(59));
  EXPECT_EQ(client.Receive(), "");
  EXPECT_FALSE(client.is_closed());
  loop_.Advance(seconds(1));
  EXPECT_EQ(client.Receive(), "");
  EXPECT_TRUE(client.is_closed());
}

TEST_F(HttpServerTest, GivesHandlersAllTheTimeTheyTake) {
  ServeLater();
  Client client = Connect();
  Ask(client, kGet);
  loop_.Advance(seconds(3600));
  ASSERT_TRUE(waiting_.at(0).is_open());
  waiting_[0].Send(TextResponse(200, "late"));
  EXPECT_EQ(BodyOf(client.Receive()), "late\n");
  EXPECT_FALSE(waiting_[0].is_open());
}

TEST_F(HttpServerTest, SendsLargeAnswersAsFastAsTheyAreTaken) {
  const std::string large(size_t{8} << 20, 'x');
  Serve([&](const Request&, const Responder& responder) { responder.Send({.body = large}); });
  Client client = Connect();
  client.Send(std::string(kGet) + std::string(kGet));
  size_t received = 0;
  while (received < 2 * large.size()) {
    loop_.RunUntilIdle();
    const size_t part = client.Receive(size_t{1} << 20).size();
    ASSERT_GT(part, 0U);
    received += part;
    loop_.Advance(seconds(30));
  }
}

TEST_F(HttpServerTest, GivesUpAPeerThatTakesNothing) {
  const std::string large(size_t{8} << 20, 'x');
  Serve([&](const Request&, const Responder& responder) { responder.Send({.body = large}); });
  Client client = Connect();
  client.Send(kGet);
  loop_.RunUntilIdle();
  EXPECT_EQ(server_->connections(), 1U);
  loop_.Advance(seconds(121));
  EXPECT_EQ(server_->connections(), 0U);
}

TEST_F(HttpServerTest, StreamsWhatComesLater) {
  ServeLater();
  Client client = Connect();
  Ask(client, kGet);
  const Stream stream = waiting_.at(0).Begin({.headers = {{"Content-Type", "text/event-stream"}}});
  EXPECT_THAT(client.Receive(), HasSubstr("Content-Type: text/event-stream\r\n"));
  EXPECT_TRUE(stream.is_open());
  EXPECT_TRUE(stream.Write("data: 1\n\n"));
  EXPECT_EQ(client.Receive(), "9\r\ndata: 1\n\n\r\n");
  loop_.Advance(seconds(3600));
  EXPECT_TRUE(stream.Write("data: 2\n\n"));
  stream.End();
  EXPECT_EQ(client.Receive(), "9\r\ndata: 2\n\n\r\n0\r\n\r\n");
  EXPECT_FALSE(stream.Write("x"));
  waiting_.clear();
  Ask(client, kGet);
  EXPECT_EQ(waiting_.size(), 1U) << "the connection goes on";
}

TEST_F(HttpServerTest, GoesOnAfterTheStreamOfAHeadRequest) {
  ServeLater();
  Client client = Connect();
  Ask(client, "HEAD / HTTP/1.1\r\nHost: h\r\n\r\n" + std::string(kGet));
  ASSERT_EQ(waiting_.size(), 1U);
  // The next request comes while this one's stream begins, and moves the responders.
  const Stream stream = waiting_[0].Begin({});
  EXPECT_FALSE(stream.is_open());
  EXPECT_FALSE(stream.Write("x"));
  EXPECT_EQ(waiting_.size(), 2U);
}

const ServerOptions kRoomy = [] {
  ServerOptions options;
  options.stream_buffer = size_t{16} << 20;
  return options;
}();

TEST_F(HttpServerTest, TellsWhenAStreamIsDrained) {
  std::optional<Stream> stream;
  Serve([&](const Request&, const Responder& responder) { stream = responder.Begin({}); }, kRoomy);
  Client client = Connect();
  Ask(client, kGet);
  int drained = 0;
  ASSERT_TRUE(stream->Write(std::string(size_t{8} << 20, 'x')));
  EXPECT_GT(stream->pending(), 0U);
  stream->OnDrained([&] { ++drained; });
  loop_.RunUntilIdle();
  EXPECT_EQ(drained, 0);
  while (stream->pending() > 0) {
    client.Receive();
    loop_.RunUntilIdle();
  }
  EXPECT_EQ(drained, 1);
  stream->OnDrained([&] { ++drained; });
  loop_.RunUntilIdle();
  EXPECT_EQ(drained, 2) << "nothing is pending";
}

TEST_F(HttpServerTest, TellsWhenAStreamsPeerIsGone) {
  std::optional<Stream> stream;
  Serve([&](const Request&, const Responder& responder) { stream = responder.Begin({}); }, kRoomy);
  Client client = Connect();
  Ask(client, kGet);
  ASSERT_TRUE(stream->Write(std::string(size_t{8} << 20, 'x')));
  bool is_drained = false;
  stream->OnDrained([&] { is_drained = true; });
  client.Vanish();
  loop_.RunUntilIdle();
  EXPECT_TRUE(is_drained);
  EXPECT_FALSE(stream->Write("x"));
}

TEST_F(HttpServerTest, ManyMayConnectAtOnce) {
  ServePaths({.limits = {}, .max_connections = 300});
  std::vector<Client> clients;
  for (int i = 0; i < 300; ++i) {
    auto socket = sys::ConnectUnix(path_);
    ASSERT_OK(socket) << i;
    clients.emplace_back(*std::move(socket));
    clients.back().Send(kGet);
  }
  loop_.RunUntilIdle();
  for (Client& client : clients) {
    EXPECT_EQ(BodyOf(client.Receive()), "/a\n");
  }
}

TEST_F(HttpServerTest, TellsWhenAPeerLeavesBeforeItsAnswer) {
  ServeLater();
  for (const bool is_half : {true, false}) {
    waiting_.clear();
    Client client = Connect();
    Ask(client, kGet);
    int gone = 0;
    waiting_.at(0).OnGone([&] { ++gone; });
    loop_.RunUntilIdle();
    EXPECT_EQ(gone, 0);
    if (is_half) {
      client.SendEnd();
    } else {
      client.Vanish();
    }
    loop_.RunUntilIdle();
    EXPECT_EQ(gone, 1) << is_half;
    EXPECT_TRUE(waiting_.at(0).is_open()) << "it may still be answered";
    waiting_.at(0).Send(TextResponse(200, "late"));
    loop_.RunUntilIdle();
    EXPECT_EQ(BodyOf(client.Receive()), is_half ? "late\n" : "");
    EXPECT_EQ(gone, 1) << "once";
  }
}

TEST_F(HttpServerTest, TellsWhenTheListenerOfASilentStreamLeaves) {
  std::optional<Responder> kept;
  std::optional<Stream> stream;
  Serve([&](const Request&, const Responder& responder) {
    kept = responder;
    stream = responder.Begin({});
  });
  Client client = Connect();
  Ask(client, kGet);
  ASSERT_TRUE(kept.has_value());
  bool is_gone = false;
  kept->OnGone([&] { is_gone = true; });
  client.Vanish();
  loop_.RunUntilIdle();
  EXPECT_TRUE(is_gone);
}

TEST_F(HttpServerTest, ClosesAtOnceIfNobodyAnswersAPeerThatHasLeft) {
  ServeLater();
  Client client = Connect();
  Ask(client, kGet);
  client.SendEnd();
  loop_.RunUntilIdle();
  waiting_.clear();
  loop_.RunUntilIdle();
  EXPECT_EQ(client.Receive(), "");
  EXPECT_TRUE(client.is_closed());
  EXPECT_EQ(server_->connections(), 0U);
}

TEST_F(HttpServerTest, TellsNobodyThatAPeerLeftAfterItsAnswer) {
  ServeLater();
  bool is_gone = false;
  Client client = Connect();
  Ask(client, kGet);
  waiting_.at(0).OnGone([&] { is_gone = true; });
  waiting_.at(0).Send(TextResponse(200, "done"));
  Ask(client, kGet);
  client.Vanish();
  loop_.RunUntilIdle();
  EXPECT_FALSE(is_gone) << "the second request's peer has left";
  // Whoever waited is gone itself.
  Client other = Connect();
  Ask(other, kGet);
  waiting_.back().OnGone([&] { is_gone = true; });
  other.Vanish();
  waiting_.clear();
  loop_.RunUntilIdle();
  EXPECT_FALSE(is_gone);
}

TEST_F(HttpServerTest, DropsAStreamsPeerThatIsTooSlow) {
  ServeLater({.limits = {}, .stream_buffer = 10'000});
  Client client = Connect();
  Ask(client, kGet);
  const Stream stream = waiting_.at(0).Begin({});
  const std::string piece(1000, 'x');
  int written = 0;
  while (stream.Write(piece)) {
    ASSERT_LT(++written, 100'000);
  }
  EXPECT_GT(written, 10);
  EXPECT_FALSE(stream.is_open());
  EXPECT_EQ(server_->connections(), 0U);
}

TEST_F(HttpServerTest, NoticesThatAStreamsPeerHasGone) {
  ServeLater();
  Client client = Connect();
  Ask(client, kGet);
  const Stream stream = waiting_.at(0).Begin({});
  client.Vanish();
  loop_.RunUntilIdle();
  EXPECT_FALSE(stream.is_open());
  EXPECT_FALSE(stream.Write("x"));
  EXPECT_EQ(server_->connections(), 0U);
}

TEST_F(HttpServerTest, ShowsThatAStreamThatWasForgottenIsNotWhole) {
  ServeLater();
  Client client = Connect();
  Ask(client, kGet);
  {
    const Stream stream = waiting_.at(0).Begin({.body = "half"});
    waiting_.clear();
  }
  EXPECT_TRUE(client.Receive().ends_with("4\r\nhalf\r\n"));
  EXPECT_TRUE(client.is_closed());
}

TEST_F(HttpServerTest, SurvivesPeersThatVanish) {
  ServeLater();
  for (const size_t sent : {size_t{0}, size_t{5}, kGet.size()}) {
    Client client = Connect();
    client.Send(kGet.substr(0, sent));
    loop_.RunUntilIdle();
    client.Vanish();
    loop_.RunUntilIdle();
  }
  ASSERT_EQ(waiting_.size(), 1U);
  // Written to a socket that nobody reads: an error, but no signal.
  waiting_[0].Send({.body = std::string(size_t{1} << 20, 'x')});
  loop_.RunUntilIdle();
  EXPECT_EQ(server_->connections(), 0U);
  EXPECT_EQ(loop_.timers(), 0U);
}

TEST_F(HttpServerTest, AnswersForHandlersThatDoNot) {
  Serve([](const Request& request, const Responder&) {
    if (request.path == "/a") {
      throw std::runtime_error("oops");
    }
  });
  Client client = Connect();
  EXPECT_THAT(Ask(client, kGet), StartsWith("HTTP/1.1 500"));
  EXPECT_THAT(Ask(client, "GET /b HTTP/1.1\r\nHost: h\r\n\r\n"), StartsWith("HTTP/1.1 500"));
}

TEST_F(HttpServerTest, StopsDuringARequest) {
  ServeLater();
  Client client = Connect();
  Ask(client, kGet);
  server_->Stop();
  server_->Stop();
  EXPECT_EQ(client.Receive(), "");
  EXPECT_TRUE(client.is_closed());
  EXPECT_FALSE(waiting_.at(0).is_open());
  waiting_[0].Send(TextResponse(200, "too late"));
  EXPECT_FALSE(waiting_[0].Begin({}).Write("too late"));
  EXPECT_EQ(loop_.watches(), 0U);
  EXPECT_EQ(loop_.timers(), 0U);
  EXPECT_THAT(sys::ConnectUnix(path_), StatusIs(StatusCode::kNotFound));
}

TEST_F(HttpServerTest, FinishesItsRequestsAfterAShutdown) {
  ServeLater();
  Client idle = Connect();
  Ask(idle, kGet);
  waiting_.at(0).Send(TextResponse(200, "ok"));
  EXPECT_NE(idle.Receive(), "");
  Client busy = Connect();
  Ask(busy, kGet);
  server_->Shutdown();
  EXPECT_THAT(sys::ConnectUnix(path_), StatusIs(StatusCode::kNotFound));
  EXPECT_EQ(idle.Receive(), "");
  EXPECT_TRUE(idle.is_closed());
  EXPECT_TRUE(server_->is_busy());
  waiting_.at(1).Send(TextResponse(200, "last"));
  EXPECT_EQ(BodyOf(busy.Receive()), "last\n");
  EXPECT_TRUE(busy.is_closed());
  EXPECT_FALSE(server_->is_busy());
  loop_.Advance(seconds(2));
  EXPECT_EQ(loop_.watches(), 0U);
  EXPECT_EQ(loop_.timers(), 0U);
}

TEST_F(HttpServerTest, AnswersARequestThatHasComeBeforeAShutdown) {
  ServePaths();
  Client client = Connect();
  EXPECT_EQ(BodyOf(Ask(client, kGet)), "/a\n");
  client.Send(kGet);
  server_->Shutdown();
  loop_.RunUntilIdle();
  const std::string answer = client.Receive();
  EXPECT_EQ(BodyOf(answer), "/a\n");
  EXPECT_THAT(answer, HasSubstr("Connection: close\r\n"));
  EXPECT_TRUE(client.is_closed());
}

TEST_F(HttpServerTest, MayBeDestroyedByItsHandler) {
  Serve([this](const Request&, const Responder& responder) {
    server_.reset();
    responder.Send(TextResponse(200, "nobody hears this"));
  });
  Client client = Connect();
  EXPECT_EQ(Ask(client, kGet), "");
  EXPECT_TRUE(client.is_closed());
}

TEST_F(HttpServerTest, OutlivedByItsResponders) {
  ServeLater();
  Client client = Connect();
  Ask(client, kGet);
  server_.reset();
  waiting_.clear();
  EXPECT_EQ(client.Receive(), "");
}

TEST_F(HttpServerTest, ListensInSeveralPlaces) {
  std::vector<bool> from_unix;
  Serve([&](const Request& request, const Responder& responder) {
    from_unix.push_back(request.is_from_unix_socket);
    responder.Send({});
  });
  const auto address = server_->Listen("127.0.0.1:0");
  ASSERT_OK(address);
  EXPECT_OK(server_->Listen(dir_.At("second"), 0660));
  struct stat file = {};
  ASSERT_EQ(stat(dir_.At("second").c_str(), &file), 0);
  EXPECT_EQ(file.st_mode & 0777, 0660U);
  ASSERT_EQ(stat(path_.c_str(), &file), 0);
  EXPECT_EQ(file.st_mode & 0777, 0600U);

  Client local = Connect();
  EXPECT_THAT(Ask(local, kGet), StartsWith("HTTP/1.1 200"));
  Client remote(sys::StartConnectTcp(sys::TcpAddress::Parse(*address).value()).value());
  std::string answer;
  for (int i = 0; i < 100 && answer.empty(); ++i) {
    if (i == 0) {
      ASSERT_TRUE(loop_.WaitForDescriptor(milliseconds(10'000)));
      remote.Send(kGet);
    }
    loop_.WaitForDescriptor(milliseconds(100));
    answer = remote.Receive();
  }
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(from_unix, ElementsAre(true, false));
}

TEST_F(HttpServerTest, SaysWhereItCannotListen) {
  ServePaths();
  EXPECT_THAT(server_->Listen(path_), StatusIs(StatusCode::kAlreadyExists));
  EXPECT_THAT(server_->Listen("localhost"), StatusIs(StatusCode::kInvalidArgument));
  EXPECT_THAT(server_->Listen(dir_.At("no/such")), StatusIs(StatusCode::kNotFound));
}

}  // namespace
}  // namespace kgpu::http
