// A conversation with the driver that waits for each answer: for programs that change MIG layouts
// and have nothing else to do. Runs kgpu-probe on an event loop of its own.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "src/gpu/probe/client.h"
#include "src/gpu/probe/mig_requests.h"
#include "src/platform/base/event_loop.h"
#include "src/platform/base/status.h"

namespace kgpu::mig {

// Lives on one thread. When the probe ends, every later request fails; open another session then.
class DriverSession {
 public:
  // Waits until the driver is initialised. Errors: FailedPrecondition (no driver, or it cannot be
  // loaded), Unavailable (it hangs or crashes); the text says why.
  static StatusOr<std::unique_ptr<DriverSession>> Open(probe::ClientOptions options,
                                                       probe::Client::FindLibrary find_library);
  ~DriverSession() = default;
  DriverSession(const DriverSession&) = delete;
  DriverSession& operator=(const DriverSession&) = delete;

  // `ask` makes one request of the client. Errors: the answer's; Unavailable (the probe ended).
  template <typename T>
  StatusOr<T> Await(
      const std::function<void(probe::Client& client, probe::AnswerTask<T> done)>& ask) {
    std::optional<StatusOr<T>> value;
    if (!down_) {
      ask(*client_, [&](const probe::Answer<T>& answer) {
        value = answer.value;
        loop_->Quit();
      });
      loop_->Run();
    }
    if (!value) {
      return DownStatus();
    }
    return *std::move(value);
  }
  // Of the driver, not of its answer to a request: whether the probe has ended.
  bool is_down() const { return down_.has_value(); }

 private:
  DriverSession() = default;
  Status DownStatus() const;

  std::unique_ptr<EpollLoop> loop_;
  std::optional<probe::Down> down_;
  std::unique_ptr<probe::Client> client_;
};

}  // namespace kgpu::mig
