#include "src/node/object/writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/value.hpp>
#include <functional>
#include <utility>

#include "src/node/object/node_requests.h"
#include "src/platform/base/log.h"
#include "src/platform/base/strings.h"

namespace kgpu::node {
namespace {

// Limit for the changes that are remembered to detect a fight: more at once are no fight.
constexpr size_t kMaxRepeats = 16;

// Whether the node's version that a write was planned on is out of date.
bool IsStale(const Status& status) {
  return status.code() == StatusCode::kAborted || status.code() == StatusCode::kAlreadyExists;
}

// Also what is refused as not valid: a patch of what is not there any more is.
bool IsToBeReadAgain(const Status& status) {
  return IsStale(status) || status.code() == StatusCode::kInvalidArgument;
}

std::string_view FixOfInvalid(WriteKind kind) {
  const bool is_gates = kind == WriteKind::kCondition || kind == WriteKind::kGateTaint ||
                        kind == WriteKind::kHealthCondition || kind == WriteKind::kConfigCondition;
  return is_gates ? "; if this persists, it is a bug of kgpu: report it"
                  : "; fix the rule or the setting that causes it";
}

std::string FixOf(WriteKind kind, const Status& status) {
  std::string text(Message(status));
  if (status.code() == StatusCode::kPermissionDenied) {
    const bool is_status = kind == WriteKind::kCondition || kind == WriteKind::kResources ||
                           kind == WriteKind::kHealthCondition ||
                           kind == WriteKind::kConfigCondition;
    text += fmt::format("; grant the agent's service account \"patch\" on {}",
                        is_status ? "nodes/status" : "nodes");
  } else if (status.code() == StatusCode::kInvalidArgument) {
    text += FixOfInvalid(kind);
  }
  return fmt::format("{}: {}", ToString(kind), text);
}

}  // namespace

Writer::Writer(EventLoop& loop, kube::Client& client, Random& random, const WriterOptions& options,
               std::function<void()> changed)
    : loop_(loop),
      client_(client),
      random_(random),
      options_(options),
      changed_(std::move(changed)) {
  retries_.reserve(kWriteKinds);
  for (size_t kind = 0; kind < kWriteKinds; ++kind) {
    retries_.emplace_back(random_, options_.retry);
  }
}

Writer::~Writer() = default;

void Writer::SetWanted(Wanted wanted) {
  if (wanted_ != wanted) {
    ForgetRepeats(wanted);
    wanted_ = std::move(wanted);
    Schedule(options_.coalesce);
  }
}

void Writer::SetOwners(Owners owners) {
  if (owners_ != owners) {
    owners_ = std::move(owners);
    Schedule(options_.coalesce);
  }
}

void Writer::SetNode(std::optional<SeenNode> node) {
  if (!node && !node_) {
    return;
  }
  if (node && node_ && node->uid == node_->uid && !IsLater(node->version, node_->version)) {
    const bool is_behind = answered_ && loop_.clock().Now() < *answered_ + options_.watch_lag;
    if (is_behind || node->version == node_->version) {
      return;
    }
  }
  answered_.reset();
  node_ = std::move(node);
  Schedule(options_.coalesce);
}

void Writer::TryNow() {
  for (Retry& retry : retries_) {
    retry.until = {};
  }
  Schedule(options_.coalesce);
}

void Writer::Schedule(std::chrono::nanoseconds delay) {
  state_.is_settled = false;
  if (call_) {
    return;
  }
  // One that is due sooner stands; one of a kind's back-off must not keep the other kinds waiting.
  const SteadyTime due = loop_.clock().Now() + delay;
  if (timer_.is_armed() && due_ <= due) {
    return;
  }
  due_ = due;
  timer_.Arm(delay, [this] { Step(); });
}

void Writer::Step() {
  if (!node_ || !wanted_) {
    return;
  }
  NodePlan plan = PlanNode(*node_, *wanted_, owners_, loop_.clock().WallNow());
  state_.skipped = std::move(plan.skipped);
  state_.changes = std::move(plan.changes);
  state_.is_settled = plan.writes.empty();
  ForgetProblemsOf(plan);
  const SteadyTime now = loop_.clock().Now();
  std::optional<SteadyTime> next;
  for (const Write& write : plan.writes) {
    const std::string signature =
        fmt::format("{}: {}", ToString(write.kind), Join(write.changes, ", "));
    const SteadyTime at =
        std::max(retries_.at(static_cast<size_t>(write.kind)).until, RepeatAt(signature));
    if (at <= now) {
      Send(write, signature);
      return Report();
    }
    next = next ? std::min(*next, at) : at;
  }
  if (next) {
    Schedule(*next - now);
  }
  Report();
}

// A key that is no longer to be written is no problem.
void Writer::ForgetProblemsOf(const NodePlan& plan) {
  for (size_t kind = 0; kind < kWriteKinds; ++kind) {
    if (std::ranges::find(plan.writes, static_cast<WriteKind>(kind), &Write::kind) ==
        plan.writes.end()) {
      retries_.at(kind).problem.clear();
    }
  }
}

void Writer::Send(const Write& write, const std::string& signature) {
  asked_ = node_ ? node_->version : "";
  call_ = client_.Send(write.request, [this, kind = write.kind,
                                       signature](const StatusOr<boost::json::value>& answer) {
    call_.reset();
    OnDone(kind, signature, answer);
  });
}

void Writer::OnDone(WriteKind kind, const std::string& signature,
                    const StatusOr<boost::json::value>& answer) {
  if (!answer.ok()) {
    ++state_.failures;
    return OnFailed(kind, answer.status());
  }
  ++state_.writes;
  Retry& retry = retries_.at(static_cast<size_t>(kind));
  retry.backoff.Reset();
  retry.problem.clear();
  NoteRepeat(kind, signature);
  KGPU_LOG(kInfo, "node written", {"what", Printable(signature, 200)});
  StatusOr<SeenNode> node = ReadNode(*answer);
  if (!node.ok()) {
    return ReadAgain();
  }
  TakeAnswer(*std::move(node));
  Step();
}

// The watch may have brought a later one meanwhile. An answer older than what was known when it was
// asked for is of a server that was restored from a backup.
void Writer::TakeAnswer(SeenNode node) {
  if (node_ && (IsLater(node.version, node_->version) || IsLater(asked_, node.version))) {
    node_ = std::move(node);
    answered_ = loop_.clock().Now();
  }
}

void Writer::OnFailed(WriteKind kind, const Status& status) {
  Retry& retry = retries_.at(static_cast<size_t>(kind));
  const SteadyTime now = loop_.clock().Now();
  retry.until = now + retry.backoff.Next(now);
  std::string problem = FixOf(kind, status);
  if (problem != retry.problem) {
    if (IsStale(status)) {
      KGPU_LOG(kDebug, "node changed concurrently", {"what", ToString(kind)}, {"reason", problem});
    } else {
      KGPU_LOG(kWarning, "node not written", {"what", ToString(kind)}, {"reason", problem});
    }
    retry.problem = std::move(problem);
  }
  if (IsToBeReadAgain(status)) {
    return ReadAgain();
  }
  Schedule(std::chrono::nanoseconds(0));
  Report();
}

// The watch brings it, too, but maybe much later.
void Writer::ReadAgain() {
  if (!node_) {
    return;
  }
  kube::ApiRequest request;
  request.path = NodePath(node_->name);
  asked_ = node_->version;
  call_ = client_.Send(std::move(request), [this](StatusOr<boost::json::value> answer) {
    call_.reset();
    if (answer.ok()) {
      if (StatusOr<SeenNode> node = ReadNode(*answer); node.ok()) {
        TakeAnswer(*std::move(node));
      }
    }
    Schedule(std::chrono::nanoseconds(0));
  });
}

SteadyTime Writer::RepeatAt(const std::string& signature) {
  const auto found = repeats_.find(std::hash<std::string>()(signature));
  if (found == repeats_.end() || found->second.count < options_.free_repeats) {
    return {};
  }
  auto pause = options_.first_pause;
  for (int i = options_.free_repeats; i < found->second.count; ++i) {
    pause = std::min(pause * 2, options_.longest_pause);
  }
  return found->second.last + pause;
}

// The changes of a part of which something else is wanted now.
void Writer::ForgetRepeats(const Wanted& next) {
  const Wanted before = wanted_.value_or(Wanted());
  std::erase_if(repeats_, [&](const auto& entry) {
    switch (entry.second.kind) {
      case WriteKind::kCondition:
      case WriteKind::kGateTaint:
        return before.gate != next.gate;
      case WriteKind::kHealthCondition:
        return before.health != next.health;
      case WriteKind::kConfigCondition:
        return before.config != next.config;
      case WriteKind::kKeys:
      case WriteKind::kTaints:
      case WriteKind::kResources:
        return before.claims != next.claims;
    }
    return false;
  });
}

void Writer::NoteRepeat(WriteKind kind, const std::string& signature) {
  const SteadyTime now = loop_.clock().Now();
  std::erase_if(repeats_,
                [&](const auto& entry) { return entry.second.last + options_.memory <= now; });
  Repeat& repeat = repeats_[std::hash<std::string>()(signature)];
  repeat.kind = kind;
  ++repeat.count;
  repeat.last = now;
  if (repeat.count == options_.free_repeats + 1) {
    KGPU_LOG(kWarning, "node changes reverted by another client",
             {"change", Printable(signature, 200)},
             {"fix", "find the client with `kubectl get node -o yaml --show-managed-fields`"});
  }
  if (repeats_.size() > kMaxRepeats) {
    repeats_.erase(std::ranges::min_element(repeats_, {},
                                            [](const auto& entry) { return entry.second.last; }));
  }
}

void Writer::Report() {
  state_.problems.clear();
  for (const Retry& retry : retries_) {
    if (!retry.problem.empty()) {
      state_.problems.push_back(retry.problem);
    }
  }
  changed_();
}

}  // namespace kgpu::node
