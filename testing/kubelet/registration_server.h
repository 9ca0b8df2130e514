// Route A of registration: the server on kubelet.sock, where plugins announce themselves.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "src/platform/base/event_loop.h"
#include "src/platform/base/status.h"

namespace kgpu::kubelet {

struct RegisterRequest {
  std::string version;
  std::string endpoint;
  std::string resource;
};

// One Register call. Loop thread.
class RegisterCall {
 public:
  virtual ~RegisterCall() = default;
  virtual const RegisterRequest& request() const = 0;
  // The first answer counts. Errors reach the plugin with code Unknown, like the kubelet's.
  virtual void Reply(const Status& status) = 0;

  // Called on the loop if the plugin gives up before the answer; set by whoever answers.
  std::function<void()> on_cancelled;
};

// Lives on the loop's thread.
class RegistrationServer {
 public:
  using Handler = std::function<void(const std::shared_ptr<RegisterCall>&)>;

  // Binds `path` at once and listens after `listen_delay`: until then the file exists and
  // connections are refused. Errors: as ErrnoStatus.
  static StatusOr<std::unique_ptr<RegistrationServer>> Start(EventLoop& loop,
                                                             const std::string& path,
                                                             std::chrono::nanoseconds listen_delay,
                                                             Handler handler);
  // Answers every call with Unavailable; the socket's file stays.
  ~RegistrationServer();
  RegistrationServer(const RegistrationServer&) = delete;
  RegistrationServer& operator=(const RegistrationServer&) = delete;

  void CutConnections();

 private:
  struct State;
  explicit RegistrationServer(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace kgpu::kubelet
