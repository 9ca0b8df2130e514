// Real clients at one address for HTTP/1.1 and HTTP/2: curl, and Debian's gRPC client.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "src/platform/base/event_loop.h"
#include "src/platform/base/strings.h"
#include "src/platform/net/h2/grpc_message.h"
#include "src/platform/net/port/port.h"
#include "src/platform/net/tls/context.h"
#include "testing/shell.h"
#include "testing/status_matchers.h"
#include "testing/temp_dir.h"
#include "testing/tls/certificates.h"

namespace kgpu::port {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;

constexpr size_t kMaxBody = size_t{16} << 20;

// Body, path, and whether it came by TLS.
std::string Echo(const http::Request& request) {
  return request.body + "|" + request.path + (request.has_tls ? "|tls" : "|plain");
}

void Answer2(const http::Request& request, const h2::Responder& responder) {
  if (!h2::IsGrpc(request)) {
    return responder.Send({.body = Echo(request)});
  }
  const auto message = h2::GrpcMessageIn(request.body, kMaxBody);
  http::Response response = h2::GrpcHead();
  response.body =
      h2::FrameGrpcMessage(std::string(message.value_or("")) + (request.has_tls ? "|tls" : ""));
  responder.Send(std::move(response), h2::GrpcTrailers(h2::GrpcCode::kOk, ""));
}

// A port at an address with TLS and one without, with a loop of its own as the clients block.
class PortClientsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const TestCertificate leaf = authority_.Issue({.names = {"127.0.0.1"}});
    context_ =
        tls::Context::ForServer({.certificate_pem = leaf.certificate_pem, .key_pem = leaf.key_pem})
            .value();
    std::ofstream(ca_file_) << authority_.certificate_pem();
    loop_ = EpollLoop::Create().value();
    port_.emplace(
        *loop_,
        [](const http::Request& request, const http::Responder& responder) {
          responder.Send({.body = Echo(request)});
        },
        Answer2,
        PortOptions{.http = {.limits = {.body = kMaxBody}}, .h2 = {.limits = {.body = kMaxBody}}});
    plain_ = port_->Listen("127.0.0.1:0").value();
    secret_ = port_->ListenTls("127.0.0.1:0", [this] { return context_; }).value();
    thread_ = std::thread([this] { loop_->Run(); });
  }
  void TearDown() override {
    loop_->Quit();
    thread_.join();
    port_.reset();
  }

  static bool HasCurl() { return Shell("curl --version").code == 0; }
  Outcome Curl(const std::string& arguments) const {
    return Shell("curl --silent --show-error --max-time 60 --noproxy '*' --cacert " + ca_file_ +
                 " " + arguments);
  }
  // The answer, a blank and the version of HTTP.
  std::string Ask(const std::string& flags, const std::string& url) const {
    return Curl("--write-out ' %{http_version}' " + flags + " " + url).text;
  }
  static std::string Grpc(const std::string& arguments) {
    return Shell(std::string(KGPU_PORT_GRPC_CLIENT) + " " + arguments).text;
  }

  TempDir dir_;
  const std::string ca_file_ = dir_.At("ca.pem");
  const TestAuthority authority_;
  std::shared_ptr<const tls::Context> context_;
  std::unique_ptr<EpollLoop> loop_;
  std::optional<Port> port_;
  std::string plain_;
  std::string secret_;
  std::thread thread_;
};

TEST_F(PortClientsTest, CurlSpeaksWhatItLikes) {
  if (!HasCurl()) {
    GTEST_SKIP() << "curl is not installed";
  }
  const std::string plain = "http://" + plain_ + "/a";
  EXPECT_EQ(Ask("--http1.1 --data x", plain), "x|/a|plain 1.1");
  EXPECT_EQ(Ask("--http1.0 --data x", plain), "x|/a|plain 1.1");
  EXPECT_EQ(Ask("--http2-prior-knowledge --data x", plain), "x|/a|plain 2");
  EXPECT_EQ(Ask("--http2 --data x", plain), "x|/a|plain 1.1") << "no upgrade, as RFC 9113 says";
  const std::string secret = "https://" + secret_ + "/a";
  EXPECT_EQ(Ask("--http2 --data x", secret), "x|/a|tls 2");
  EXPECT_EQ(Ask("--http1.1 --data x", secret), "x|/a|tls 1.1");
  EXPECT_EQ(Ask("--http1.0 --data x", secret), "x|/a|tls 1.1");
  EXPECT_EQ(Ask("--no-alpn --data x", secret), "x|/a|tls 1.1");
  EXPECT_EQ(Ask("--http2-prior-knowledge --data x", secret), "x|/a|tls 2");
  EXPECT_EQ(Ask("--tls-max 1.2 --data x", secret), "x|/a|tls 2");
}

TEST_F(PortClientsTest, CurlSendsAndGetsLargeBodies) {
  if (!HasCurl()) {
    GTEST_SKIP() << "curl is not installed";
  }
  const std::string body(size_t{9} << 20, 'x');
  std::ofstream(dir_.At("body")) << body;
  for (const std::string flags : {"--http1.1", "--http2"}) {
    const Outcome outcome =
        Curl(flags + " --data-binary @" + dir_.At("body") + " https://" + secret_ + "/");
    EXPECT_EQ(outcome.code, 0) << flags;
    EXPECT_TRUE(outcome.text == body + "|/|tls") << flags << ": " << outcome.text.size();
  }
}

TEST_F(PortClientsTest, CurlIsToldThatItsBodyIsTooLarge) {
  if (!HasCurl()) {
    GTEST_SKIP() << "curl is not installed";
  }
  std::ofstream(dir_.At("body")) << std::string(kMaxBody + 1, 'x');
  for (const std::string flags : {"--http1.1", "--http2"}) {
    EXPECT_THAT(Curl("--write-out %{http_code} --data-binary @" + dir_.At("body") + " " + flags +
                     " https://" + secret_ + "/")
                    .text,
                EndsWith("413"))
        << flags;
  }
}

TEST_F(PortClientsTest, CurlAsksForTheHeadOnly) {
  if (!HasCurl()) {
    GTEST_SKIP() << "curl is not installed";
  }
  for (const std::string flags : {"--http1.1", "--http2"}) {
    const Outcome outcome = Curl("--head " + flags + " https://" + secret_ + "/a");
    EXPECT_EQ(outcome.code, 0) << outcome.text;
    EXPECT_THAT(ToLower(outcome.text), HasSubstr("content-length: 7"));
    EXPECT_THAT(ToLower(outcome.text), HasSubstr("date: "));
  }
}

TEST_F(PortClientsTest, CurlAsksForManyAtATime) {
  if (!HasCurl()) {
    GTEST_SKIP() << "curl is not installed";
  }
  const Outcome outcome =
      Curl("--parallel --parallel-max 30 --fail --write-out '%{http_version}\\n' --output " +
           dir_.At("#1") + " 'https://" + secret_ + "/[1-60]'");
  EXPECT_EQ(outcome.code, 0) << outcome.text;
  for (int i = 1; i <= 60; ++i) {
    std::ifstream file(dir_.At(fmt::format("{}", i)));
    std::string text;
    std::getline(file, text);
    EXPECT_EQ(text, fmt::format("|/{}|tls", i));
  }
}

TEST_F(PortClientsTest, CurlIsToldWhyItIsRefused) {
  if (!HasCurl()) {
    GTEST_SKIP() << "curl is not installed";
  }
  EXPECT_THAT(Ask("", "http://" + secret_ + "/"), HasSubstr("https://"));
  EXPECT_NE(Curl("https://" + plain_ + "/").code, 0);
  EXPECT_NE(Curl("--capath /nowhere --cacert /dev/null https://" + secret_ + "/").code, 0);
}

TEST_F(PortClientsTest, DebiansGrpcClientCallsWithAndWithoutTls) {
  EXPECT_EQ(Grpc(plain_ + " hello"), "0 hello\n");
  EXPECT_EQ(Grpc(secret_ + " hello " + ca_file_), "0 hello|tls\n");
  std::ofstream(ca_file_) << TestAuthority("another").certificate_pem();
  EXPECT_THAT(Grpc(secret_ + " hello " + ca_file_), HasSubstr("\n14 "));
}

}  // namespace
}  // namespace kgpu::port
