// The commands that a running stub kubelet accepts, from the commands of `kgpu-sim kubelet`.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "testing/kubelet/control_socket.h"
#include "testing/kubelet/node.h"
#include "testing/kubelet/null_runtime.h"

namespace kgpu::kubelet {

// Requests are objects with a field "command"; responses are {"result": …} or {"code": …, "error":
// …}. Lives on the loop's thread.
class Service {
 public:
  // `node` must outlive this; `null_runtime` is null if containers are real.
  Service(Node& node, NullRuntime* null_runtime);
  ~Service();
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;

  void Handle(const std::string& line, const ControlServer::Reply& reply);
  // Something has changed: checks the conditions of waiting requests.
  void Changed();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace kgpu::kubelet
