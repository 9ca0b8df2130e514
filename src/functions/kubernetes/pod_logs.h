// The output of a function's handlers, from the logs of its pods.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "src/functions/replicas/log_lines.h"
#include "src/functions/service/function_provider.h"
#include "src/kube/api/client.h"
#include "src/platform/base/clock.h"
#include "src/platform/base/status.h"

namespace kgpu::functions {

// "2026-01-31T12:00:00.123456789Z text", as the API server writes lines with timestamps. Lines that
// read otherwise get the time of the line before.
std::vector<LogLine> ParsePodLog(std::string_view text);

// Reads the logs of all `pods`, at most 16 MiB together; destroying it ends that. Lives on the
// loop's thread.
class PodLogRead final : public LogReader {
 public:
  // The lines of all pods in the order of time; of a pod whose log cannot be read, one line says
  // why. `done` is called once, from the loop, and may destroy this.
  using Done = std::function<void(std::string)>;
  PodLogRead(kube::Client& client, const std::string& space, const std::vector<std::string>& pods,
             const LogRequest& request, Done done);

 private:
  struct Part {
    std::string pod;
    std::string text;
    std::unique_ptr<kube::Call> call;
  };
  void OnEnd(Part& part, const Status& status);

  const LogRequest request_;
  Done done_;
  std::vector<Part> parts_;
  size_t most_ = 0;  // bytes of each
  size_t left_ = 0;
};

// Follows the logs of all `pods` from now on.
class PodLogFollow final : public LogReader {
 public:
  // See FunctionProvider::FollowLogs.
  PodLogFollow(kube::Client& client, const std::string& space, const std::vector<std::string>& pods,
               WallTime now, std::function<bool(std::string_view)> write,
               std::function<void()> ended);

 private:
  void OnEnd();

  const std::function<bool(std::string_view)> write_;
  std::function<void()> ended_;
  std::vector<std::unique_ptr<kube::Call>> calls_;
  size_t left_ = 0;
};

}  // namespace kgpu::functions
