#include "src/platform/net/tls/session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <string_view>

#include "testing/status_matchers.h"
#include "testing/tls/certificates.h"

namespace kgpu::tls {
namespace {

using std::chrono::hours;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A client and a server, joined in memory.
class TlsSessionTest : public ::testing::Test {
 protected:
  void Join(const LeafOptions& leaf, const std::string& name, ServerOptions server = {},
            ClientOptions client = {}) {
    const TestCertificate certificate = authority_.Issue(leaf);
    if (server.certificate_pem.empty()) {
      server.certificate_pem = certificate.certificate_pem;
      server.key_pem = certificate.key_pem;
    }
    if (client.ca_pem.empty()) {
      client.ca_pem = authority_.certificate_pem();
    }
    server_ = Session::ForServer(Context::ForServer(server).value()).value();
    client_ = Session::ForClient(Context::ForClient(client).value(), name).value();
    Exchange();
  }
  // Until nobody has anything to say.
  void Exchange(size_t piece = 1 << 20) {
    for (bool is_quiet = false; !is_quiet;) {
      const std::string up = client_->TakeOutput();
      const std::string down = server_->TakeOutput();
      is_quiet = up.empty() && down.empty();
      Feed(*server_, up, piece, server_status_);
      Feed(*client_, down, piece, client_status_);
    }
  }
  static void Feed(Session& session, std::string_view bytes, size_t piece, Status& status) {
    while (!bytes.empty() && status.ok()) {
      status = session.Feed(bytes.substr(0, piece));
      bytes.remove_prefix(std::min(piece, bytes.size()));
    }
  }

  const TestAuthority authority_;
  std::unique_ptr<Session> server_;
  std::unique_ptr<Session> client_;
  Status server_status_;
  Status client_status_;
};

TEST_F(TlsSessionTest, CarriesTextBothWays) {
  Join({.names = {"api.test"}}, "api.test");
  EXPECT_OK(client_status_);
  EXPECT_TRUE(client_->is_open());
  EXPECT_TRUE(server_->is_open());
  ASSERT_OK(client_->Write("hello"));
  Exchange();
  EXPECT_EQ(server_->TakeInput(), "hello");
  const std::string large(3 << 20, 'x');
  ASSERT_OK(server_->Write(large));
  Exchange();
  EXPECT_EQ(client_->TakeInput(), large);
  EXPECT_EQ(client_->TakeInput(), "");
}

TEST_F(TlsSessionTest, PiecesMakeNoDifference) {
  const TestCertificate leaf = authority_.Issue({.names = {"api.test"}});
  server_ = Session::ForServer(Context::ForServer({.certificate_pem = leaf.certificate_pem,
                                                   .key_pem = leaf.key_pem})
                                   .value())
                .value();
  client_ = Session::ForClient(Context::ForClient({.ca_pem = authority_.certificate_pem()}).value(),
                               "api.test")
                .value();
  // Before the handshake is over: kept until then.
  ASSERT_OK(client_->Write("early"));
  Exchange(1);
  EXPECT_OK(client_status_);
  EXPECT_EQ(server_->TakeInput(), "early");
}

class TlsProtocolTest : public TlsSessionTest {
 protected:
  void Agree(const std::vector<std::string>& offered, const std::vector<std::string>& accepted) {
    const TestCertificate leaf = authority_.Issue({.names = {"api.test"}});
    server_ =
        Session::ForServer(
            Context::ForServer({.certificate_pem = leaf.certificate_pem, .key_pem = leaf.key_pem})
                .value(),
            accepted)
            .value();
    client_ =
        Session::ForClient(Context::ForClient({.ca_pem = authority_.certificate_pem()}).value(),
                           "api.test", offered)
            .value();
    EXPECT_EQ(server_->Protocol(), "");
    Exchange();
  }
};

TEST_F(TlsProtocolTest, TheServerPicksWhatItLikesBest) {
  Agree({"http/1.1", "other", "h2"}, {"h2", "http/1.1"});
  EXPECT_EQ(server_->Protocol(), "h2");
  EXPECT_EQ(client_->Protocol(), "h2");
  Agree({"http/1.1"}, {"h2", "http/1.1"});
  EXPECT_EQ(server_->Protocol(), "http/1.1");
  EXPECT_EQ(client_->Protocol(), "http/1.1");
}

TEST_F(TlsProtocolTest, NobodyHasToOfferOne) {
  Agree({}, {"h2"});
  EXPECT_TRUE(server_->is_open());
  EXPECT_EQ(server_->Protocol(), "");
  Agree({"h2"}, {});
  EXPECT_TRUE(client_->is_open());
  EXPECT_EQ(client_->Protocol(), "");
}

TEST_F(TlsProtocolTest, RefusesAClientThatOffersOnlyOthers) {
  Agree({"other"}, {"h2", "http/1.1"});
  EXPECT_EQ(server_status_.code(), StatusCode::kUnavailable);
  EXPECT_EQ(client_status_.code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(client_status_, StatusIs(StatusCode::kFailedPrecondition, HasSubstr("ALPN")));
  EXPECT_FALSE(client_->is_open());
}

TEST_F(TlsProtocolTest, RefusesNamesThatFitNoHandshake) {
  const auto context = Context::ForClient({.ca_pem = authority_.certificate_pem()}).value();
  for (const std::string& name : {std::string(), std::string(256, 'x')}) {
    EXPECT_EQ(Session::ForClient(context, "api.test", {name}).status().code(),
              StatusCode::kInvalidArgument);
  }
  EXPECT_OK(Session::ForClient(context, "api.test", {std::string(255, 'x')}));
}

TEST_F(TlsSessionTest, TheServerMayBeAnAddress) {
  for (const std::string address : {"127.0.0.1", "::1", "2001:db8::7"}) {
    Join({.names = {"127.0.0.1", "::1", "2001:db8::7"}}, address);
    EXPECT_OK(client_status_) << address;
    EXPECT_TRUE(client_->is_open()) << address;
  }
}

TEST_F(TlsSessionTest, WildcardsStandForOneLabel) {
  Join({.names = {"*.cluster.test"}}, "a.cluster.test.");
  EXPECT_TRUE(client_->is_open());
  Join({.names = {"*.cluster.test"}}, "a.b.cluster.test");
  EXPECT_FALSE(client_->is_open());
}

TEST_F(TlsSessionTest, RefusesAnotherName) {
  Join({.common_name = "api.test", .names = {"kubernetes.default", "10.0.0.1"}}, "api.test");
  EXPECT_THAT(client_status_,
              StatusIs(StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr("not for api.test, but for kubernetes.default, 10.0.0.1"),
                             HasSubstr("tls-server-name"))));
  EXPECT_FALSE(client_->is_open());
  EXPECT_FALSE(server_->is_open() && server_status_.ok());
}

TEST_F(TlsSessionTest, ACommonNameIsNoName) {
  Join({.common_name = "api.test"}, "api.test");
  EXPECT_THAT(client_status_,
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("common name is ignored")));
}

TEST_F(TlsSessionTest, RefusesAnotherAddress) {
  Join({.names = {"10.0.0.1"}}, "10.0.0.2");
  EXPECT_THAT(client_status_,
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("but for 10.0.0.1")));
}

TEST_F(TlsSessionTest, RefusesWhatHasExpiredOrIsNotYetValid) {
  Join({.names = {"api.test"}, .valid_from = hours(-3), .valid_until = hours(-2)}, "api.test");
  EXPECT_THAT(client_status_, StatusIs(StatusCode::kFailedPrecondition,
                                       AllOf(HasSubstr("has expired"), HasSubstr("clock"))));
  client_status_ = server_status_ = OkStatus();
  Join({.names = {"api.test"}, .valid_from = hours(2), .valid_until = hours(3)}, "api.test");
  EXPECT_THAT(client_status_,
              StatusIs(StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr("is not valid before"), HasSubstr("clock"))));
}

TEST_F(TlsSessionTest, RefusesAnAuthorityItDoesNotKnow) {
  const TestAuthority other("other authority");
  Join({.names = {"api.test"}}, "api.test", {}, {.ca_pem = other.certificate_pem()});
  EXPECT_THAT(
      client_status_,
      StatusIs(
          StatusCode::kFailedPrecondition,
          AllOf(HasSubstr(") is from an untrusted authority: set the right certificate-authority"),
                HasSubstr("certificate-authority"))));
}

TEST_F(TlsSessionTest, AClientsCertificateServesNoServer) {
  Join({.names = {"api.test"}, .is_client = true}, "api.test");
  EXPECT_THAT(client_status_,
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("is not trusted")));
}

class ClientCertificateTest : public TlsSessionTest {
 protected:
  void JoinAs(const TestCertificate& client, bool is_optional = false) {
    Join({.names = {"api.test"}}, "api.test",
         {.client_ca_pem = authority_.certificate_pem(), .is_client_optional = is_optional},
         {.certificate_pem = client.certificate_pem, .key_pem = client.key_pem});
  }
};

TEST_F(ClientCertificateTest, TellsTheServerWhoTheClientIs) {
  JoinAs(authority_.Issue(
      {.common_name = "jane", .organizations = {"dev", "ops"}, .is_client = true}));
  EXPECT_TRUE(server_->is_open());
  const auto peer = server_->Peer();
  ASSERT_TRUE(peer.has_value());
  EXPECT_EQ(peer->common_name, "jane");
  EXPECT_THAT(peer->organizations, ElementsAre("dev", "ops"));
}

TEST_F(ClientCertificateTest, MustBeThereWhenItIsAskedFor) {
  JoinAs({});
  EXPECT_THAT(server_status_, StatusIs(StatusCode::kFailedPrecondition,
                                       HasSubstr("the client sent no certificate")));
  EXPECT_THAT(client_status_, StatusIs(StatusCode::kFailedPrecondition,
                                       HasSubstr("may require a client certificate")));
}

TEST_F(ClientCertificateTest, MayBeOptional) {
  JoinAs({}, true);
  EXPECT_TRUE(server_->is_open());
  EXPECT_FALSE(server_->Peer().has_value());
}

TEST_F(ClientCertificateTest, MustBeOfAKnownAuthority) {
  const TestAuthority other("other authority");
  JoinAs(other.Issue({.is_client = true}));
  EXPECT_THAT(server_status_,
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("the client's certificate")));
  EXPECT_THAT(client_status_,
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("does not trust our")));
}

TEST_F(TlsSessionTest, KnowsAnEndFromACut) {
  Join({.names = {"api.test"}}, "api.test");
  ASSERT_OK(server_->Write("last words"));
  server_->Close();
  Exchange();
  EXPECT_EQ(client_->TakeInput(), "last words");
  EXPECT_TRUE(client_->has_peer_closed());
  EXPECT_FALSE(server_->has_peer_closed());
}

TEST_F(TlsSessionTest, SaysThatWhatCameIsNoTls) {
  Join({.names = {"api.test"}}, "api.test");
  client_ = Session::ForClient(Context::ForClient({.ca_pem = authority_.certificate_pem()}).value(),
                               "api.test")
                .value();
  EXPECT_THAT(client_->Feed("HTTP/1.1 400 Bad Request\r\n\r\n"),
              StatusIs(StatusCode::kUnavailable, HasSubstr("plain HTTP")));
  EXPECT_THAT(client_->Feed("more"), StatusIs(StatusCode::kUnavailable));
  EXPECT_THAT(client_->Write("more"), StatusIs(StatusCode::kUnavailable));
  const TestCertificate leaf = authority_.Issue({});
  server_ = Session::ForServer(Context::ForServer({.certificate_pem = leaf.certificate_pem,
                                                   .key_pem = leaf.key_pem})
                                   .value())
                .value();
  EXPECT_THAT(server_->Feed("GET / HTTP/1.1\r\n\r\n"),
              StatusIs(StatusCode::kUnavailable, HasSubstr("HTTP without TLS")));
}

TEST_F(TlsSessionTest, TornBytesBreakIt) {
  Join({.names = {"api.test"}}, "api.test");
  ASSERT_OK(server_->Write("hello"));
  std::string bytes = server_->TakeOutput();
  bytes.back() = static_cast<char>(bytes.back() ^ 1);
  EXPECT_THAT(client_->Feed(bytes), StatusIs(StatusCode::kUnavailable));
  EXPECT_EQ(client_->TakeInput(), "");
}

TEST_F(TlsSessionTest, RefusesNamesThatNoCertificateCanHave) {
  const auto context = Context::ForClient({.ca_pem = authority_.certificate_pem()}).value();
  for (const std::string name : {"", "a b", "a/b", "a..b", ".a", "[::1]"}) {
    EXPECT_THAT(Session::ForClient(context, name), StatusIs(StatusCode::kInvalidArgument)) << name;
  }
}

}  // namespace
}  // namespace kgpu::tls
