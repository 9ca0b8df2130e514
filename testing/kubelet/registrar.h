// Handles Register: checks, faults, and the connection back to the plugin.
#pragma once

#include <memory>

#include "src/platform/base/event_loop.h"
#include "testing/kubelet/call_log.h"
#include "testing/kubelet/faults.h"
#include "testing/kubelet/layout.h"
#include "testing/kubelet/lifeline.h"
#include "testing/kubelet/plugin_clients.h"
#include "testing/kubelet/registration_server.h"

namespace kgpu::kubelet {

// Lives on the loop's thread. A hanging call gets no answer until its plugin gives up.
class Registrar {
 public:
  // All arguments must outlive this.
  Registrar(EventLoop& loop, const Layout& layout, PluginClients& clients, CallLog& log,
            Faults& faults);
  ~Registrar();
  Registrar(const Registrar&) = delete;
  Registrar& operator=(const Registrar&) = delete;

  void Handle(const std::shared_ptr<RegisterCall>& call);

 private:
  void Register(const std::shared_ptr<RegisterCall>& call, uint64_t number);
  void Reply(const std::shared_ptr<RegisterCall>& call, uint64_t number, const Status& status);

  EventLoop& loop_;
  const Layout& layout_;
  PluginClients& clients_;
  CallLog& log_;
  Faults& faults_;
  Lifeline lifeline_;
};

}  // namespace kgpu::kubelet
