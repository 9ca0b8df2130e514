// Keeps the node's ResourceSlices at the API server as they should be: writes what differs, one
// write at a time, and nothing otherwise. Slices that somebody removes, such as the kubelet at its
// start, are written again.
#pragma once

#include <boost/json/value.hpp>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "src/kube/api/client.h"
#include "src/kube/api/reflector.h"
#include "src/node/dra/slice_plan.h"
#include "src/platform/base/backoff.h"
#include "src/platform/base/event_loop.h"
#include "src/platform/base/random.h"
#include "src/platform/base/timer.h"

namespace kgpu::dra {

struct PublisherState {
  bool is_published = false;  // the server has the wanted slices
  uint64_t writes = 0;        // successful ones
  std::string problem{};      // why the last write failed, or the server cannot be read
};

// Lives on the loop's thread. Never deletes slices at its end: the pods' claims refer to them.
class Publisher {
 public:
  // Calls `changed` from the loop whenever state() has changed. All must outlive the publisher.
  Publisher(EventLoop& loop, kube::Client& client, Random& random, std::string node,
            std::function<void()> changed);
  ~Publisher() = default;
  Publisher(const Publisher&) = delete;
  Publisher& operator=(const Publisher&) = delete;

  void SetWanted(WantedSlices wanted);
  const PublisherState& state() const { return state_; }

 private:
  // The response to a write, until the watch has seen it.
  struct Answered {
    std::optional<boost::json::value> slice{};  // nothing: deleted
    std::string uid{};                          // of a deleted one
    SteadyTime at{};
  };

  void Follow();
  bool HasSeen(const std::string& name, const Answered& answered) const;
  void OnWatched(const boost::json::value& slice);
  std::map<std::string, boost::json::value> Existing();
  void Step();
  void Send(SliceWrite write);
  void OnWritten(const SliceWrite& write, StatusOr<boost::json::value> answer);
  void Report(bool is_published, std::string problem);

  EventLoop& loop_;
  kube::Client& client_;
  Random& random_;
  const std::string node_;
  const std::function<void()> changed_;
  std::unique_ptr<kube::Reflector> slices_;
  std::optional<WantedSlices> wanted_;
  std::map<std::string, Answered> answered_;  // by name
  TakenSpecs taken_;                          // of the wanted slices alone
  Backoff backoff_;
  std::unique_ptr<kube::Call> call_;
  Timer timer_{loop_};
  PublisherState state_;
};

}  // namespace kgpu::dra
