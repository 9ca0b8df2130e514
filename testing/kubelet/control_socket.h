// The socket through which `kgpu-sim kubelet …` talks to the process that plays the kubelet: one
// line of JSON as the request, one as the response.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "src/platform/base/event_loop.h"
#include "src/platform/base/status.h"

namespace kgpu::kubelet {

// Below the kubelet's folder.
inline constexpr const char* kControlSocket = ".kgpu-sim/kubelet.control";

// Lives on the loop's thread.
class ControlServer {
 public:
  // Answers a request; may be stored and called later. Loop thread.
  using Reply = std::function<void(const std::string& line)>;
  using Handler = std::function<void(const std::string& line, Reply reply)>;

  // Only this user and root can connect. `loop` must outlive the server. Errors: AlreadyExists
  // (somebody serves there), as ErrnoStatus.
  static StatusOr<std::unique_ptr<ControlServer>> Start(EventLoop& loop, const std::string& path,
                                                        Handler handler);
  ~ControlServer();
  ControlServer(const ControlServer&) = delete;
  ControlServer& operator=(const ControlServer&) = delete;

 private:
  struct State;
  explicit ControlServer(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// Sends a request and waits for the response, at most `limit`. Errors: Unavailable (nobody serves
// there), DeadlineExceeded.
StatusOr<std::string> AskControl(const std::string& path, const std::string& line,
                                 std::chrono::milliseconds limit);

}  // namespace kgpu::kubelet
