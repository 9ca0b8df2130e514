// The socket of the container runtime below the stub kubelet, as far as others read it: the
// runtime's version and status, and its containers.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "src/platform/base/event_loop.h"
#include "src/platform/base/status.h"

namespace kgpu::kubelet {

struct CriContainer {
  std::string id;
  std::string name_space;
  std::string pod;
  std::string pod_uid;
  std::string container;
  bool is_running = true;
};

// Lives on the loop's thread. Serves Version, Status and ListContainers of CRI v1.
class CriServer {
 public:
  // Called on the loop for each call.
  using Source = std::function<std::vector<CriContainer>()>;

  // `loop` must outlive the server. Errors: as ErrnoStatus.
  static StatusOr<std::unique_ptr<CriServer>> Start(EventLoop& loop, const std::string& path,
                                                    Source source);
  ~CriServer();
  CriServer(const CriServer&) = delete;
  CriServer& operator=(const CriServer&) = delete;

  // Calls of ListContainers so far.
  int calls() const;

 private:
  struct State;
  explicit CriServer(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace kgpu::kubelet
