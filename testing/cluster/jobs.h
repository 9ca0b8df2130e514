// The Job controller: pods until enough of them have succeeded, or too many have failed.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "src/platform/base/event_loop.h"
#include "testing/apiserver/api.h"
#include "testing/cluster/index.h"
#include "testing/cluster/writer.h"

namespace kgpu::simcluster {

// completions, parallelism, backoffLimit, activeDeadlineSeconds, suspend and
// ttlSecondsAfterFinished; no indexes, no failure policies. Loop thread only.
class Jobs {
 public:
  // `again` syncs a job later, which a back-off or a deadline needs.
  Jobs(EventLoop& loop, apiserver::Api& api, const Index& index,
       std::function<void(ObjectKey, std::chrono::nanoseconds)> again,
       std::chrono::milliseconds backoff, std::vector<std::string>& problems);

  void Sync(const ObjectKey& key);

 private:
  struct Pods {
    std::vector<const PodInfo*> active{};
    int64_t ready = 0;
    int64_t succeeded = 0;
    int64_t failed = 0;
    int64_t last_failure = 0;  // seconds since 1970
  };
  // Complete, Failed, or "" while it goes on; with a reason.
  struct End {
    std::string type{};
    std::string reason{};
    std::string message{};
  };

  Pods PodsOf(std::string_view uid) const;
  End EndOf(const ObjectKey& key, const boost::json::object& job, const Pods& pods);
  void Start(const ObjectKey& key, const boost::json::object& job, const Pods& pods);
  void RemoveWhenOld(const ObjectKey& key, const boost::json::object& job);
  void WriteStatus(const ObjectKey& key, const boost::json::object& job, const Pods& pods,
                   const End& end);
  int64_t Now() const;

  EventLoop& loop_;
  const apiserver::Api& api_;
  const Index& index_;
  std::function<void(ObjectKey, std::chrono::nanoseconds)> again_;
  std::chrono::milliseconds backoff_;
  Writer writer_;
};

}  // namespace kgpu::simcluster
