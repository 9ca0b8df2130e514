// One registered instance of a DRA driver: its connection, its calls and its health stream.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "src/platform/base/status.h"
#include "testing/kubelet/constants.h"
#include "testing/kubelet/dra_api.h"
#include "testing/kubelet/plugin_client.h"

namespace kgpu::kubelet {

// Lives on the loop's thread. Connects by itself, again and again, until it is destroyed; every
// `done` runs exactly once, also after that. Errors have the plugin's code and Go's text for it.
class DraPlugin {
 public:
  struct Identity {
    std::string driver;
    std::string endpoint;  // the service socket
    std::string service;   // kDraV1 or kDraV1beta1
  };
  struct Events {
    std::function<void()> on_connection;  // it was made, or lost
    std::function<void(const std::vector<HealthReport>&)> on_health;
    std::function<void()> on_health_end;
  };
  using Done = std::function<void(const StatusOr<ClaimReplies>&)>;
  using Cancel = std::function<void()>;

  // `constants` must outlive this. Nothing happens before Start.
  DraPlugin(const ClientSetting& setting, const Constants& constants, Identity identity,
            Events events);
  ~DraPlugin();
  DraPlugin(const DraPlugin&) = delete;
  DraPlugin& operator=(const DraPlugin&) = delete;

  void Start();
  const Identity& identity() const;
  bool is_connected() const;

  // NodePrepareResources and NodeUnprepareResources. Unavailable while there is no connection.
  Cancel Prepare(const std::vector<ClaimKey>& claims, Done done);
  Cancel Unprepare(const std::vector<ClaimKey>& claims, Done done);

  // Faults: cuts the connection, or ends the health stream. False if there is none.
  bool Cut();
  bool DropStream();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace kgpu::kubelet
