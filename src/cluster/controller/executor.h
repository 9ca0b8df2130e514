// Carries out the controller's plan: one request at a time for each object, the most urgent first,
// and less and less often what fails.
#pragma once

#include <boost/json/fwd.hpp>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "src/cluster/controller/work.h"
#include "src/kube/api/client.h"
#include "src/platform/base/event_loop.h"
#include "src/platform/base/random.h"
#include "src/platform/base/status.h"
#include "src/platform/base/timer.h"

namespace kgpu::controller {

struct ExecutorHandlers {
  // The response to a write.
  std::function<void(AnswerKind, boost::json::value&&)> on_answer{};
  std::function<void(const kube::Event&)> on_event{};
  // A request that was refused, and is repeated; not for a conflict.
  std::function<void(const Work&, const Status&)> on_refused{};
  // A request has ended, or a pause after a failure: another plan may follow.
  std::function<void()> on_settled{};
};

struct ExecutorCounts {
  uint64_t requests = 0;
  uint64_t failures = 0;   // without conflicts and disruption budgets
  uint64_t conflicts = 0;  // somebody else wrote first
  uint64_t blocked = 0;    // evictions that a disruption budget did not allow
};

// Lives on the loop's thread. Handlers must not destroy it.
class Executor {
 public:
  // All of them must outlive the executor.
  Executor(EventLoop& loop, kube::Client& client, Random& random, ExecutorHandlers handlers);
  ~Executor();
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  // Takes the place of the former plan, except for what is in progress.
  void SetPlan(std::vector<Work> plan);
  const ExecutorCounts& counts() const { return counts_; }
  size_t waiting() const { return plan_.size(); }

 private:
  struct Failure {
    int count = 0;
    SteadyTime until{};
  };

  void Fill();
  void Begin(Work work);
  void OnDone(const std::string& key, StatusOr<boost::json::value> answer);
  void OnEvicted(const std::string& key, const StatusOr<kube::EvictionResult>& result);
  void OnFailure(const Work& work, const Status& status);
  void Pause(const std::string& key, std::chrono::nanoseconds pause);
  Work Take(const std::string& key);
  void Arm(std::chrono::nanoseconds delay);

  struct Running {
    Work work;
    std::unique_ptr<kube::Call> call;
  };

  EventLoop& loop_;
  kube::Client& client_;
  Random& random_;
  ExecutorHandlers handlers_;
  std::vector<Work> plan_;  // the most urgent last
  std::map<std::string, Running> running_;
  std::map<std::string, Failure> failures_;
  ExecutorCounts counts_;
  Timer timer_{loop_};  // the end of the next pause
  SteadyTime due_{};
};

}  // namespace kgpu::controller
