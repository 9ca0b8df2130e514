#include "src/functions/kubernetes/test_gateways.h"

#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "src/functions/spec/wire.h"
#include "src/kube/api/json.h"
#include "src/platform/doc/doc.h"
#include "testing/apiserver/json_fields.h"
#include "testing/status_matchers.h"

namespace kgpu::functions {
namespace {

namespace json = boost::json;
using std::chrono::milliseconds;

void CreateNamespace(apiserver::Api& api, const char* name) {
  EXPECT_OK(api.Do("POST", "/api/v1/namespaces", {{"metadata", {{"name", name}}}}));
}

}  // namespace

std::string FakeWatchdogs::AddressOf(std::string_view ip) {
  const std::string path = dir_.At(std::string(ip) + ".sock");
  if (!servers_.contains(ip)) {
    auto server = std::make_unique<http::Server>(
        loop_, [this](const http::Request& request, const http::Responder& responder) {
          Answer(request, responder);
        });
    EXPECT_OK(server->Listen(path));
    servers_.emplace(ip, std::move(server));
  }
  return path;
}

void FakeWatchdogs::Answer(const http::Request& request, const http::Responder& responder) {
  if (request.path == "/_/status") {
    return responder.Send(http::JsonResponse(
        200, fmt::format(R"({{"state":"{}","phases":{{"workerStarted":10,"workerReady":110}}}})",
                         are_ready ? "ready" : "starting")));
  }
  if (handler) {
    return handler(request, responder);
  }
  http::Response response;
  response.body = request.body;
  responder.Send(std::move(response));
}

TestGateway::TestGateway(TestGateways& world, std::string name, KubeProviderOptions options)
    : socket_(world.dir.At(name + ".sock")),
      random_(std::hash<std::string>()(name)),
      transport_(world.loop, world.api, {.latency = milliseconds(2)}),
      main_(world.loop, transport_, authenticator_, random_,
            {.gate = {.per_second = 20, .burst = 30}, .user_agent = "kgpu-gateway/1"}),
      lease_(world.loop, transport_, authenticator_, random_, {.user_agent = "kgpu-lease/1"}) {
  options.identity = std::move(name);
  auto started = KubeProvider::Start(
      world.loop, {main_, lease_}, random_, std::move(options),
      [&world](const std::string& /*space*/, const std::string& /*pod*/,
               const std::function<void(StatusOr<PodExplanation>)>& done) {
        ++world.explained;
        world.loop.After(milliseconds(50), [&world, done] { done(world.explanation); });
      });
  EXPECT_OK(started);
  provider_ = *std::move(started);
  auto service =
      Service::Start(world.loop, *provider_, 1,
                     ServiceOptions{.version = "test", .queue = {.folder = socket_ + ".queue"}});
  EXPECT_OK(service);
  service_ = *std::move(service);
  EXPECT_OK(service_->Listen(socket_));
}

TestGateways::TestGateways()
    : api(loop, {.pod_stop_time = milliseconds(500)}), cluster(loop, api), watchdogs(loop, dir) {
  CreateNamespace(api, "kgpu");
  CreateNamespace(api, "fn");
  CreateNamespace(api, "team-a");
  options.spaces = {"fn", "team-a"};
  options.own_space = "kgpu";
  options.address = [this](std::string_view ip) { return watchdogs.AddressOf(ip); };
}

TestGateways::~TestGateways() {
  gateways_.clear();
  EXPECT_TRUE(cluster.problems().empty()) << cluster.problems().front();
}

void TestGateways::AddNode(const std::string& name, const std::string& gpus) {
  EXPECT_OK(cluster.AddNode({.name = name, .resources = {{"nvidia.com/gpu", gpus}}}));
}

TestGateway& TestGateways::Start(const std::string& name, KubeProviderOptions of_gateway) {
  auto gateway = std::make_unique<TestGateway>(*this, name, std::move(of_gateway));
  TestGateway& started = *gateway;
  gateways_[name] = std::move(gateway);
  EXPECT_TRUE(Until([&] { return started.provider().CheckHealth().ok(); }));
  return started;
}

bool TestGateways::Until(const std::function<bool()>& holds) {
  constexpr int kSteps = 60'000;
  for (int i = 0; i < kSteps; ++i) {
    loop.RunUntilIdle();
    if (holds()) {
      return true;
    }
    loop.WaitForDescriptor(milliseconds(0));
    loop.Advance(milliseconds(10));
  }
  return false;
}

void TestGateways::Pass(std::chrono::nanoseconds time) {
  constexpr milliseconds kStep{10};
  for (; time > std::chrono::nanoseconds(0); time -= kStep) {
    loop.WaitForDescriptor(milliseconds(0));
    loop.Advance(kStep);
  }
}

std::unique_ptr<http::Call> TestGateways::Begin(const http::Request& request,
                                                std::optional<http::Response>& answer,
                                                const std::string& gateway) {
  return http::Call::Start(loop, at(gateway).socket(), request,
                           [&answer](const StatusOr<http::Response>& response) {
                             answer = response.ok() ? *response : http::Response{.code = 0};
                           },
                           {.timeout = std::chrono::hours(1)});
}

http::Response TestGateways::Ask(const http::Request& request, const std::string& gateway) {
  std::optional<http::Response> answer;
  const std::unique_ptr<http::Call> call = Begin(request, answer, gateway);
  EXPECT_TRUE(Until([&] { return answer.has_value(); })) << "no answer";
  return answer.value_or(http::Response{.code = 0});
}

http::Response TestGateways::Call(const std::string& input, const std::string& name,
                                  const std::string& gateway) {
  return Ask(CallRequest(input, name), gateway);
}

http::Response TestGateways::Deploy(const Function& function, const std::string& query,
                                    const std::string& method) {
  http::Request request{.method = method, .target = "/system/functions" + query};
  request.body = doc::PrintLine(ToWire(function));
  return Ask(request);
}

http::Response TestGateways::Delete(const std::string& name) {
  return Ask({.method = "DELETE", .target = "/system/function/" + name});
}

size_t TestGateways::Pods() const {
  size_t pods = 0;
  for (const auto& [key, pod] : api.store().All("pods")) {
    pods += apiserver::TextAt(pod->object(), {"metadata", "deletionTimestamp"}).empty() ? 1 : 0;
  }
  return pods;
}

std::optional<int64_t> TestGateways::Replicas(const std::string& name,
                                              const std::string& space) const {
  const auto found =
      api.Find(fmt::format("/apis/apps/v1/namespaces/{}/deployments/{}", space, name));
  return found == nullptr ? std::nullopt : kube::IntField(found->object(), {"spec", "replicas"});
}

Function SmallFunction(const std::string& name) {
  Function function;
  function.name = name;
  function.runtime = "python3";
  function.image = "registry.example/fn/" + name;
  function.gpu.count = 1;
  function.scaling = {.min_replicas = 0, .max_replicas = 4, .idle = std::chrono::minutes(5)};
  return function;
}

http::Request CallRequest(const std::string& input, const std::string& name) {
  http::Request request{.method = "POST", .target = "/function/" + name};
  request.body = input;
  return request;
}

}  // namespace kgpu::functions
