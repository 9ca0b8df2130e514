// Keeps a Node object up to date: writes the differences, one write at a time, and nothing if there
// are none.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "src/kube/api/client.h"
#include "src/node/object/node_plan.h"
#include "src/node/object/owners.h"
#include "src/node/object/seen_node.h"
#include "src/platform/base/backoff.h"
#include "src/platform/base/event_loop.h"
#include "src/platform/base/random.h"
#include "src/platform/base/timer.h"

namespace kgpu::node {

struct WriterOptions {
  // Counts from the first change: later ones within it go into the same write.
  std::chrono::milliseconds coalesce{100};
  // After a failed write of one kind; other kinds continue.
  BackoffOptions retry{.first = std::chrono::seconds(1),
                       .longest = std::chrono::minutes(5),
                       .reset_after = std::chrono::minutes(10)};
  // How long the watch may lag behind the response to a write.
  std::chrono::milliseconds watch_lag{60'000};
  // Somebody reverts our writes: the same change is repeated this often immediately, then after a
  // pause that doubles. A change that is wanted again after another one is no repetition.
  int free_repeats = 3;
  std::chrono::milliseconds first_pause{2'000};
  std::chrono::milliseconds longest_pause{600'000};
  std::chrono::milliseconds memory{3'600'000};  // after this long, a repeated change counts as new
};

struct WriterState {
  bool is_settled = false;              // the node is as it should be, as far as allowed
  uint64_t writes = 0;                  // successful ones
  uint64_t failures = 0;                // failed ones
  std::vector<std::string> problems{};  // why they failed, with the fix; by kind
  std::vector<Skipped> skipped{};
  std::vector<std::string> changes{};  // still to be written
};

// Lives on the loop's thread.
class Writer {
 public:
  // Calls `changed` from the loop whenever state() may have changed. `loop`, `client` and `random`
  // must outlive the writer.
  Writer(EventLoop& loop, kube::Client& client, Random& random, const WriterOptions& options,
         std::function<void()> changed);
  ~Writer();
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  void SetWanted(Wanted wanted);
  void SetOwners(Owners owners);
  // The server is back: retries failed writes now. The pauses after new failures do not start over.
  void TryNow();
  // The node from the watch; nothing: there is no such node, and nothing is written. Ignores a
  // version older than the response to the last write, for `watch_lag`; after that it counts, since
  // a server restored from a backup starts from older versions.
  void SetNode(std::optional<SeenNode> node);

  const std::optional<SeenNode>& node() const { return node_; }
  const WriterState& state() const { return state_; }

 private:
  struct Retry {
    explicit Retry(Random& random, const BackoffOptions& options) : backoff(random, options) {}
    Backoff backoff;
    SteadyTime until{};     // no retry before
    std::string problem{};  // of the last attempt
  };
  struct Repeat {
    WriteKind kind = WriteKind::kKeys;
    int count = 0;
    SteadyTime last{};
  };

  void Schedule(std::chrono::nanoseconds delay);
  void Step();
  void ForgetProblemsOf(const NodePlan& plan);
  void Send(const Write& write, const std::string& signature);
  void OnDone(WriteKind kind, const std::string& signature,
              const StatusOr<boost::json::value>& answer);
  void OnFailed(WriteKind kind, const Status& status);
  void TakeAnswer(SeenNode node);
  void ReadAgain();
  SteadyTime RepeatAt(const std::string& signature);
  void NoteRepeat(WriteKind kind, const std::string& signature);
  void ForgetRepeats(const Wanted& next);
  void Report();

  EventLoop& loop_;
  kube::Client& client_;
  Random& random_;
  WriterOptions options_;
  std::function<void()> changed_;
  std::optional<Wanted> wanted_;
  Owners owners_;
  std::optional<SeenNode> node_;
  std::string asked_;                   // version of node_ when the last request was sent
  std::optional<SteadyTime> answered_;  // when node_ came as a response
  std::vector<Retry> retries_;          // by WriteKind
  std::map<size_t, Repeat> repeats_;    // by hash of the change; bounded
  std::unique_ptr<kube::Call> call_;
  Timer timer_{loop_};
  SteadyTime due_{};  // of timer_
  WriterState state_;
};

}  // namespace kgpu::node
