#include "src/node/telemetry/cluster_tokens.h"

#include <boost/json.hpp>

#include <algorithm>
#include <string_view>
#include <utility>

#include "src/kube/api/access_review.h"
#include "src/platform/base/log.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"

namespace kgpu::telemetry {
namespace {

Verdict Forbidden(const kube::TokenOwner& owner, const std::string& path) {
  return {.code = 403,
          .text = fmt::format("{} is not allowed to get {}: bind it to a ClusterRole with "
                              "nonResourceURLs: [{}] and verbs: [get]",
                              Printable(owner.name, 200), path, path)};
}

}  // namespace

// Two questions, one after the other.
class ClusterTokens::Review {
 public:
  using Done = std::function<void(StatusOr<Verdict>)>;

  Review(kube::Client& client, const ClusterTokensOptions& options, const std::string& token,
         Done done)
      : client_(client), options_(options), done_(std::move(done)) {
    call_ = client_.Send(kube::TokenReviewRequest(token, options_.audiences),
                         [this](const StatusOr<boost::json::value>& review) { OnOwner(review); });
  }

 private:
  void OnOwner(const StatusOr<boost::json::value>& review) {
    const auto owner = review.ok() ? kube::OwnerOfReview(*review, options_.audiences)
                                   : StatusOr<std::optional<kube::TokenOwner>>(review.status());
    if (!owner.ok()) {
      return Finish(owner.status());
    }
    const std::optional<kube::TokenOwner>& known = *owner;
    if (!known) {
      return Finish(Verdict{.code = 401, .text = "the API server does not accept this token"});
    }
    owner_ = *known;
    call_ = client_.Send(kube::AccessReviewRequest(owner_, "get", options_.path),
                         [this](const StatusOr<boost::json::value>& answer) { OnAccess(answer); });
  }

  void OnAccess(const StatusOr<boost::json::value>& review) {
    const StatusOr<bool> is_allowed =
        review.ok() ? kube::IsAllowed(*review) : StatusOr<bool>(review.status());
    if (!is_allowed.ok()) {
      return Finish(is_allowed.status());
    }
    Finish(*is_allowed ? Verdict() : Forbidden(owner_, options_.path));
  }

  // Destroys the review.
  void Finish(StatusOr<Verdict> verdict) {
    const Done done = std::move(done_);
    done(std::move(verdict));
  }

  kube::Client& client_;
  const ClusterTokensOptions& options_;
  Done done_;
  kube::TokenOwner owner_;
  std::unique_ptr<kube::Call> call_;
};

StatusOr<std::unique_ptr<ClusterTokens>> ClusterTokens::Create(EventLoop& loop, ClientSource client,
                                                               ClusterTokensOptions options) {
  ASSIGN_OR_RETURN(const tls::KeyedDigest digest, tls::KeyedDigest::Create());
  return std::unique_ptr<ClusterTokens>(
      new ClusterTokens(loop, std::move(client), std::move(options), digest));
}

ClusterTokens::ClusterTokens(EventLoop& loop, ClientSource client, ClusterTokensOptions options,
                             tls::KeyedDigest digest)
    : loop_(loop), client_(std::move(client)), options_(std::move(options)), digest_(digest) {
}

ClusterTokens::~ClusterTokens() {
  for (auto& [key, known] : std::exchange(known_, {})) {
    known.review.reset();
    for (const Done& done : known.waiting) {
      done({.code = 503, .text = "the configuration is changing: try again"});
    }
  }
}

void ClusterTokens::Check(const std::string& token, Done done) {
  const StatusOr<Key> key = digest_.Of(token);
  if (!key.ok() || token.size() > kMaxToken) {
    return done({.code = 401, .text = "malformed token"});
  }
  if (!known_.contains(*key)) {
    MakeRoom();
  }
  Known& known = known_[*key];
  if (known.review == nullptr && known.verdict && loop_.clock().Now() < known.until) {
    return done(Verdict(*known.verdict));
  }
  Ask(*key, known, token, std::move(done));
}

void ClusterTokens::Ask(const Key& key, Known& known, const std::string& token, Done done) {
  kube::Client* client = client_();
  const bool is_full = !HasRoomToAsk(known);
  if (client == nullptr || is_full) {
    if (CountsUnasked(known)) {
      return done({});
    }
    if (!known.verdict && known.review == nullptr) {
      known_.erase(key);
    }
    return done({.code = 503,
                 .text = is_full
                             ? "too many token reviews in progress: try again"
                             : "no API server is available to check tokens: run kgpu node status"});
  }
  known.waiting.push_back(std::move(done));
  if (known.review == nullptr) {
    ++asked_;
    known.review = std::make_unique<Review>(
        *client, options_, token,
        [this, key](StatusOr<Verdict> answer) { OnAnswer(key, std::move(answer)); });
  }
}

void ClusterTokens::OnAnswer(const Key& key, StatusOr<Verdict> answer) {
  --asked_;
  Known& known = known_.at(key);
  const std::unique_ptr<Review> review = std::move(known.review);  // it calls us: it goes last
  const SteadyTime now = loop_.clock().Now();
  Note(answer.status());
  Verdict verdict;
  if (answer.ok()) {
    verdict = *std::move(answer);
    const bool is_allowed = verdict.code == 200;
    known.said_yes = is_allowed ? std::optional(now) : std::nullopt;
    known.until = now + (is_allowed ? options_.allowed : options_.refused);
  } else {
    known.until = now + options_.unknown;
    if (!CountsUnasked(known)) {
      verdict = {.code = 503, .text = fmt::format("cannot check the token: {}", problem_)};
    }
  }
  known.verdict = verdict;
  // A callback may ask again, and so change everything here.
  for (const Done& done : std::exchange(known.waiting, {})) {
    done(verdict);
  }
}

void ClusterTokens::Note(const Status& status) {
  const std::string problem(Message(status));
  const bool is_new = !problem.empty() && problem != problem_;
  problem_ = problem;
  if (is_new && lines_.Take(loop_.clock().Now())) {
    KGPU_LOG(kWarning, "tokens not checked", {"reason", problem},
             {"left_out", lines_.TakeLeftOut()});
  }
}

bool ClusterTokens::HasRoomToAsk(const Known& known) const {
  if (known.review != nullptr) {
    return known.waiting.size() < options_.max_waiting;
  }
  return asked_ < options_.max_asked + (known.said_yes ? options_.max_renewed : 0);
}

bool ClusterTokens::CountsUnasked(const Known& known) const {
  return known.said_yes && loop_.clock().Now() - *known.said_yes < options_.allowed_unasked;
}

void ClusterTokens::MakeRoom() {
  if (known_.size() < options_.max_known) {
    return;
  }
  // Many guesses are younger than a yes that is to be renewed.
  const auto worth = [this](const Known& known) {
    return std::pair(CountsUnasked(known), known.until);
  };
  auto oldest = known_.end();
  for (auto at = known_.begin(); at != known_.end(); ++at) {
    if (at->second.review == nullptr &&
        (oldest == known_.end() || worth(at->second) < worth(oldest->second))) {
      oldest = at;
    }
  }
  if (oldest != known_.end()) {
    known_.erase(oldest);
  }
}

}  // namespace kgpu::telemetry
