// A cluster for tests: the stub API server with a scheduler and kubelets, pods whose watchdogs are
// servers on the test's own loop, and gateways that can be killed.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "src/functions/kubernetes/kube_provider.h"
#include "src/functions/service/service.h"
#include "src/functions/spec/function.h"
#include "src/kube/api/http_client.h"
#include "src/kube/api/test_transport.h"
#include "src/platform/net/http/client.h"
#include "src/platform/net/http/server.h"
#include "testing/apiserver/api.h"
#include "testing/apiserver/memory_transport.h"
#include "testing/cluster/cluster.h"
#include "testing/fake_loop.h"
#include "testing/temp_dir.h"

namespace kgpu::functions {

// The watchdogs of all pods. They answer calls with their input, unless there is a handler.
class FakeWatchdogs {
 public:
  using Handler = std::function<void(const http::Request&, const http::Responder&)>;

  FakeWatchdogs(EventLoop& loop, const TempDir& dir) : loop_(loop), dir_(dir) {}

  // The socket of the pod with this address; there is a server from now on.
  std::string AddressOf(std::string_view ip);
  size_t size() const { return servers_.size(); }

  Handler handler{};
  bool are_ready = true;

 private:
  void Answer(const http::Request& request, const http::Responder& responder);

  EventLoop& loop_;
  const TempDir& dir_;
  std::map<std::string, std::unique_ptr<http::Server>, std::less<>> servers_;
  std::deque<std::string> order_;
};

class TestGateways;

// One process.
class TestGateway {
 public:
  TestGateway(TestGateways& world, std::string name, KubeProviderOptions options);

  KubeProvider& provider() { return *provider_; }
  Service& service() { return *service_; }
  std::string socket() const { return socket_; }

 private:
  std::string socket_;
  Random random_;
  apiserver::MemoryTransport transport_;
  kube::TestAuthenticator authenticator_;
  kube::HttpClient main_;
  kube::HttpClient lease_;
  std::unique_ptr<KubeProvider> provider_;
  std::unique_ptr<Service> service_;
};

class TestGateways {
 public:
  TestGateways();
  ~TestGateways();
  TestGateways(const TestGateways&) = delete;
  TestGateways& operator=(const TestGateways&) = delete;

  // With 4 GPUs of NVIDIA's, if not said otherwise.
  void AddNode(const std::string& name, const std::string& gpus = "4");
  TestGateway& Start(const std::string& name = "gateway-0") { return Start(name, options); }
  TestGateway& Start(const std::string& name, KubeProviderOptions of_gateway);
  // As kill -9.
  void Kill(const std::string& name) { gateways_.erase(name); }
  TestGateway& at(const std::string& name = "gateway-0") { return *gateways_.at(name); }

  // Lets time pass until `holds`; false if it does not within ten minutes.
  bool Until(const std::function<bool()>& holds);
  // Lets time pass, with all that happens meanwhile.
  void Pass(std::chrono::nanoseconds time);

  http::Response Ask(const http::Request& request, const std::string& gateway = "gateway-0");
  std::unique_ptr<http::Call> Begin(const http::Request& request,
                                    std::optional<http::Response>& answer,
                                    const std::string& gateway = "gateway-0");
  http::Response Call(const std::string& input, const std::string& name = "hello",
                      const std::string& gateway = "gateway-0");
  http::Response Deploy(const Function& function, const std::string& query = "",
                        const std::string& method = "POST");
  http::Response Delete(const std::string& name);

  // Pods that have not ended, in any namespace.
  size_t Pods() const;
  // "spec.replicas" of a Deployment; nothing: there is none.
  std::optional<int64_t> Replicas(const std::string& name, const std::string& space = "fn") const;

  TempDir dir;
  FakeLoop loop;
  apiserver::Api api;
  simcluster::Cluster cluster;
  FakeWatchdogs watchdogs;
  // Of the next gateways: functions in the namespaces "fn" and "team-a".
  KubeProviderOptions options{};
  // What explains pods; by default, they may fit later.
  PodExplanation explanation{.text = "waits for a node with 1 free nvidia.com/gpu"};
  int explained = 0;

 private:
  std::map<std::string, std::unique_ptr<TestGateway>> gateways_;
};

// One that has a GPU, no minimum, and an image.
Function SmallFunction(const std::string& name = "hello");
http::Request CallRequest(const std::string& input, const std::string& name = "hello");

}  // namespace kgpu::functions
