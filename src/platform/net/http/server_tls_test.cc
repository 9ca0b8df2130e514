#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "src/platform/net/http/server.h"
#include "src/platform/net/tls/session.h"
#include "src/platform/sys/tcp_socket.h"
#include "testing/fake_loop.h"
#include "testing/status_matchers.h"
#include "testing/tls/certificates.h"

namespace kgpu::http {
namespace {

using std::chrono::seconds;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr std::string_view kTlsGet = "GET /a HTTP/1.1\r\nHost: h\r\n\r\n";

// The other end of a connection, with TLS once Secure was called. Takes what comes by itself.
class TlsClient {
 public:
  TlsClient(FakeLoop& loop, UniqueFd socket) : loop_(loop), socket_(std::move(socket)) {
    watch_ = loop_.WatchReadable(socket_.get(), [this] { Receive(); }).value();
  }
  ~TlsClient() { loop_.Unwatch(watch_); }
  TlsClient(const TlsClient&) = delete;
  TlsClient& operator=(const TlsClient&) = delete;

  void Secure(const std::shared_ptr<const tls::Context>& context) {
    session_ = tls::Session::ForClient(context, "127.0.0.1").value();
    SendRaw(session_->TakeOutput());
  }
  void Send(std::string_view text) {
    EXPECT_OK(session_->Write(text));
    SendRaw(session_->TakeOutput());
  }
  void SendRaw(std::string_view bytes) const {
    EXPECT_EQ(send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(bytes.size()));
  }
  void End() {
    session_->Close();
    SendRaw(session_->TakeOutput());
  }
  void Receive() {
    std::array<char, 16384> part{};
    const ssize_t count = recv(socket_.get(), part.data(), part.size(), MSG_DONTWAIT);
    if (count <= 0) {
      is_closed_ = count == 0 || errno != EAGAIN;
      if (is_closed_) {
        loop_.Unwatch(watch_);
      }
      return;
    }
    const std::string_view bytes(part.data(), static_cast<size_t>(count));
    if (session_ == nullptr) {
      text_ += bytes;
      return;
    }
    status_.Update(session_->Feed(bytes));
    text_ += session_->TakeInput();
    const std::string output = session_->TakeOutput();
    (void)send(socket_.get(), output.data(), output.size(), MSG_NOSIGNAL);
  }
  std::string& text() { return text_; }
  bool is_closed() const { return is_closed_; }
  const Status& status() const { return status_; }
  const tls::Session& session() const { return *session_; }

 private:
  FakeLoop& loop_;
  UniqueFd socket_;
  WatchId watch_ = WatchId::kNone;
  std::unique_ptr<tls::Session> session_;
  std::string text_;
  Status status_;
  bool is_closed_ = false;
};

class HttpServerTlsTest : public ::testing::Test {
 protected:
  HttpServerTlsTest() {
    UseCertificate(authority_);
    client_context_ = tls::Context::ForClient({.ca_pem = authority_.certificate_pem()}).value();
  }
  void UseCertificate(const TestAuthority& authority, const std::string& client_ca = "") {
    const TestCertificate leaf = authority.Issue({.names = {"127.0.0.1"}});
    context_ = tls::Context::ForServer({.certificate_pem = leaf.certificate_pem,
                                        .key_pem = leaf.key_pem,
                                        .client_ca_pem = client_ca})
                   .value();
  }
  void Serve(Server::Handler handler, const ServerOptions& options = {}) {
    server_ = std::make_unique<Server>(loop_, std::move(handler), options);
    const auto address = server_->ListenTls("127.0.0.1:0", [this] { return context_; });
    ASSERT_OK(address);
    address_ = *address;
  }
  void ServePaths(const ServerOptions& options = {}) {
    Serve([](const Request& request,
             const Responder& responder) { responder.Send(TextResponse(200, request.path)); },
          options);
  }
  std::unique_ptr<TlsClient> ConnectPlain() {
    return std::make_unique<TlsClient>(
        loop_, sys::StartConnectTcp(sys::TcpAddress::Parse(address_).value()).value());
  }
  std::unique_ptr<TlsClient> Connect() {
    std::unique_ptr<TlsClient> client = ConnectPlain();
    client->Secure(client_context_);
    return client;
  }
  // Until `is_done`; false when nothing happens any more. Simulated time stands still.
  bool RunUntil(const std::function<bool()>& is_done) {
    for (;;) {
      loop_.RunUntilIdle();
      if (is_done()) {
        return true;
      }
      if (!loop_.WaitForDescriptor(seconds(10))) {
        return is_done();
      }
    }
  }
  bool Ask(TlsClient& client, std::string_view request, std::string_view end_of_answer) {
    client.text().clear();
    client.Send(request);
    return RunUntil([&] { return client.text().ends_with(end_of_answer); });
  }

  TestAuthority authority_;
  std::shared_ptr<const tls::Context> context_;
  std::shared_ptr<const tls::Context> client_context_;
  FakeLoop loop_;
  std::unique_ptr<Server> server_;
  std::string address_;
};

TEST_F(HttpServerTlsTest, Answers) {
  ServePaths();
  const auto client = Connect();
  ASSERT_TRUE(Ask(*client, kTlsGet, "/a\n"));
  EXPECT_THAT(client->text(), StartsWith("HTTP/1.1 200"));
  ASSERT_TRUE(Ask(*client, kTlsGet, "/a\n")) << "the connection goes on";
  EXPECT_EQ(server_->connections(), 1U);
}

TEST_F(HttpServerTlsTest, AnswersARequestThatComesWithTheHandshakesEnd) {
  ServePaths();
  const auto client = Connect();
  ASSERT_FALSE(client->session().is_open());
  client->Send("GET /b HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
  ASSERT_TRUE(RunUntil([&] { return client->is_closed(); }));
  EXPECT_THAT(client->text(), HasSubstr("/b\n"));
  EXPECT_TRUE(client->session().has_peer_closed()) << "not cut";
}

TEST_F(HttpServerTlsTest, SendsLargeAnswersWhole) {
  const std::string large(size_t{8} << 20, 'x');
  Serve(
      [&](const Request&, const Responder& responder) { responder.Send({.body = large + "end"}); });
  const auto client = Connect();
  ASSERT_TRUE(Ask(*client, kTlsGet, "end"));
  EXPECT_GT(client->text().size(), large.size());
}

TEST_F(HttpServerTlsTest, StreamsWhatComesLater) {
  std::vector<Responder> waiting;
  Serve([&](const Request&, Responder responder) { waiting.push_back(std::move(responder)); });
  const auto client = Connect();
  client->Send(kTlsGet);
  ASSERT_TRUE(RunUntil([&] { return !waiting.empty(); }));
  const Stream stream = waiting.at(0).Begin({});
  EXPECT_TRUE(stream.Write("data: 1\n\n"));
  ASSERT_TRUE(RunUntil([&] { return client->text().ends_with("data: 1\n\n\r\n"); }));
  client->End();
  ASSERT_TRUE(RunUntil([&] { return !stream.is_open(); })) << "its listener has gone";
}

TEST_F(HttpServerTlsTest, TellsAPlainClientToSpeakTls) {
  ServePaths();
  const auto client = ConnectPlain();
  client->SendRaw(kTlsGet);
  ASSERT_TRUE(RunUntil([&] { return client->is_closed(); }));
  EXPECT_THAT(client->text(), StartsWith("HTTP/1.1 400"));
  EXPECT_THAT(client->text(), HasSubstr("https://"));
}

TEST_F(HttpServerTlsTest, EndsWhatIsNoTls) {
  ServePaths();
  const auto client = ConnectPlain();
  client->SendRaw(std::string(100, '\x16'));
  ASSERT_TRUE(RunUntil([&] { return client->is_closed(); }));
  loop_.Advance(seconds(2));
  EXPECT_EQ(server_->connections(), 0U);
}

TEST_F(HttpServerTlsTest, EndsAConnectionWhoseBytesWereChanged) {
  std::vector<Responder> waiting;
  Serve([&](const Request&, Responder responder) { waiting.push_back(std::move(responder)); });
  const auto client = Connect();
  client->Send(kTlsGet);
  ASSERT_TRUE(RunUntil([&] { return !waiting.empty(); }));
  client->SendRaw(std::string_view("\x17\x03\x03\0\x05hello", 10));
  ASSERT_TRUE(RunUntil([&] { return client->is_closed(); }));
  EXPECT_FALSE(waiting[0].is_open());
  waiting[0].Send({.body = "late"});
  EXPECT_EQ(client->text(), "");
}

TEST_F(HttpServerTlsTest, GivesUpAHandshakeThatDoesNotEnd) {
  ServePaths();
  const auto client = ConnectPlain();
  ASSERT_TRUE(RunUntil([&] { return server_->connections() == 1; }));
  client->SendRaw("\x16\x03\x01");
  loop_.Advance(seconds(4));
  client->SendRaw("\x02");
  loop_.Advance(seconds(1));
  ASSERT_TRUE(RunUntil([&] { return client->is_closed(); })) << "more of it gives no more time";
  EXPECT_EQ(server_->connections(), 0U);
}

TEST_F(HttpServerTlsTest, SilentClientsKeepNobodyOut) {
  ServePaths({.limits = {}, .max_connections = 8, .max_handshakes = 4});
  std::vector<std::unique_ptr<TlsClient>> silent;
  for (int i = 0; i < 30; ++i) {
    silent.push_back(ConnectPlain());
  }
  const auto client = Connect();
  ASSERT_TRUE(Ask(*client, kTlsGet, "/a\n"));
  EXPECT_LE(server_->connections(), 5U);
  EXPECT_TRUE(RunUntil([&] { return silent[0]->is_closed(); })) << "the oldest goes first";
}

TEST_F(HttpServerTlsTest, RefusesConnectionsPastItsLimit) {
  std::vector<Responder> waiting;
  Serve([&](const Request&, Responder responder) { waiting.push_back(std::move(responder)); },
        {.limits = {}, .max_connections = 1});
  const auto first = Connect();
  first->Send(kTlsGet);
  ASSERT_TRUE(RunUntil([&] { return !waiting.empty(); }));
  const auto second = Connect();
  ASSERT_TRUE(RunUntil([&] { return second->is_closed(); }));
  EXPECT_THAT(second->text(), StartsWith("HTTP/1.1 503"));
  EXPECT_EQ(server_->connections(), 1U);
}

TEST_F(HttpServerTlsTest, BeginsFewHandshakesASecond) {
  ServePaths({.limits = {}, .max_new_handshakes = 2});
  for (int i = 0; i < 2; ++i) {
    const auto client = Connect();
    ASSERT_TRUE(Ask(*client, kTlsGet, "/a\n"));
  }
  const auto third = Connect();
  ASSERT_TRUE(RunUntil([&] { return third->is_closed(); }));
  EXPECT_FALSE(third->session().is_open());
  loop_.Advance(seconds(1));
  const auto client = Connect();
  ASSERT_TRUE(Ask(*client, kTlsGet, "/a\n"));
}

TEST_F(HttpServerTlsTest, HearsPlainClientsWhereTheyAreTaken) {
  Serve(
      [](const Request& request, const Responder& responder) {
        responder.Send(TextResponse(200, request.has_tls ? "secret" : "plain"));
      },
      {.limits = {}, .max_new_handshakes = 1, .takes_plain = true});
  const auto secret = Connect();
  ASSERT_TRUE(Ask(*secret, kTlsGet, "secret\n"));
  for (int i = 0; i < 3; ++i) {
    const auto plain = ConnectPlain();
    plain->SendRaw(kTlsGet);
    EXPECT_TRUE(RunUntil([&] { return plain->text().ends_with("plain\n"); }));
  }
}

TEST_F(HttpServerTlsTest, HearsPlainClientsWithoutACertificate) {
  ServePaths({.limits = {}, .takes_plain = true});
  context_.reset();
  const auto plain = ConnectPlain();
  plain->SendRaw(kTlsGet);
  EXPECT_TRUE(RunUntil([&] { return plain->text().ends_with("/a\n"); }));
  const auto client = Connect();
  EXPECT_TRUE(RunUntil([&] { return client->is_closed() || !client->status().ok(); }));
}

TEST_F(HttpServerTlsTest, ForgetsAClientThatGoesWithinTheHandshake) {
  ServePaths({.limits = {}, .max_connections = 1});
  auto first = ConnectPlain();
  ASSERT_TRUE(RunUntil([&] { return server_->connections() == 1; }));
  auto refused = ConnectPlain();
  loop_.RunUntilIdle();
  first.reset();
  refused.reset();
  ASSERT_TRUE(RunUntil([&] { return server_->connections() == 0 && loop_.watches() == 1; }));
  EXPECT_EQ(loop_.timers(), 0U);
}

TEST_F(HttpServerTlsTest, ShowsANewCertificateToTheNextClient) {
  ServePaths();
  const auto before = Connect();
  ASSERT_TRUE(Ask(*before, kTlsGet, "/a\n"));
  const TestAuthority other("another authority");
  UseCertificate(other);
  ASSERT_TRUE(Ask(*before, kTlsGet, "/a\n")) << "it goes on as it was";
  const auto stranger = Connect();
  ASSERT_TRUE(RunUntil([&] { return !stranger->status().ok(); }));
  client_context_ = tls::Context::ForClient({.ca_pem = other.certificate_pem()}).value();
  const auto after = Connect();
  ASSERT_TRUE(Ask(*after, kTlsGet, "/a\n"));
}

TEST_F(HttpServerTlsTest, ClosesWithoutACertificate) {
  ServePaths();
  context_.reset();
  const auto client = Connect();
  ASSERT_TRUE(RunUntil([&] { return client->is_closed(); }));
  EXPECT_EQ(server_->connections(), 0U);
}

TEST_F(HttpServerTlsTest, AsksForTheClientsCertificate) {
  const TestAuthority clients("clients");
  UseCertificate(authority_, clients.certificate_pem());
  ServePaths();
  const auto nobody = Connect();
  nobody->Send(kTlsGet);
  ASSERT_TRUE(RunUntil([&] { return nobody->is_closed() || !nobody->status().ok(); }));
  EXPECT_EQ(nobody->text(), "");
  const TestCertificate leaf = clients.Issue({.is_client = true});
  client_context_ = tls::Context::ForClient({.ca_pem = authority_.certificate_pem(),
                                             .certificate_pem = leaf.certificate_pem,
                                             .key_pem = leaf.key_pem})
                        .value();
  const auto client = Connect();
  ASSERT_TRUE(Ask(*client, kTlsGet, "/a\n"));
}

TEST_F(HttpServerTlsTest, StopsWithinAHandshake) {
  ServePaths();
  const auto client = ConnectPlain();
  ASSERT_TRUE(RunUntil([&] { return server_->connections() == 1; }));
  server_->Stop();
  ASSERT_TRUE(RunUntil([&] { return client->is_closed(); }));
}

}  // namespace
}  // namespace kgpu::http
