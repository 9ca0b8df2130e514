// A copy of a collection's objects that follows the API server, through its restarts, broken
// connections and forgotten versions.
#pragma once

#include <boost/json/fwd.hpp>

#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "src/kube/api/client.h"
#include "src/kube/api/lister.h"
#include "src/platform/base/backoff.h"
#include "src/platform/base/event_loop.h"
#include "src/platform/base/random.h"

namespace kgpu::kube {

// An object as it was at one time.
using ObjectPtr = std::shared_ptr<const boost::json::value>;

struct ReflectorOptions {
  Selection selection{};
  size_t chunk = 500;
  // Over these limits the copy does not change, and on_trouble reports it.
  size_t max_objects = 50'000;
  size_t max_bytes = size_t{256} << 20;  // approximate, in memory
  // The server sends the initial state as events (Kubernetes 1.34 and later), which costs it less;
  // otherwise a list is used.
  bool uses_watch_list = false;
  // The first list may be any state in a server's cache: for collections that thousands of nodes
  // follow, so that the servers need no quorum for each. The state may be older than what somebody
  // else has seen; the watch catches up.
  bool starts_from_cache = false;
  // Most users do not need managedFields, which are often half of an object.
  bool keeps_managed_fields = false;
  // Whether an object is part of the copy, where no selector can say it; empty: all are. One that
  // no longer is counts as gone. Gets the whole object.
  std::function<bool(const boost::json::value&)> keeps{};
  // Removes unneeded parts of an object.
  std::function<void(boost::json::value&)> trim{};
  BackoffOptions backoff{};
};

// May destroy the reflector.
struct ReflectorHandlers {
  std::function<void(const ObjectPtr&)> on_changed{};  // new, or another version
  std::function<void(const ObjectPtr&)> on_gone{};     // its last state
  // Each time a complete list has been applied.
  std::function<void()> on_synced{};
  // Each time a watch has started: after trouble, it works again.
  std::function<void()> on_watching{};
  // Each failure; it is retried.
  std::function<void(const Status&)> on_trouble{};
};

// Lives on the loop's thread.
class Reflector {
 public:
  // All of them must outlive the reflector. The constructor calls no handler.
  Reflector(EventLoop& loop, Client& client, Random& random, ReflectorOptions options,
            ReflectorHandlers handlers);
  ~Reflector();
  Reflector(const Reflector&) = delete;
  Reflector& operator=(const Reflector&) = delete;

  // By "namespace/name", or "name" alone.
  const std::map<std::string, ObjectPtr>& objects() const;
  ObjectPtr Find(const std::string& key) const;
  // Whether objects() has ever been complete.
  bool is_synced() const;

 private:
  class Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace kgpu::kube
