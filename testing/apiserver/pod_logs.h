// What the containers of pods have printed, and the requests that follow it: …/pods/NAME/log.
#pragma once

#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "src/platform/base/status.h"
#include "testing/apiserver/sink.h"
#include "testing/apiserver/store.h"

namespace kgpu::apiserver {

struct LogRequest {
  bool follows = false;
  std::optional<uint64_t> tail_lines{};
};

// One text for each pod: its containers are not distinguished. Loop thread only.
class PodLogs {
 public:
  static constexpr size_t kMaxText = size_t{1} << 20;  // of a pod; the oldest bytes go first

  // From the first call on, even with an empty text, the pod's container counts as started.
  void Append(const ObjectKey& pod, std::string_view text);
  // The container has ended: the responses to those who follow it end.
  void End(const ObjectKey& pod);
  // The pod is gone.
  void Forget(const ObjectKey& pod);

  // Errors: a Failure of code 400: the container has not started. `sink` has then not been used.
  Status Serve(const ObjectKey& pod, const LogRequest& request, const std::shared_ptr<Sink>& sink);

 private:
  struct Log {
    std::string text{};
    bool is_ended = false;
    std::list<std::shared_ptr<Sink>> followers{};
  };
  std::map<ObjectKey, Log> logs_;
};

}  // namespace kgpu::apiserver
