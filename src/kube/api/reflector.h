// A copy of the objects of a collection that follows the API server, through restarts of it, broken
// connections and what it has forgotten.
#pragma once

#include <boost/json/fwd.hpp>

#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "src/kube/api/backoff.h"
#include "src/kube/api/client.h"
#include "src/kube/api/lister.h"
#include "src/platform/base/event_loop.h"
#include "src/platform/base/random.h"

namespace kgpu::kube {

// An object as it was at one time.
using ObjectPtr = std::shared_ptr<const boost::json::value>;

struct ReflectorOptions {
  Selection selection{};
  size_t chunk = 500;
  // Past them the copy stays as it was, and on_trouble tells.
  size_t max_objects = 50'000;
  size_t max_bytes = size_t{256} << 20;  // about, in memory
  // The server sends the first state as events (Kubernetes 1.34 and later), which costs it less; a
  // list where it cannot.
  bool uses_watch_list = false;
  // The first list may be any state that a server has in its cache: for what thousands of nodes
  // follow, so that none of them makes the servers agree first. The state may be from before what
  // was seen by somebody else; the watch brings what is missing.
  bool starts_from_cache = false;
  // Who set which field is of no use to most, and often half of an object.
  bool keeps_managed_fields = false;
  // Takes out of an object what nobody will look at.
  std::function<void(boost::json::value&)> trim{};
  BackoffOptions backoff{};
};

// May destroy the reflector.
struct ReflectorHandlers {
  std::function<void(const ObjectPtr&)> on_changed{};  // new, or another version
  std::function<void(const ObjectPtr&)> on_gone{};     // as it was last
  // Each time that all of a list has been taken over.
  std::function<void()> on_synced{};
  // Each time that a watch has begun: what was in trouble works again.
  std::function<void()> on_watching{};
  // What does not work, each time; it is tried again.
  std::function<void(const Status&)> on_trouble{};
};

// Lives on the loop's thread.
class Reflector {
 public:
  // All of them outlive the reflector. Nothing is called from here.
  Reflector(EventLoop& loop, Client& client, Random& random, ReflectorOptions options,
            ReflectorHandlers handlers);
  ~Reflector();
  Reflector(const Reflector&) = delete;
  Reflector& operator=(const Reflector&) = delete;

  // By "namespace/name", or "name" alone.
  const std::map<std::string, ObjectPtr>& objects() const;
  ObjectPtr Find(const std::string& key) const;
  // Whether objects() has been whole once.
  bool is_synced() const;

 private:
  class Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace kgpu::kube
