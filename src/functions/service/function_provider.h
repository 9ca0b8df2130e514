// What runs functions, as the service sees it: this machine, or a Kubernetes cluster.
#pragma once

#include <boost/json/fwd.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/functions/service/function_call.h"
#include "src/functions/service/usage_hours.h"
#include "src/functions/spec/function.h"
#include "src/platform/base/clock.h"
#include "src/platform/base/status.h"
#include "src/platform/metrics/exposition.h"

namespace kgpu::functions {

enum class DeployMode : uint8_t {
  kCreate,   // Errors: AlreadyExists
  kUpdate,   // Errors: NotFound
  kReplace,  // as kUpdate; all replicas are replaced, also by their like
};

struct LogRequest {
  std::optional<WallTime> since{};
  std::optional<size_t> tail{};  // lines
};

// A log that is being followed. Destroying it ends it.
class LogReader {
 public:
  virtual ~LogReader() = default;
};

// Lives on the loop's thread. Functions are named by their key: "hello", or "hello.team-a" for one
// of another namespace than the default one. Every `done` is called once, perhaps before the
// function that takes it returns.
class FunctionProvider {
 public:
  // What a deployment has to say beside that it succeeded, for people.
  using Notes = std::vector<std::string>;

  virtual ~FunctionProvider() = default;

  // "local", "kubernetes".
  virtual std::string_view name() const = 0;
  // Whether a function may be deployed that is not known here yet.
  virtual bool may_lag() const { return false; }
  // Whether functions are known and can be called. Errors: Unavailable.
  virtual Status CheckHealth() const { return OkStatus(); }
  // The key of a function. `name` may hold the namespace: "hello.team-a"; `space` may be empty.
  // Errors: InvalidArgument (two namespaces), NotFound (there is no such namespace here).
  virtual StatusOr<std::string> KeyOf(std::string_view name, std::string_view space) const = 0;

  // `done` comes when the deployment is durable. Errors: AlreadyExists, NotFound;
  // FailedPrecondition (it can never run here: no such GPU, image, secret or label).
  virtual void Deploy(const std::string& key, Function function, DeployMode mode,
                      std::function<void(StatusOr<Notes>)> done) = 0;
  // `done` comes when nothing of it is left. Errors: NotFound.
  virtual void Delete(const std::string& key, std::function<void(Status)> done) = 0;
  // Sets the minimum. Errors: NotFound, InvalidArgument (over the maximum).
  virtual void SetReplicas(const std::string& key, int64_t replicas,
                           std::function<void(Status)> done) = 0;
  // Null: it is not deployed. Valid until the loop's next turn.
  virtual const Function* Find(const std::string& key) const = 0;
  // Of a function from its creation to its deletion: one of the same name that is created later has
  // another one. Empty if it is not deployed, or unknown.
  virtual std::string IdentityOf(const std::string& key) const = 0;
  // False if there is no such function; `call` is then as before.
  virtual bool Take(const std::string& key, FunctionCall& call) = 0;

  // OpenFx's Function, with "Kgpu", of a function that is deployed.
  virtual boost::json::object View(const std::string& key) const = 0;
  // The namespace of the replica with this IP address, for calls that functions make; nothing:
  // there is none.
  virtual std::optional<std::string> SpaceOfReplica(std::string_view /*ip*/) const {
    return std::nullopt;
  }
  // Those of a namespace; of the default one if it is empty.
  virtual boost::json::array Views(std::string_view space) const = 0;

  virtual void ReadLogs(const std::string& key, const LogRequest& request,
                        std::function<void(StatusOr<std::string>)> done) = 0;
  // What is written from now on. `write` gives false when nobody reads any more; then `ended` is
  // called, once, and may destroy the reader. Errors: those of watching the logs.
  virtual StatusOr<std::unique_ptr<LogReader>> FollowLogs(
      const std::string& key, std::function<bool(std::string_view)> write,
      std::function<void()> ended) = 0;

  // By key.
  virtual std::map<std::string, FunctionUse> UsageSince(WallTime from) = 0;
  virtual std::string MetricsPage(metrics::Format format) = 0;
  // Ends all replicas; the functions stay deployed. Errors: Unimplemented (they are not ours alone
  // to end); those of ending them.
  virtual void StopAll(const std::function<void(Status)>& done) = 0;
};

}  // namespace kgpu::functions
