// The built `kgpu fn gateway` with functions on a cluster: the stub API server with a scheduler and
// kubelets, and a real watchdog in place of each pod's container. The gateway has the rights that
// the chart gives it, and ClusterFixture fails a test that has it refused one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <boost/json.hpp>
#include <memory>
#include <string>
#include <vector>

#include "src/platform/net/http/client.h"
#include "testing/temp_dir.h"
#include "tests/e2e/cluster_fixture.h"

namespace kgpu::e2e {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;

class ClusterGatewayTest : public ClusterFixture {
 protected:
  std::vector<std::string> ServerFlags() const override { return {"--controllers"}; }
  void GiveRights() override {
    ApplyChart({"--set", "controller.enabled=false", "--set", "functions.enabled=true", "--set",
                "functions.allowAnonymous=true"});
    WriteKubeconfig("kgpu-gateway", "gateway-kubeconfig");
    Count(4);
  }
  void TearDown() override {
    gateway_.reset();
    watchdog_.reset();
    ClusterFixture::TearDown();
  }

  // Every pod's address, which no other run of this test has: the port is always the same.
  static std::string PodAddress() {
    const auto number = static_cast<unsigned>(getpid());
    return fmt::format("127.{}.{}.{}", 1 + (number >> 16 & 0x3F), number >> 8 & 0xFF,
                       1 + (number & 0x7F));
  }

  void StartWatchdog() {
    dir_.WriteFile("handler.py", "def Handler(req):\n    return req.input[::-1]\n");
    watchdog_ = std::make_unique<Background>(std::vector<std::string>{
        "/usr/bin/env", "HANDLER_DIR=" + std::string(dir_.path()), "HANDLER_FILE=handler.py",
        "HANDLER_NAME=Handler", ProgramPath("kgpu-fnwatch"), "--listen", PodAddress() + ":8080",
        "--grpc", "off", "--concurrency", "4", "--", "python3", "-B",
        KGPU_SOURCE_DIR "/deploy/functions/python3/worker/kgpu_worker.py"});
  }

  void StartGateway() {
    gateway_ = std::make_unique<Background>(std::vector<std::string>{
        "/bin/sh", "-c", R"(exec "$@" 2>&1)", "sh", ProgramPath("kgpu"), "fn", "gateway",
        "--provider", "kubernetes", "--kubeconfig", At("gateway-kubeconfig"), "--listen",
        "127.0.0.1:0", "--allow-anonymous", "--state-dir", At("gateway-state"), "--mesh-listen",
        "127.0.0.1:0"});
    ASSERT_TRUE(gateway_->WaitFor("event=\"gateway started\"")) << gateway_->out();
    ASSERT_TRUE(gateway_->WaitFor("event=\"functions read\"")) << gateway_->out();
    at_ = AddressAfter("event=\"gateway started\"");
  }
  // That the gateway has logged.
  std::string AddressAfter(std::string_view event) const {
    const std::string& out = gateway_->out();
    const size_t begin = out.find("address=", out.find(event)) + 8;
    return out.substr(begin, out.find_first_of(" \n", begin) - begin);
  }
  // A request that comes from `ip`: its code, and the answer.
  static std::string CurlFrom(const std::string& ip, const std::string& url) {
    return RunProgram(
               {"/usr/bin/curl", "-sS", "--interface", ip, "-d", "abc", "-w", " %{http_code}", url})
        .out;
  }

  http::Response Send(const std::string& method, const std::string& target,
                      const std::string& body = "") const {
    http::Request request{.method = method, .target = target, .body = body};
    const auto answer = http::Fetch(at_, request, {.timeout = std::chrono::seconds(60)});
    EXPECT_OK(answer);
    return answer.value_or(http::Response{.code = 0});
  }

  int Deploy(const std::string& name, int gpus) const {
    const boost::json::object function = {{"Service", name},
                                          {"Image", "registry.example/fn/" + name},
                                          {"EnvVars", {{"SIM_POD_IP", PodAddress()}}},
                                          {"Limits", {{"GPU", std::to_string(gpus)}}},
                                          {"MinReplicas", 0},
                                          {"MaxReplicas", 2},
                                          {"Kgpu", {{"runtime", "python3"}, {"idle", "1s"}}}};
    const http::Response answer =
        Send("POST", "/system/functions", boost::json::serialize(function));
    EXPECT_EQ(answer.code, 200) << answer.body;
    return answer.code;
  }

  std::string Replicas(const std::string& name) const {
    return TextAt(boost::json::parse(Ask(
                      "GET", "/apis/apps/v1/namespaces/kgpu-functions/deployments/" + name, "")),
                  {"spec", "replicas"});
  }

  TempDir dir_;
  std::unique_ptr<Background> watchdog_;
  std::unique_ptr<Background> gateway_;
  std::string at_;
};

TEST_F(ClusterGatewayTest, RunsAFunctionFromZeroToZero) {
  StartWatchdog();
  StartGateway();
  ASSERT_EQ(Deploy("hello", 1), 200);
  EXPECT_EQ(Replicas("hello"), "0");
  EXPECT_EQ(Send("POST", "/function/hello", "abc").body, "cba");
  EXPECT_THAT(
      Send("GET", "/metrics").body,
      HasSubstr("gateway_function_invocation_total{function_name=\"hello\",code=\"200\"} 1"));
  EXPECT_TRUE(WaitForNode([this] { return Replicas("hello") == "0"; })) << "it was idle for 1 s";
  // And back.
  EXPECT_EQ(Send("POST", "/function/hello", "xyz").body, "zyx");
  EXPECT_EQ(Send("DELETE", "/system/function/hello").code, 200);
  EXPECT_EQ(Send("POST", "/function/hello", "abc").code, 404);
}

TEST_F(ClusterGatewayTest, QueuesCallsAndMakesThem) {
  StartWatchdog();
  StartGateway();
  ASSERT_EQ(Deploy("hello", 1), 200);
  EXPECT_EQ(Send("POST", "/async-function/hello", "later").code, 202);
  EXPECT_TRUE(WaitForNode([this] {
    return Send("GET", "/metrics")
               .body.find(
                   "gateway_function_invocation_total{function_name=\"hello\",code=\"200\"} "
                   "1") != std::string::npos;
  }));
}

TEST_F(ClusterGatewayTest, LetsFunctionsCallFunctionsOfTheirNamespace) {
  StartWatchdog();
  StartGateway();
  ASSERT_EQ(Deploy("hello", 1), 200);
  const std::string mesh =
      "http://" + AddressAfter("event=\"functions may call functions\"") + "/function/hello";
  EXPECT_THAT(CurlFrom(PodAddress(), mesh), EndsWith(" 403")) << "no pod has this address yet";
  ASSERT_EQ(Send("POST", "/function/hello", "abc").code, 200);
  EXPECT_EQ(CurlFrom(PodAddress(), mesh), "cba 200");
  EXPECT_THAT(CurlFrom("127.0.0.1", mesh), AllOf(HasSubstr("with a token"), EndsWith(" 403")));
  EXPECT_THAT(CurlFrom(PodAddress(), mesh + ".other"), EndsWith(" 400"));
}

TEST_F(ClusterGatewayTest, ExplainsAtOnceWhyNoNodeFits) {
  StartGateway();
  ASSERT_EQ(Deploy("huge", 64), 200);
  const http::Response answer = Send("POST", "/function/huge", "x");
  EXPECT_EQ(answer.code, 503);
  EXPECT_EQ(answer.headers.Find("Kgpu-Fault"), "no-gpu");
  EXPECT_THAT(answer.body, HasSubstr("nvidia.com/gpu"));
}

}  // namespace
}  // namespace kgpu::e2e
