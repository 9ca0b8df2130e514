// One of several: who holds a Lease may act. Source: coordination.k8s.io/v1.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "src/kube/api/client.h"
#include "src/platform/base/event_loop.h"
#include "src/platform/base/random.h"
#include "src/platform/base/status.h"

namespace kgpu::kube {

struct LeaderOptions {
  std::string space{};
  std::string name{};
  std::string identity{};  // nobody else's: the pod's name and something random
  std::chrono::seconds duration{15};
  std::chrono::seconds renew_deadline{10};
  std::chrono::seconds retry{2};
};

struct LeaderHandlers {
  std::function<void()> on_elected{};
  // Once, behind on_elected: stop every write and end the process. What is under way cannot be
  // called back: writes must carry a resourceVersion.
  std::function<void(const Status& why)> on_lost{};
  // Whose it is now, each time that changes. It and the next do not destroy the election.
  std::function<void(const std::string& identity)> on_holder{};
  // An attempt that could not be made, each time.
  std::function<void(const Status&)> on_trouble{};
};

// Lives on the loop's thread. Trusts no clock but its own, and that only for how long a record has
// not changed: what others write for times is compared with nothing.
class LeaderElection {
 public:
  // Begins to run for it. All references outlive the election; give it a client of its own, so that
  // nothing stands before its renewals. Errors: InvalidArgument (duration > renew_deadline > 1.2 ×
  // retry must hold; names are missing).
  static StatusOr<std::unique_ptr<LeaderElection>> Start(EventLoop& loop, Client& client,
                                                         Random& random, LeaderOptions options,
                                                         LeaderHandlers handlers);
  ~LeaderElection();
  LeaderElection(const LeaderElection&) = delete;
  LeaderElection& operator=(const LeaderElection&) = delete;

  bool is_leader() const;
  const std::string& holder() const;
  // Gives the lease up, so that another takes it at once; call it when all writes have ended.
  // `done` is called once, from the loop. Not being the leader is no error; nothing else is called
  // any more.
  void Release(std::function<void(Status)> done);

 private:
  class Impl;
  explicit LeaderElection(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace kgpu::kube
