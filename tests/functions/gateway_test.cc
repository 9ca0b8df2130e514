// The built `kgpu fn gateway` before a function service that the test plays: called by curl, by
// Debian's gRPC client and by `kgpu fn`, with and without TLS.
#include <fx_gateway.grpc.pb.h>
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <poll.h>

#include <boost/json.hpp>

#include <csignal>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "src/platform/base/event_loop.h"
#include "src/platform/base/strings.h"
#include "src/platform/doc/doc.h"
#include "src/platform/net/http/client.h"
#include "src/platform/net/http/server.h"
#include "src/platform/net/rpc/channel.h"
#include "src/platform/sys/tcp_socket.h"
#include "testing/status_matchers.h"
#include "testing/temp_dir.h"
#include "testing/tls/certificates.h"
#include "tests/e2e/program.h"

namespace kgpu::e2e {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr const char* kAdministrator = "admin-0123456789abcdef";
constexpr const char* kCaller = "caller-0123456789abcdef";

// The service of a machine with one function, on a loop of its own.
class FakeService {
 public:
  explicit FakeService(const std::string& socket)
      : loop_(EpollLoop::Create().value()),
        server_(*loop_, [this](const http::Request& request, const http::Responder& responder) {
          Handle(request, responder);
        }) {
    EXPECT_OK(server_.Listen(socket));
    thread_ = std::thread([this] { loop_->Run(); });
  }
  ~FakeService() {
    loop_->Quit();
    thread_.join();
  }
  // Answers what came to /function/held.
  void Release() {
    loop_->Post([this] {
      for (const http::Responder& responder : std::exchange(held_, {})) {
        responder.Send(http::TextResponse(200, "released"));
      }
    });
  }
  // Waits until a request is held.
  void AwaitHeld() { is_held_.get_future().wait(); }
  FakeService(const FakeService&) = delete;
  FakeService& operator=(const FakeService&) = delete;

 private:
  void Handle(const http::Request& request, const http::Responder& responder) {
    if (request.path == "/system/functions") {
      return responder.Send(http::JsonResponse(
          200,
          R"({"Functions":[{"Name":"hello","Image":"i","InvocationCount":"7","Replicas":"1",)"
          R"("AvailableReplicas":"1","Annotations":{},"Labels":{},"Kgpu":{"state":"running"}}]})"));
    }
    if (request.path == "/system/function/hello" || request.path == "/system/scale-function") {
      return responder.Send(http::JsonResponse(200, "{}"));
    }
    if (request.path.starts_with("/function/hello")) {
      http::Response head;
      head.headers.Add("X-Call-Id", "7");
      head.body = fmt::format("{} {} ", request.method, request.target);
      const http::Stream stream = responder.Begin(std::move(head));
      stream.Write(request.body);
      return stream.End();
    }
    if (request.path == "/function/cut") {
      // Once half of it has left, the stream goes before its end.
      const auto stream = std::make_shared<http::Stream>(responder.Begin({.body = "half"}));
      return stream->OnDrained([stream] {});
    }
    if (request.path == "/function/held") {
      held_.push_back(responder);
      return is_held_.set_value();
    }
    responder.Send(http::JsonResponse(404, R"({"code":5,"message":"no such function"})"));
  }

  const std::unique_ptr<EpollLoop> loop_;
  std::vector<http::Responder> held_;
  std::promise<void> is_held_;
  http::Server server_;
  std::thread thread_;
};

class GatewayEndToEndTest : public ::testing::Test {
 protected:
  void Run(std::vector<std::string> flags = {}) {
    service_.emplace(dir_.At("functions.sock"));
    std::vector<std::string> argv = {
        "/bin/sh", "-c",        "exec \"$@\" 2>&1", "sh",       ProgramPath("kgpu"), "fn",
        "gateway", "--run-dir", dir_.path(),        "--listen", "127.0.0.1:0"};
    argv.insert(argv.end(), flags.begin(), flags.end());
    gateway_.emplace(std::move(argv));
    ASSERT_TRUE(gateway_->WaitFor(" address=127.0.0.1:")) << gateway_->out();
    ASSERT_TRUE(gateway_->WaitFor("\n"));
    address_ = ValueOf(" address=");
  }
  std::string ValueOf(const std::string& key) const {
    const std::string& log = gateway_->out();
    const size_t at = log.find(key) + key.size();
    return std::string(Trim(log.substr(at, log.find_first_of(" \n", at) - at)));
  }
  // `curl` with these arguments, silently.
  static Result Curl(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"/usr/bin/curl", "-sS", "--max-time", "30"});
    return RunProgram(std::move(arguments));
  }
  static bool HasCurl() { return access("/usr/bin/curl", X_OK) == 0; }
  std::unique_ptr<pb::FxGateway::Stub> Stub() const {
    const sys::TcpAddress address = sys::TcpAddress::Parse(address_).value();
    UniqueFd socket = sys::StartConnectTcp(address).value();
    pollfd polled{.fd = socket.get(), .events = POLLOUT, .revents = 0};
    EXPECT_EQ(poll(&polled, 1, 30'000), 1);
    EXPECT_OK(sys::ConnectResult(socket, address));
    return pb::FxGateway::NewStub(rpc::ChannelOver(std::move(socket)));
  }

  TempDir dir_;
  std::optional<FakeService> service_;
  std::optional<Background> gateway_;
  std::string address_;
};

TEST_F(GatewayEndToEndTest, ServesCurl) {
  if (!HasCurl()) {
    GTEST_SKIP() << "curl is not installed";
  }
  Run();
  const Result call =
      Curl({"-i", "-d", "input", fmt::format("http://{}/function/hello/a?b=c", address_)});
  EXPECT_EQ(call.code, 0) << call.err;
  EXPECT_THAT(call.out, AllOf(HasSubstr("200 OK"), HasSubstr("X-Call-Id: 7"),
                              HasSubstr("POST /function/hello/a?b=c input")));
  const Result list = Curl({fmt::format("http://{}/system/functions", address_)});
  EXPECT_THAT(list.out, HasSubstr(R"("Name":"hello")"));
  const Result none =
      Curl({"-w", "%{http_code}", fmt::format("http://{}/function/none", address_)});
  EXPECT_THAT(none.out, HasSubstr("404"));
  const Result http2 = Curl({"--http2-prior-knowledge", "-d", "input", "-w", " %{http_version}",
                             fmt::format("http://{}/function/hello", address_)});
  EXPECT_EQ(http2.out, "POST /function/hello input 2") << http2.err;
}

TEST_F(GatewayEndToEndTest, CurlSeesThatAnAnswerWasCutOff) {
  if (!HasCurl()) {
    GTEST_SKIP() << "curl is not installed";
  }
  Run();
  const Result http1 = Curl({fmt::format("http://{}/function/cut", address_)});
  EXPECT_EQ(http1.code, 18) << "CURLE_PARTIAL_FILE, not " << http1.err;
  EXPECT_EQ(http1.out, "half");
  const Result http2 =
      Curl({"--http2-prior-knowledge", fmt::format("http://{}/function/cut", address_)});
  EXPECT_EQ(http2.code, 92) << "CURLE_HTTP2_STREAM, not " << http2.err;
}

TEST_F(GatewayEndToEndTest, ServesAGrpcClient) {
  dir_.WriteFile("tokens", fmt::format("{} call\n", kCaller));
  Run({"--tokens", dir_.At("tokens")});
  const auto stub = Stub();
  pb::InvokeServiceRequest request;
  request.set_service("hello");
  request.set_input(std::string("\xff\0", 2));
  pb::Message message;
  {
    grpc::ClientContext context;
    EXPECT_EQ(stub->Invoke(&context, request, &message).error_code(),
              grpc::StatusCode::UNAUTHENTICATED);
  }
  grpc::ClientContext context;
  context.AddMetadata("authorization", fmt::format("Bearer {}", kCaller));
  const grpc::Status status = stub->Invoke(&context, request, &message);
  EXPECT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(message.msg(), std::string("POST /function/hello \xff\0", 23));
}

TEST_F(GatewayEndToEndTest, ServesCommandsByTlsWithATokenFromAFile) {
  const TestAuthority authority;
  const TestCertificate server = authority.Issue({.names = {"127.0.0.1"}});
  dir_.WriteFile("tls.crt", server.certificate_pem);
  dir_.WriteFile("tls.key", server.key_pem);
  dir_.WriteFile("ca.crt", authority.certificate_pem());
  dir_.WriteFile("other.crt", TestAuthority("other").certificate_pem());
  dir_.WriteFile("tokens", fmt::format("{} admin\n{} call\n", kAdministrator, kCaller));
  dir_.WriteFile("admin", fmt::format("{}\n", kAdministrator));
  dir_.WriteFile("caller", fmt::format("{}\n", kCaller));
  Run({"--tokens", dir_.At("tokens"), "--tls-cert", dir_.At("tls.crt"), "--tls-key",
       dir_.At("tls.key")});
  const auto list = [&](const std::string& ca, const std::string& token) {
    std::vector<std::string> argv = {
        "kgpu", "fn", "list", "--gateway", "https://" + address_, "--ca-file", dir_.At(ca)};
    if (!token.empty()) {
      argv.insert(argv.end(), {"--token-file", dir_.At(token)});
    }
    argv.front() = ProgramPath("kgpu");
    return RunProgram(std::move(argv));
  };
  const Result listed = list("ca.crt", "admin");
  EXPECT_EQ(listed.code, 0) << listed.err;
  EXPECT_THAT(listed.out, HasSubstr("hello"));
  const Result refused = list("ca.crt", "caller");
  EXPECT_EQ(refused.code, 5);
  EXPECT_THAT(refused.err, HasSubstr("lacks the role \"read\""));
  EXPECT_EQ(list("ca.crt", "").code, 5);
  const Result distrusted = list("other.crt", "admin");
  EXPECT_EQ(distrusted.code, 6) << distrusted.err;
  if (HasCurl()) {
    const Result curl =
        Curl({"--cacert", dir_.At("ca.crt"), "-H", fmt::format("Authorization: Bearer {}", kCaller),
              fmt::format("https://{}/function/hello", address_)});
    EXPECT_EQ(curl.out, "GET /function/hello ") << curl.err;
    const Result http2 =
        Curl({"--http2", "--cacert", dir_.At("ca.crt"), "-H",
              fmt::format("Authorization: Bearer {}", kCaller), "-w", "%{http_version}",
              fmt::format("https://{}/function/hello", address_)});
    EXPECT_EQ(http2.out, "GET /function/hello 2") << http2.err;
  }
}

TEST_F(GatewayEndToEndTest, CommandsTakeAddressesAndNames) {
  Run();
  const std::string port = address_.substr(address_.rfind(':'));
  const auto list = [&](std::vector<std::string> flags) {
    flags.insert(flags.begin(), {ProgramPath("kgpu"), "fn", "list", "--gateway"});
    return RunProgram(std::move(flags));
  };
  for (const std::string& gateway :
       {address_, port, "localhost" + port, "http://localhost" + port + "/"}) {
    const Result listed = list({gateway});
    EXPECT_EQ(listed.code, 0) << gateway << ": " << listed.err;
    EXPECT_THAT(listed.out, HasSubstr("hello")) << gateway;
  }
  for (const std::string gateway :
       {"localhost", "ftp://localhost:1", "localhost:0", "localhost:1/path", "https://", "a b:1"}) {
    const Result refused = list({gateway});
    EXPECT_EQ(refused.code, 2) << gateway;
    EXPECT_THAT(refused.err, HasSubstr("--gateway: ")) << gateway;
  }
  EXPECT_EQ(list({address_, "--ca-file", dir_.At("ca")}).code, 2) << "without TLS it is of no use";
  dir_.WriteFile("two words", "0123456789abcdef 0123456789abcdef");
  EXPECT_EQ(list({address_, "--token-file", dir_.At("two words")}).code, 2);
  EXPECT_EQ(list({"https://" + address_, "--ca-file", dir_.At("none")}).code, 3);
}

TEST_F(GatewayEndToEndTest, ChangesOfFunctionsAnswerPrograms) {
  Run();
  dir_.WriteFile("config.yaml", R"(functions:
  hello:
    runtime: python3
    image: localhost/hello
    handler: {dir: ./src, file: "", name: Handler}
)");
  const auto run = [&](std::vector<std::string> words) {
    words.insert(words.begin(), {ProgramPath("kgpu"), "fn"});
    words.insert(words.end(), {"--gateway", address_});
    return RunProgram(std::move(words));
  };
  const auto json = [&](std::vector<std::string> words) {
    words.insert(words.end(), {"--output", "json"});
    const Result result = run(std::move(words));
    EXPECT_EQ(result.code, 0) << result.err;
    const auto parsed = doc::Parse(result.out, doc::Format::kJson, "the output");
    EXPECT_OK(parsed);
    return parsed.ok() ? doc::PrintLine(*parsed) : "";
  };
  EXPECT_THAT(json({"deploy", "-f", dir_.At("config.yaml"), "--min", "0"}),
              AllOf(HasSubstr(R"("name":"hello","image":"localhost/hello)"),
                    HasSubstr(R"("minReplicas":0)"), HasSubstr(R"("notes":[])")));
  EXPECT_EQ(json({"scale", "hello", "2"}), R"({"name":"hello","minReplicas":2})");
  EXPECT_EQ(json({"delete", "hello"}), R"({"functions":[{"name":"hello"}]})");
  EXPECT_EQ(run({"delete", "hello"}).out, "deleted hello\n");
  EXPECT_EQ(run({"delete", "other", "--output", "json"}).out, "");
  EXPECT_EQ(run({"scale", "hello", "2", "--output", "xml"}).code, 2);
}

TEST_F(GatewayEndToEndTest, StartsForOtherHostsOnlyWithTokens) {
  const auto run = [&](std::vector<std::string> flags) {
    flags.insert(flags.begin(), {ProgramPath("kgpu"), "fn", "gateway", "--run-dir", dir_.path()});
    return RunProgram(std::move(flags));
  };
  const Result open = run({"--listen", ":0"});
  EXPECT_EQ(open.code, 2);
  EXPECT_THAT(open.err, AllOf(HasSubstr("--tokens FILE"), HasSubstr("--allow-anonymous")));
  EXPECT_EQ(run({"--listen", "0.0.0.0:0"}).code, 2);
  EXPECT_EQ(run({"--listen", "127.0.0.1:0", "--tls-cert", "/x"}).code, 2);
  EXPECT_EQ(run({"--tokens", dir_.At("none"), "--allow-anonymous"}).code, 2);
  const Result missing = run({"--tokens", dir_.At("none")});
  EXPECT_EQ(missing.code, 3);
  EXPECT_THAT(missing.err, HasSubstr(dir_.At("none")));
}

TEST_F(GatewayEndToEndTest, EndsAfterTheRequestsInProgress) {
  Run();
  auto answer = std::async(std::launch::async,
                           [this] { return http::Fetch(address_, {.target = "/function/held"}); });
  service_->AwaitHeld();
  ASSERT_EQ(kill(gateway_->pid(), SIGTERM), 0);
  ASSERT_TRUE(gateway_->WaitFor("gateway stopping"));
  EXPECT_THAT(http::Fetch(address_, {.target = "/function/hello"}),
              StatusIs(StatusCode::kUnavailable));
  service_->Release();
  const auto released = answer.get();
  ASSERT_OK(released);
  EXPECT_EQ(released->body, "released\n");
  EXPECT_FALSE(gateway_->RunsFor(std::chrono::seconds(30)));
  EXPECT_EQ(gateway_->Stop().code, 0);
}

}  // namespace
}  // namespace kgpu::e2e
