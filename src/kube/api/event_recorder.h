// Events about objects, for `kubectl describe` and `kubectl events`: best effort, and never many.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "src/kube/api/client.h"
#include "src/platform/base/event_loop.h"
#include "src/platform/base/random.h"

namespace kgpu::kube {

struct ObjectReference {
  std::string api_version{};  // "v1"
  std::string kind{};         // "Node"
  std::string space{};        // empty for kinds without namespaces
  std::string name{};
  std::string uid{};
  auto operator<=>(const ObjectReference&) const = default;
};

struct Event {
  bool is_warning = false;
  std::string reason{};  // "DriverNotLoaded": CamelCase, at most 128 characters
  std::string action{};  // what was done or looked at: "Verifying", at most 128 characters
  std::string note{};    // for people, truncated to 1024 bytes
  ObjectReference regarding{};
  // Which part of the object it is about, such as a GPU of a node; not sent. Events that differ in
  // it stay separate, each with its own note.
  std::string subject{};
};

struct EventRecorderOptions {
  std::string controller = "kgpu.dev/agent";  // a qualified name
  std::string instance{};                     // which of them: the node's name
  size_t max_kept = 256;                      // different events; over it, new ones are dropped
};

// Lives on the loop's thread. Events that differ only in their note are one event: repetitions
// within six minutes make it a series. Each kind of event about an object may be written 25 times
// at once, and then once in five minutes; faster ones are only counted. What the server cannot take
// now is retried for half an hour; what it forbids is dropped.
class EventRecorder {
 public:
  // All of them must outlive the recorder. A separate client keeps events out of others' way.
  EventRecorder(EventLoop& loop, Client& client, Random& random, EventRecorderOptions options);
  ~EventRecorder();
  EventRecorder(const EventRecorder&) = delete;
  EventRecorder& operator=(const EventRecorder&) = delete;

  void Record(const Event& event);
  // Number of events that were never written, since the start.
  uint64_t dropped() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace kgpu::kube
