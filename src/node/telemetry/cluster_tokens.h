// Cluster tokens: the API server decides whose a token is, and whether it may read
// /metrics.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "src/kube/api/client.h"
#include "src/node/telemetry/token_check.h"
#include "src/platform/base/event_loop.h"
#include "src/platform/base/log_budget.h"
#include "src/platform/base/status.h"
#include "src/platform/net/tls/keyed_digest.h"

namespace kgpu::telemetry {

struct ClusterTokensOptions {
  std::vector<std::string> audiences{};  // empty: the API server's own
  std::string path = "/metrics";         // that must be allowed, with the verb "get"
  // How long an answer is valid. A yes is valid for longer while the API server is unreachable:
  // metrics matter most at such times.
  std::chrono::milliseconds allowed{120'000};
  std::chrono::milliseconds allowed_unasked{900'000};
  std::chrono::milliseconds refused{10'000};
  std::chrono::milliseconds unknown{5'000};  // of "the API server cannot be asked"
  size_t max_known = 256;  // cached answers: the oldest goes, those that admitted somebody last
  size_t max_asked = 16;   // reviews in progress: over it, 503
  // Additional reviews for tokens that were admitted before: guesses must not keep them
  // out.
  size_t max_renewed = 4;
  size_t max_waiting = 64;  // requests that wait for one answer: over it, 503
};

// Keeps tokens themselves only while the server reviews them.
class ClusterTokens final : public TokenCheck {
 public:
  // The client for reviews; null while there is no cluster. It must outlive the check.
  using ClientSource = std::function<kube::Client*()>;

  // `loop` must outlive it. Errors: Internal (no random bytes).
  static StatusOr<std::unique_ptr<ClusterTokens>> Create(EventLoop& loop, ClientSource client,
                                                         ClusterTokensOptions options);
  ~ClusterTokens() override;

  void Check(const std::string& token, Done done) override;
  std::string Problem() override { return problem_; }

  size_t known() const { return known_.size(); }

 private:
  using Key = tls::KeyedDigest::Value;
  class Review;
  struct Known {
    std::optional<Verdict> verdict{};  // nothing: not answered yet
    SteadyTime until{};                // valid without asking again
    std::optional<SteadyTime> said_yes{};
    std::unique_ptr<Review> review{};  // while it is reviewed
    std::vector<Done> waiting{};
  };

  ClusterTokens(EventLoop& loop, ClientSource client, ClusterTokensOptions options,
                tls::KeyedDigest digest);
  void Ask(const Key& key, Known& known, const std::string& token, Done done);
  void OnAnswer(const Key& key, StatusOr<Verdict> answer);
  void Note(const Status& status);
  bool HasRoomToAsk(const Known& known) const;
  bool CountsUnasked(const Known& known) const;
  void MakeRoom();

  EventLoop& loop_;
  const ClientSource client_;
  const ClusterTokensOptions options_;
  tls::KeyedDigest digest_;
  std::map<Key, Known> known_;
  size_t asked_ = 0;
  std::string problem_;  // why the last review had no answer; empty: it had one
  // Under load, answers alternate between success and failure.
  LogBudget lines_{{.burst = 3, .every = std::chrono::minutes(1)}};
};

}  // namespace kgpu::telemetry
