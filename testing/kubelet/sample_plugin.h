// A small device plugin for the kubelet's own tests, and an example of one: it does what its test
// sets.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "src/platform/base/status.h"
#include "testing/kubelet/plugin_api.h"

namespace kgpu::kubelet {

// Thread: any. Handlers run on gRPC's threads and must not wait.
class SamplePlugin {
 public:
  struct Options {
    std::string socket_path;
    std::string resource = "example.com/widget";
    std::vector<Device> devices = {};
    PluginOptions options = {};
    // Route B: it answers GetInfo on the same socket, with this type and endpoint.
    bool is_registrar = false;
    std::string type = "DevicePlugin";
    std::string endpoint = {};
    std::vector<std::string> versions = {kApiVersion};
  };
  using Ids = std::vector<std::string>;

  // Replaces the default behaviour; unset members do not. Set it before the call
  // concerned.
  struct Behaviour {
    std::function<Status()> get_options = {};
    std::function<Status()> list_and_watch = {};  // an error ends the stream at once
    std::function<StatusOr<ContainerOptions>(const Ids&)> allocate = {};
    std::function<StatusOr<Ids>(const PreferredRequest&)> prefer = {};
    std::function<Status(const Ids&)> pre_start = {};
    std::function<Status()> get_info = {};
    std::function<Status()> notify = {};  // the answer to a registration that succeeded
    bool holds_allocate = false;          // answers only after Release
  };

  // Serves on `socket_path`.
  explicit SamplePlugin(const Options& options);
  SamplePlugin(const Options& options, Behaviour behaviour);
  // Removes its socket and ends every call, like a plugin that is stopped.
  ~SamplePlugin();
  SamplePlugin(const SamplePlugin&) = delete;
  SamplePlugin& operator=(const SamplePlugin&) = delete;

  // `count` healthy devices "dev-0", "dev-1", ….
  static std::vector<Device> Devices(int count);

  // Calls Register on the kubelet's socket; the file name of its own socket is the endpoint.
  // Errors: the kubelet's; Unavailable (nobody listens there).
  Status Register(const std::string& kubelet_socket) const;
  Status RegisterAs(const std::string& kubelet_socket, const std::string& version,
                    const std::string& resource, const std::string& endpoint) const;

  void SetDevices(const std::vector<Device>& devices);
  void SetHealth(const std::string& id, const std::string& health);
  // Ends every stream of ListAndWatch with `status`.
  void EndStreams(const Status& status);
  // Answers the Allocate calls that are waiting, and all later ones.
  void Release();
  // Streams of ListAndWatch that are open.
  size_t streams() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace kgpu::kubelet
