// Tokens of the cluster: whose one is, and whether they may read /metrics, is the API server's
// word.
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

#include "src/agent/log_budget.h"
#include "src/agent/token_check.h"
#include "src/kube/api/client.h"
#include "src/platform/base/event_loop.h"
#include "src/platform/base/status.h"
#include "src/platform/tls/keyed_digest.h"

namespace kgpu::agent {

struct ClusterTokensOptions {
  std::vector<std::string> audiences{};  // empty: the API server's own
  std::string path = "/metrics";         // that must be allowed, with the verb "get"
  // How long an answer counts. A yes counts longer while the API server cannot be asked: it is
  // then that metrics matter.
  std::chrono::milliseconds allowed{120'000};
  std::chrono::milliseconds allowed_unasked{900'000};
  std::chrono::milliseconds refused{10'000};
  std::chrono::milliseconds unknown{5'000};  // of "the API server cannot be asked"
  size_t max_known = 256;  // answers kept: the oldest goes, one that let somebody in last
  size_t max_asked = 16;   // tokens asked about at a time: past it 503
  // As many more for tokens that were let in before: guesses must not keep them from being so
  // again.
  size_t max_renewed = 4;
  size_t max_waiting = 64;  // requests that wait for one answer: past it 503
};

// Tokens themselves are kept only while the server is asked about them.
class ClusterTokens final : public TokenCheck {
 public:
  // The client to ask with; null while there is no cluster. It outlives the check.
  using ClientSource = std::function<kube::Client*()>;

  // `loop` outlives it. Errors: Internal (no random bytes).
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
    SteadyTime until{};                // that it counts unasked
    std::optional<SteadyTime> said_yes{};
    std::unique_ptr<Review> review{};  // while it is asked about
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
  std::string problem_;  // why the last question had no answer; empty: it had
  // Under load answers come and fail by turns.
  LogBudget lines_{{.burst = 3, .every = std::chrono::minutes(1)}};
};

}  // namespace kgpu::agent
