// Leader election: whoever holds a Lease may act. Source: coordination.k8s.io/v1.
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
  std::string identity{};  // unique: the pod's name and something random
  std::chrono::seconds duration{15};
  std::chrono::seconds renew_deadline{10};
  std::chrono::seconds retry{2};
};

struct LeaderHandlers {
  std::function<void()> on_elected{};
  // Once, after on_elected: stop every write and exit the process. Requests in progress cannot be
  // recalled: writes must carry a resourceVersion.
  std::function<void(const Status& why)> on_lost{};
  // The holder, each time it changes. This and the next one must not destroy the election.
  std::function<void(const std::string& identity)> on_holder{};
  // A failed attempt, each time.
  std::function<void(const Status&)> on_trouble{};
};

// Lives on the loop's thread. Trusts only its own clock, and only to measure how long a record has
// not changed: it never uses the times that others write.
class LeaderElection {
 public:
  // Starts to run for leader. All references must outlive the election; give it a separate client,
  // so that nothing delays its renewals. Errors: InvalidArgument (duration > renew_deadline > 1.2 ×
  // retry must hold; names are missing).
  static StatusOr<std::unique_ptr<LeaderElection>> Start(EventLoop& loop, Client& client,
                                                         Random& random, LeaderOptions options,
                                                         LeaderHandlers handlers);
  ~LeaderElection();
  LeaderElection(const LeaderElection&) = delete;
  LeaderElection& operator=(const LeaderElection&) = delete;

  bool is_leader() const;
  const std::string& holder() const;
  // Releases the lease, so that another takes it immediately; call it after all writes have ended.
  // `done` is called once, from the loop. Not being the leader is no error; no other handler is
  // called after this.
  void Release(std::function<void(Status)> done);

 private:
  class Impl;
  explicit LeaderElection(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace kgpu::kube
