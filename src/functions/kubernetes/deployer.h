// Writes the objects of functions: the Deployment first, then what goes with it.
#pragma once

#include <boost/json/object.hpp>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "src/functions/manifests/objects.h"
#include "src/functions/service/function_provider.h"
#include "src/functions/spec/function.h"
#include "src/kube/api/client.h"
#include "src/platform/base/event_loop.h"
#include "src/platform/base/lifetime.h"
#include "src/platform/base/status.h"

namespace kgpu::functions {

// What is the same for all functions of a gateway.
struct DeployerOptions {
  // See ManifestOptions.
  std::string mesh_url{};
  std::string prometheus_url{};
  std::map<std::string, std::string> model_resources{};
  std::map<int64_t, std::string> memory_resources{};
};

struct DeployOrder {
  Function function{};
  // Changes the function as the server has it, in place of `function`, of which only the name
  // counts. Called again if somebody else has updated it meanwhile. Errors end the deployment.
  std::function<Status(Function& deployed)> edit{};
  std::string space{};  // namespace
  std::string key{};
  DeployMode mode = DeployMode::kCreate;
};

// Lives on the loop's thread. Destroying it cancels what is in progress: `done` is not called then.
class Deployer {
 public:
  struct Deployed {
    boost::json::value deployment;  // as the server returned it
    FunctionProvider::Notes notes{};
  };

  // `loop` and `client` must outlive it.
  Deployer(EventLoop& loop, kube::Client& client, DeployerOptions options);
  ~Deployer();
  Deployer(const Deployer&) = delete;
  Deployer& operator=(const Deployer&) = delete;

  // A function that cannot be created completely leaves nothing behind. `done` is called once, from
  // the loop. Errors: AlreadyExists, NotFound; FailedPrecondition (a secret is missing; ObjectsOf);
  // those of the API server.
  void Deploy(DeployOrder order, std::function<void(StatusOr<Deployed>)> done);
  // The Deployment; the garbage collector removes what it owns. Errors: NotFound; those of the API
  // server.
  void Delete(const std::string& space, const std::string& name, std::function<void(Status)> done);

 private:
  class Job;
  void End(uint64_t number);

  EventLoop& loop_;
  kube::Client& client_;
  const DeployerOptions options_;
  uint64_t last_job_ = 0;
  std::map<uint64_t, std::unique_ptr<Job>> jobs_;
  std::map<uint64_t, std::unique_ptr<kube::Call>> deletions_;
  Lifetime lifetime_;
};

}  // namespace kgpu::functions
