// A small DRA plugin for the kubelet's own tests, and an example of one: it does what its test
// sets.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "src/platform/base/status.h"
#include "testing/kubelet/dra_api.h"

namespace kgpu::kubelet {

// Thread: any. Handlers run on gRPC's threads and must not wait.
class SampleDraPlugin {
 public:
  struct Options {
    std::string registration_path;  // below plugins_registry
    std::string service_path = {};  // empty or the same: the registration socket
    std::string driver = "gpu.example.com";
    std::vector<std::string> versions = {kDraV1};  // only these are served
    bool reports_health = true;
    bool listens_later = false;  // on service_path: after Listen
  };
  using Handler = std::function<StatusOr<ClaimReplies>(const std::vector<ClaimKey>&)>;

  // Replaces the default behaviour; unset members do not.
  struct Behaviour {
    Handler prepare = {};    // default: OneDevice for each claim
    Handler unprepare = {};  // default: success
    std::function<Status()> get_info = {};
    std::function<Status()> notify = {};  // the answer to a registration that succeeded
    bool holds_calls = false;             // answers Prepare and Unprepare only after Release
  };

  // Serves on its sockets.
  explicit SampleDraPlugin(const Options& options);
  SampleDraPlugin(const Options& options, const Behaviour& behaviour);
  // Removes its sockets and ends every call, like a plugin that is stopped.
  ~SampleDraPlugin();
  SampleDraPlugin(const SampleDraPlugin&) = delete;
  SampleDraPlugin& operator=(const SampleDraPlugin&) = delete;

  // Device "gpu-0" of pool "node" for all requests, with the CDI id "example.com/gpu=<claim's
  // UID>".
  static StatusOr<ClaimReplies> OneDevice(const std::vector<ClaimKey>& claims);
  static StatusOr<ClaimReplies> Nothing(const std::vector<ClaimKey>& claims);

  // Starts and stops the service on service_path; the registration goes on.
  void Listen();
  void StopService();

  void SetHealth(const std::vector<HealthReport>& reports);
  // Ends every stream of NodeWatchResources with `status`.
  void EndStreams(const Status& status);
  // Answers the calls that are held, and all later ones.
  void Release();
  // Connections to the service since it last began to listen.
  int connections() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace kgpu::kubelet
