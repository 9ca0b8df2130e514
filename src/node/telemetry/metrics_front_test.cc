#include "src/node/telemetry/metrics_front.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <boost/json.hpp>

#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "src/kube/api/http_transport.h"
#include "src/platform/net/http/client.h"
#include "src/platform/sys/tcp_socket.h"
#include "testing/fake_loop.h"
#include "testing/run_until.h"
#include "testing/status_matchers.h"
#include "testing/temp_dir.h"
#include "testing/tls/certificates.h"

namespace kgpu::telemetry {
namespace {

using config::NameSet;
using std::chrono::seconds;
using ::testing::AllOf;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::Optional;
using ::testing::UnorderedElementsAre;

constexpr const char* kToken = "0123456789abcdef";

// An API server that never answers.
class SilentClient final : public kube::Client {
 public:
  std::unique_ptr<kube::Call> Send(kube::ApiRequest /*request*/, Done /*done*/) override {
    ++asked_;
    return nullptr;
  }
  std::unique_ptr<kube::Call> Stream(kube::ApiRequest /*request*/,
                                     kube::StreamHandlers /*handlers*/) override {
    return nullptr;
  }
  size_t asked() const { return asked_; }

 private:
  size_t asked_ = 0;
};

// Sends requests one behind the other without waiting for answers.
class PipeliningClient {
 public:
  PipeliningClient(FakeLoop& loop, const std::string& address)
      : loop_(loop),
        socket_(sys::StartConnectTcp(sys::TcpAddress::Parse(address).value()).value()) {}

  bool Send(std::string_view bytes) {
    return RunUntil(loop_, [&] {
      return send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT) ==
             static_cast<ssize_t>(bytes.size());
    });
  }
  // What there is of a connection that the server has closed.
  std::string Receive() const {
    std::string text;
    std::array<char, 4096> part{};
    for (;;) {
      const ssize_t count = recv(socket_.get(), part.data(), part.size(), MSG_DONTWAIT);
      if (count <= 0) {
        return text;
      }
      text.append(part.data(), static_cast<size_t>(count));
    }
  }

 private:
  FakeLoop& loop_;
  UniqueFd socket_;
};

constexpr std::string_view kPair =
    "GET /metrics HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer 0123456789abcdef\r\n\r\n"
    "GET /metrics HTTP/1.1\r\nHost: h\r\n\r\n";

class MetricsFrontTest : public ::testing::Test {
 protected:
  MetricsFrontTest() : front_(std::make_unique<MetricsFront>(loop_, root_, Handler())) {
    metrics_.names = {NameSet::kKgpu, NameSet::kDcgm, NameSet::kGke};
    // Ports that are free, and addresses that differ.
    metrics_.listen = {.dcgm = "127.0.0.2:0", .gke = "127.0.0.3:0"};
  }

  MetricsHandlers Handler() {
    return {
        .other =
            [](const http::Request& request) {
              return http::TextResponse(200, "other " + request.path);
            },
        .page = [](const http::Request&,
                   telemetry::NameSets names) { return http::TextResponse(200, NamesOf(names)); },
        .live =
            [](const http::Request& request, const http::Responder& responder) {
              responder.Send(http::TextResponse(200, "live " + request.path));
            },
        .client = [this]() -> kube::Client* { return has_cluster_ ? &api_ : nullptr; }};
  }
  void Serve() { front_->SetConfig("127.0.0.1:0", metrics_); }
  // The address of the endpoint that begins so.
  std::string AddressOf(const std::string& begin = "127.0.0.1") const {
    for (const MetricsEndpoint& endpoint : front_->endpoints()) {
      if (endpoint.address.starts_with(begin)) {
        return endpoint.address;
      }
    }
    return "";
  }
  http::Response Ask(const std::string& address, const http::Request& request) {
    std::optional<StatusOr<http::Response>> answer;
    const auto call = http::Call::Start(loop_, address, request,
                                        [&](StatusOr<http::Response> a) { answer = std::move(a); });
    EXPECT_TRUE(RunUntil(loop_, [&] { return answer.has_value(); }));
    if (!answer || !answer->ok()) {
      ADD_FAILURE() << (answer ? Message(answer->status()) : "no answer");
      return {.code = 0};
    }
    return **answer;
  }
  http::Response Get(const std::string& address, const std::string& target = "/metrics") {
    return Ask(address, {.target = target});
  }
  http::Response GetWith(const std::string& authorization) {
    http::Request request{.target = "/metrics"};
    request.headers.Add("Authorization", authorization);
    return Ask(AddressOf(), request);
  }
  void UseTokenFile() {
    dir_.WriteFile("tokens", kToken);
    metrics_.auth = {.by = config::TokenBy::kFile, .file = "/tokens"};
  }

  TempDir dir_;
  const sys::Root root_ = sys::Root::Open(dir_.path()).value();
  FakeLoop loop_;
  bool has_cluster_ = false;
  SilentClient api_;
  config::MetricsConfig metrics_;
  std::unique_ptr<MetricsFront> front_;
};

TEST_F(MetricsFrontTest, EachNameSetHasItsAddress) {
  Serve();
  EXPECT_EQ(Get(AddressOf("127.0.0.1")).body, "kgpu\n");
  EXPECT_EQ(Get(AddressOf("127.0.0.2")).body, "dcgm\n");
  EXPECT_EQ(Get(AddressOf("127.0.0.3")).body, "gke\n");
  EXPECT_EQ(Get(AddressOf("127.0.0.2"), "/healthz").body, "other /healthz\n");
}

TEST_F(MetricsFrontTest, NamesOfOneAddressShareAPage) {
  metrics_.listen = {.dcgm = "127.0.0.1:0", .gke = ""};
  Serve();
  EXPECT_EQ(front_->endpoints().size(), 1U);
  EXPECT_EQ(Get(AddressOf()).body, "kgpu, dcgm\n");
}

TEST_F(MetricsFrontTest, NamesThatAreNotWantedHaveNoAddress) {
  metrics_.names = {NameSet::kDcgm};
  Serve();
  EXPECT_THAT(front_->endpoints(),
              UnorderedElementsAre(Field(&MetricsEndpoint::address, HasSubstr("127.0.0.1:")),
                                   Field(&MetricsEndpoint::address, HasSubstr("127.0.0.2:"))));
  EXPECT_EQ(Get(AddressOf("127.0.0.1")).body, "own\n");
}

TEST_F(MetricsFrontTest, UsualPortsAreAtTheHostOfTheOwnPage) {
  // Nothing can listen there: an address of a documentation's network.
  metrics_.listen = {};
  front_->SetConfig("192.0.2.1:9401", metrics_);
  EXPECT_THAT(front_->endpoints(),
              UnorderedElementsAre(Field(&MetricsEndpoint::address, "192.0.2.1:9401"),
                                   Field(&MetricsEndpoint::address, "192.0.2.1:9400"),
                                   Field(&MetricsEndpoint::address, "192.0.2.1:2112")));
}

TEST_F(MetricsFrontTest, ServesNothingWhereNothingIsWanted) {
  metrics_.names = {NameSet::kKgpu};
  front_->SetConfig("", metrics_);
  EXPECT_TRUE(front_->endpoints().empty());
}

TEST_F(MetricsFrontTest, AnAddressInUseIsTriedAgain) {
  MetricsFront other(loop_, root_,
                     {.other = nullptr, .page = nullptr, .live = nullptr, .client = nullptr});
  config::MetricsConfig own;
  other.SetConfig("127.0.0.1:0", own);
  const std::string address = other.endpoints().at(0).address;
  metrics_.names = {NameSet::kKgpu};
  front_->SetConfig(address, metrics_);
  ASSERT_EQ(front_->endpoints().size(), 1U);
  EXPECT_THAT(front_->endpoints()[0].problem, HasSubstr(address));
  loop_.Advance(seconds(5));
  EXPECT_NE(front_->endpoints()[0].problem, "");
  other.SetConfig("", own);
  loop_.Advance(seconds(5));
  EXPECT_EQ(front_->endpoints()[0].problem, "");
  EXPECT_EQ(Get(address).body, "kgpu\n");
}

TEST_F(MetricsFrontTest, AnEndpointThatStaysAsItIsStaysOpen) {
  Serve();
  const std::string address = AddressOf();
  metrics_.names = {NameSet::kKgpu};
  Serve();
  EXPECT_EQ(AddressOf(), address);
  EXPECT_EQ(Get(address).body, "kgpu\n");
  EXPECT_EQ(AddressOf("127.0.0.2"), "");
}

TEST_F(MetricsFrontTest, LetsReadersWithATokenIn) {
  UseTokenFile();
  Serve();
  EXPECT_EQ(GetWith(fmt::format("Bearer {}", kToken)).body, "kgpu\n");
  EXPECT_EQ(GetWith(fmt::format("bearer   {}", kToken)).code, 200);
}

TEST_F(MetricsFrontTest, TheLiveViewNeedsTheSameToken) {
  UseTokenFile();
  Serve();
  for (const char* target : {"/live", "/live/events"}) {
    http::Request request{.target = target};
    EXPECT_EQ(Ask(AddressOf(), request).code, 401) << target;
    request.headers.Add("Authorization", fmt::format("Bearer {}", kToken));
    EXPECT_EQ(Ask(AddressOf(), request).body, fmt::format("live {}\n", target));
  }
  EXPECT_EQ(Get(AddressOf(), "/").body, "other /\n") << "the page's files are for anybody";
}

TEST_F(MetricsFrontTest, KeepsReadersWithoutAGoodTokenOut) {
  UseTokenFile();
  Serve();
  const http::Response without = Get(AddressOf());
  EXPECT_EQ(without.code, 401);
  EXPECT_THAT(without.headers.Find("WWW-Authenticate"),
              Optional(std::string_view(R"(Bearer realm="kgpu")")));
  for (const std::string wrong :
       {"Bearer", "Bearer ", "Basic 0123456789abcdef", "0123456789abcdef", "Bearer 0123456789abcde",
        "Bearer 0123456789abcdef 0123456789abcdef"}) {
    const http::Response answer = GetWith(wrong);
    EXPECT_EQ(answer.code, 401) << wrong;
    EXPECT_THAT(answer.headers.Find("WWW-Authenticate"), Optional(HasSubstr("Bearer"))) << wrong;
  }
  http::Request twice{.target = "/metrics"};
  twice.headers.Add("Authorization", fmt::format("Bearer {}", kToken));
  twice.headers.Add("Authorization", fmt::format("Bearer {}", kToken));
  EXPECT_EQ(Ask(AddressOf(), twice).code, 401);
}

TEST_F(MetricsFrontTest, ShowsThatNobodyIsLetIn) {
  metrics_.auth = {.by = config::TokenBy::kFile, .file = "/tokens"};
  Serve();
  EXPECT_THAT(front_->endpoints().at(0).problem, HasSubstr("cannot read tokens"));
  UseTokenFile();
  loop_.Advance(seconds(1));
  EXPECT_EQ(front_->endpoints().at(0).problem, "");
}

TEST_F(MetricsFrontTest, ProbesNeedNoToken) {
  UseTokenFile();
  Serve();
  EXPECT_EQ(Get(AddressOf(), "/readyz").code, 200);
}

TEST_F(MetricsFrontTest, CannotTellWithoutACluster) {
  metrics_.auth = {.by = config::TokenBy::kCluster};
  Serve();
  const http::Response answer = GetWith(fmt::format("Bearer {}", kToken));
  EXPECT_EQ(answer.code, 503);
  EXPECT_THAT(answer.headers.Find("Retry-After"), Optional(std::string_view("5")));
}

TEST_F(MetricsFrontTest, AChangeOfGuardsCountsAtOnce) {
  Serve();
  EXPECT_EQ(Get(AddressOf()).code, 200);
  UseTokenFile();
  Serve();
  EXPECT_EQ(Get(AddressOf()).code, 401);
  metrics_.auth = {};
  Serve();
  EXPECT_EQ(Get(AddressOf()).code, 200);
}

TEST_F(MetricsFrontTest, NobodySlipsThroughWhileGuardsChange) {
  has_cluster_ = true;
  metrics_.names = {NameSet::kKgpu};
  metrics_.auth = {.by = config::TokenBy::kCluster};
  Serve();
  PipeliningClient client(loop_, AddressOf());
  ASSERT_TRUE(client.Send(kPair));
  ASSERT_TRUE(RunUntil(loop_, [&] { return api_.asked() == 1; }));
  metrics_.auth.audiences = {"kgpu"};
  Serve();
  const std::string answers = client.Receive();
  EXPECT_THAT(answers, HasSubstr("the configuration is changing"));
  EXPECT_THAT(answers, Not(HasSubstr("kgpu\n"))) << "the second request had no token";
}

TEST_F(MetricsFrontTest, AsksNobodyWhileItGoes) {
  has_cluster_ = true;
  metrics_.names = {NameSet::kKgpu};
  metrics_.auth = {.by = config::TokenBy::kCluster};
  Serve();
  PipeliningClient client(loop_, AddressOf());
  ASSERT_TRUE(client.Send(fmt::format("{}{}", kPair, kPair)));
  ASSERT_TRUE(RunUntil(loop_, [&] { return api_.asked() == 1; }));
  front_.reset();
  EXPECT_EQ(api_.asked(), 1U);
}

TEST_F(MetricsFrontTest, SpeaksTlsOnceThereIsACertificate) {
  metrics_.names = {NameSet::kKgpu};
  metrics_.tls = {.certificate = "/c.pem", .key = "/k.pem"};
  Serve();
  ASSERT_EQ(front_->endpoints().size(), 1U);
  EXPECT_THAT(front_->endpoints()[0].problem, HasSubstr("no certificate"));
  const TestAuthority authority;
  const TestCertificate leaf = authority.Issue({.names = {"127.0.0.1"}});
  dir_.WriteFile("c.pem", leaf.certificate_pem);
  dir_.WriteFile("k.pem", leaf.key_pem);
  loop_.Advance(seconds(5));
  EXPECT_THAT(front_->endpoints()[0],
              AllOf(Field(&MetricsEndpoint::problem, ""), Field(&MetricsEndpoint::has_tls, true)));
  const auto context = tls::Context::ForClient({.ca_pem = authority.certificate_pem()}).value();
  kube::HttpTransport transport(
      loop_, {.endpoint = net::Endpoint::Parse("https://" + AddressOf()).value()},
      [&]() -> StatusOr<kube::Trust> { return kube::Trust{.context = context, .generation = 1}; });
  std::string body;
  std::optional<Status> end;
  const auto exchange = transport.Start({.target = "/metrics"},
                                        {.on_data = [&](std::string_view bytes) { body += bytes; },
                                         .on_end = [&](const Status& status) { end = status; }});
  EXPECT_TRUE(RunUntil(loop_, [&] { return end.has_value(); }));
  EXPECT_THAT(end, Optional(OkStatus()));
  EXPECT_EQ(body, "kgpu\n");
  EXPECT_EQ(Get(AddressOf()).code, 400) << "plain HTTP gets an answer that says so";
}

TEST_F(MetricsFrontTest, ProbesNeedNoCertificate) {
  metrics_.names = {NameSet::kKgpu};
  metrics_.tls = {.certificate = "/c.pem", .key = "/k.pem"};
  UseTokenFile();
  Serve();
  EXPECT_EQ(Get(AddressOf(), "/healthz").body, "other /healthz\n");
  EXPECT_EQ(Get(AddressOf(), "/readyz").code, 200);
  EXPECT_EQ(GetWith(fmt::format("Bearer {}", kToken)).code, 400) << "a page is never plain";
  EXPECT_EQ(Get(AddressOf(), "/other").code, 400);
  const TestCertificate leaf = TestAuthority().Issue({.names = {"127.0.0.1"}});
  dir_.WriteFile("c.pem", leaf.certificate_pem);
  dir_.WriteFile("k.pem", leaf.key_pem);
  loop_.Advance(seconds(1));
  EXPECT_EQ(Get(AddressOf(), "/healthz").code, 200) << "nor is one needed once it is there";
  EXPECT_EQ(GetWith(fmt::format("Bearer {}", kToken)).code, 400);
  EXPECT_EQ(front_->endpoints().at(0).problem, "");
}

}  // namespace
}  // namespace kgpu::telemetry
