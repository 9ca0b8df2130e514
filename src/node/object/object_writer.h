// Keeps one API object up to date, e.g. this node's NodeFeature: writes it if it differs, checks it
// from time to time, and deletes it when it is no longer needed.
#pragma once

#include <boost/json/value.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "src/kube/api/client.h"
#include "src/platform/base/backoff.h"
#include "src/platform/base/event_loop.h"
#include "src/platform/base/random.h"
#include "src/platform/base/timer.h"

namespace kgpu::node {

struct ObjectWriterOptions {
  std::string path{};  // of the object: Resource::Object
  std::chrono::milliseconds coalesce{100};
  std::chrono::milliseconds look_every{3'600'000};
  BackoffOptions retry{.first = std::chrono::seconds(1),
                       .longest = std::chrono::minutes(5),
                       .reset_after = std::chrono::minutes(10)};
};

struct ObjectWriterState {
  bool is_settled = false;
  uint64_t writes = 0;
  std::string problem{};  // with the fix
};

// This annotation marks an object as ours, and holds a digest of its content.
inline constexpr std::string_view kDigestAnnotation = "kgpu.dev/digest";

// Lives on the loop's thread.
class ObjectWriter {
 public:
  // All of them must outlive the writer. It does nothing before the first SetWanted.
  ObjectWriter(EventLoop& loop, kube::Client& client, Random& random, ObjectWriterOptions options);
  ~ObjectWriter();
  ObjectWriter(const ObjectWriter&) = delete;
  ObjectWriter& operator=(const ObjectWriter&) = delete;

  // apiVersion, kind, metadata and everything else of ours; nothing: deletes it, if it is ours.
  void SetWanted(std::optional<boost::json::value> object);
  const ObjectWriterState& state() const { return state_; }

 private:
  void Schedule(std::chrono::nanoseconds delay);
  void Look();
  void OnLooked(const StatusOr<boost::json::value>& answer);
  void Write();
  void Delete(const boost::json::value& there);
  void OnWritten(const Status& status);
  void OnSettled();
  void OnTrouble(const Status& status);

  EventLoop& loop_;
  kube::Client& client_;
  Random& random_;
  ObjectWriterOptions options_;
  Backoff backoff_;
  std::optional<boost::json::value> wanted_;
  std::string digest_;
  bool is_asked_ = false;
  bool is_stale_ = false;  // SetWanted was called during the call in progress
  std::unique_ptr<kube::Call> call_;
  Timer timer_{loop_};
  ObjectWriterState state_;
};

}  // namespace kgpu::node
