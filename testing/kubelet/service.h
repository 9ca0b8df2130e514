// The commands that a running stub kubelet takes: what the verbs of `kgpu-sim kubelet` ask for.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "testing/kubelet/control_socket.h"
#include "testing/kubelet/node.h"
#include "testing/kubelet/null_runtime.h"

namespace kgpu::kubelet {

// Requests are objects with a field "command"; answers are {"result": …} or {"code": …, "error":
// …}. Lives on the loop's thread.
class Service {
 public:
  // `node` outlives this; `null_runtime` is null where containers are real.
  Service(Node& node, NullRuntime* null_runtime);
  ~Service();
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;

  void Handle(const std::string& line, const ControlServer::Reply& reply);
  // Something has changed: whoever waits may have what it waits for.
  void Changed();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace kgpu::kubelet
