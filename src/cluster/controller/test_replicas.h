// Controllers over a stub API server for tests: each with its own connection, which can be killed,
// or stalled so that what it sent arrives when another one already leads.
#pragma once

#include <gtest/gtest.h>

#include <boost/json.hpp>

#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "src/cluster/controller/controller.h"
#include "src/kube/api/http_client.h"
#include "src/kube/api/test_transport.h"
#include "src/platform/doc/doc.h"
#include "testing/apiserver/api.h"
#include "testing/apiserver/memory_transport.h"
#include "testing/fake_loop.h"
#include "testing/status_matchers.h"

namespace kgpu::controller {

// A network that holds writes back, and delivers them later even though their sender has died.
class StallTransport final : public kube::Transport {
 public:
  explicit StallTransport(kube::Transport& below) : below_(below) {}

  std::unique_ptr<kube::Exchange> Start(const http::Request& request,
                                        kube::ExchangeHandlers handlers) override {
    ++requests_;
    is_stalled_ = is_stalled_ || (stalls_at_ && stalls_at_(request));
    if (!is_stalled_) {
      return below_.Start(request, std::move(handlers));
    }
    if (request.method != "GET") {
      held_.push_back(request);
    }
    return std::make_unique<Nothing>();
  }
  void Stall() { is_stalled_ = true; }
  // From the first request on for which it holds.
  void StallAt(std::function<bool(const http::Request&)> stalls_at) {
    stalls_at_ = std::move(stalls_at);
  }
  // Delivers; nobody waits for the answers.
  void Deliver() {
    for (const http::Request& request : std::exchange(held_, {})) {
      late_.push_back(below_.Start(request, {}));
    }
  }
  bool is_stalled() const { return is_stalled_; }
  size_t held() const { return held_.size(); }
  uint64_t requests() const { return requests_; }

 private:
  class Nothing final : public kube::Exchange {};
  kube::Transport& below_;
  bool is_stalled_ = false;
  std::function<bool(const http::Request&)> stalls_at_;
  std::vector<http::Request> held_;
  std::vector<std::unique_ptr<kube::Exchange>> late_;
  uint64_t requests_ = 0;
};

// One process.
class Replica {
 public:
  Replica(FakeLoop& loop, apiserver::Api& api, const std::string& name, uint64_t seed,
          const ControllerOptions& base = {})
      : random_(seed),
        transport_(loop, api, {.latency = std::chrono::milliseconds(2)}),
        network_(transport_),
        main_(loop, network_, authenticator_, random_,
              {.gate = {.per_second = 20, .burst = 30}, .user_agent = "kgpu-controller/1"}),
        lease_(loop, network_, authenticator_, random_, {.user_agent = "kgpu-lease/1"}),
        events_(loop, network_, authenticator_, random_, {.user_agent = "kgpu-events/1"}) {
    ControllerOptions options = base;
    options.identity = name;
    options.pods.image = "localhost/kgpu:test";
    auto controller = Controller::Start(loop, {main_, lease_, events_}, random_, options,
                                        [this](const Status&) { is_lost_ = true; });
    EXPECT_OK(controller);
    controller_ = *std::move(controller);
  }

  Controller& controller() { return *controller_; }
  StallTransport& network() { return network_; }
  bool is_lost() const { return is_lost_; }
  bool is_leader() const { return controller_->is_leader(); }

 private:
  Random random_;
  apiserver::MemoryTransport transport_;
  StallTransport network_;
  kube::TestAuthenticator authenticator_;
  kube::HttpClient main_;
  kube::HttpClient lease_;
  kube::HttpClient events_;
  bool is_lost_ = false;
  std::unique_ptr<Controller> controller_;
};

inline boost::json::value TestYaml(std::string_view text) {
  auto value = doc::Parse(text, doc::Format::kYaml, "test.yaml");
  EXPECT_OK(value);
  return value.ok() ? *std::move(value) : boost::json::value();
}

inline void InstallCrd(apiserver::Api& api) {
  std::ifstream file(KGPU_SOURCE_DIR "/deploy/chart/crds/gpupolicies.yaml");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  EXPECT_OK(
      api.Do("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", TestYaml(text)));
}

// Creates or replaces the spec of a policy.
inline void PutPolicy(apiserver::Api& api, const std::string& name, std::string_view spec) {
  const std::string path = "/apis/kgpu.dev/v1alpha1/gpupolicies";
  const boost::json::value value = TestYaml(spec);
  const auto stored = api.Find(path + "/" + name);
  if (stored == nullptr) {
    EXPECT_OK(api.Do("POST", path,
                     {{"apiVersion", "kgpu.dev/v1alpha1"},
                      {"kind", "GpuPolicy"},
                      {"metadata", {{"name", name}}},
                      {"spec", value}}));
    return;
  }
  boost::json::object object = stored->object();
  object["spec"] = value;
  EXPECT_OK(api.Do("PUT", path + "/" + name, object));
}

}  // namespace kgpu::controller
