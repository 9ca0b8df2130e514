#include "src/node/layouts/mig_changes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <utility>

#include "src/platform/base/log.h"
#include "src/platform/base/strings.h"

namespace kgpu::layouts {
namespace {

using std::chrono::seconds;

// A cold driver takes half a minute to start; the list of processes and pods comes after that.
constexpr seconds kPlanDeadline{90};
// A change of the MIG mode alone may take a minute, a reset two.
constexpr seconds kChangeDeadline{300};
// The probe dies within a second, or is stuck in the kernel.
constexpr seconds kCloseDeadline{10};
// From our answer to the kubelet's Allocate until the kubelet lists the device.
constexpr std::chrono::milliseconds kInFlight{1'100};
// How often to look who uses GPUs that wait.
constexpr seconds kLookSoon{1};
constexpr seconds kPatience{10};
constexpr seconds kLookLater{10};
// How often to plan again while GPUs wait: processes that are in no pod may use them.
constexpr seconds kFirstWait{10};
constexpr seconds kLastWait{60};
constexpr seconds kFirstPause{60};
constexpr seconds kLastPause{600};

}  // namespace

MigChanges::MigChanges(EventLoop& loop, Sources sources, Left left)
    : loop_(loop),
      sources_(std::move(sources)),
      begun_(std::move(left.begun)),
      left_(std::move(left.withdrawn)),
      timer_(loop),
      close_timer_(loop) {
  ShowMarks();
}

bool MigChanges::SetGoals(std::vector<MigGoal> goals, Limits limits) {
  const bool was_able = std::exchange(limits_, limits).may_change;
  if (has_goals_ && goals == goals_ && was_able == limits.may_change) {
    if (!is_busy_ && !must_plan_) {
      SettleLeft();
      ShowMarks();
    }
    return false;
  }
  has_goals_ = true;
  ++round_;
  goals_ = std::move(goals);
  states_.assign(goals_.size(), {});
  std::erase_if(cards_, [&](const auto& entry) { return entry.first != changing_; });
  for (auto& [gpu, card] : cards_) {
    card.goal = SIZE_MAX;
  }
  changed_.clear();
  must_plan_ = true;
  Report();
  Next();
  return true;
}

void MigChanges::SetComplete() {
  if (has_goals_) {
    (void)SetGoals(goals_, {.may_change = limits_.may_change});
  }
}

void MigChanges::PlanAgain() {
  if (has_goals_ && is_busy_) {
    plan_again_ = true;  // the plan that runs may have read the GPU before
  } else if (has_goals_ && !must_plan_) {
    must_plan_ = true;
    Next();
  }
}

void MigChanges::NamesChanged() {
  for (auto& [gpu, card] : cards_) {
    card.changed_at = SteadyTime::min();
  }
  // The round of no goals: the result of a change that runs says nothing about the new names.
  changing_round_ = 0;
  PlanAgain();
}

void MigChanges::Next() {
  timer_.Cancel();
  if (is_busy_) {
    return;
  }
  const SteadyTime now = loop_.clock().Now();
  if (const Begun* begun = MustFinish(); begun != nullptr && begun_due_ <= now) {
    return StartChange(*begun, true);
  }
  if (must_plan_) {
    must_plan_ = false;
    plan_again_ = false;
    return StartPlan(0);
  }
  const auto card = std::ranges::find_if(cards_, [&](const auto& entry) {
    return MayChange(entry.second, now) && entry.second.since + kInFlight <= now;
  });
  if (card != cards_.end()) {
    return StartChange({.gpu = card->first, .layout = goals_[card->second.goal].layout},
                       card->second.changes_mode);
  }
  ArmTimer();
}

void MigChanges::StartPlan(size_t goal) {
  while (goal < goals_.size() && goals_[goal].gpus.empty()) {
    states_[goal] = {.is_planned = true,
                     .failed =
                         "no GPU of this node has MIG and may change: kgpu config assign shows "
                         "which pool has which GPU"};
    ++goal;
  }
  if (goal == goals_.size()) {
    return FinishPlan();
  }
  is_busy_ = true;
  sources_.ask({.step = mig::Step::kPlan, .layout = goals_[goal].layout, .gpus = goals_[goal].gpus},
               kPlanDeadline,
               [this, goal, round = round_](const StatusOr<mig::HelperReply>& reply) {
                 is_busy_ = false;
                 if (round != round_) {
                   return Next();
                 }
                 OnPlan(goal, reply);
               });
}

void MigChanges::OnPlan(size_t goal, const StatusOr<mig::HelperReply>& reply) {
  GoalState& state = states_[goal];
  state = {.is_planned = true};
  if (!reply.ok()) {
    state.failed = Message(reply.status());
  } else if (reply->outcome == mig::Outcome::kDone || reply->outcome == mig::Outcome::kWaits) {
    state.plan = *reply;
  } else {
    (reply->outcome == mig::Outcome::kBusy ? state.pending : state.failed) = reply->reason;
  }
  StartPlan(goal + 1);
}

void MigChanges::AddCard(const std::string& gpu, Card card, std::map<std::string, Card>& cards) {
  const auto before = cards_.find(gpu);
  const SteadyTime now = loop_.clock().Now();
  if (before != cards_.end()) {
    card.failed = before->second.failed;
    card.not_before = before->second.not_before;
    card.pause = before->second.pause;
    card.is_withdrawn = before->second.is_withdrawn;
    card.since = before->second.since;
    card.changed_at = before->second.changed_at;
  }
  // Another program may bring the former layout back, at once or some time later.
  if (before != cards_.end() && before->second.is_past && card.changed_at > now - kLastPause) {
    card.changed_at = SteadyTime::min();
    Fail(card,
         "its layout is another one again: the GPU was reset, or another program has changed it "
         "back; if it happens again, stop that program");
  }
  if (card.waits.empty()) {
    const std::string borrower = sources_.borrower(gpu);
    card.waits = borrower.empty() ? "" : fmt::format("{} has borrowed it", borrower);
  }
  if (card.not_before > now && !card.failed.empty()) {
    card.is_withdrawn = false;
  } else if (!card.is_withdrawn) {
    card.is_withdrawn = true;
    card.since = now;
  }
  cards.insert_or_assign(gpu, std::move(card));
}

void MigChanges::TakePlan(size_t goal, std::map<std::string, Card>& cards) {
  const mig::HelperReply plan = std::exchange(states_[goal].plan, {});
  for (const mig::HelperReply::Change& change : plan.changes) {
    AddCard(change.gpu,
            {.goal = goal, .goal_name = goals_[goal].name, .changes_mode = change.changes_mode},
            cards);
  }
  for (const mig::HelperReply::Waiting& waiting : plan.waiting) {
    AddCard(waiting.gpu, {.goal = goal, .goal_name = goals_[goal].name, .waits = waiting.reason},
            cards);
  }
}

// Keeps the cards of GPUs whose goal cannot be planned now, and of those that were changed not long
// ago, even if they are as they should be.
void MigChanges::KeepPast(std::map<std::string, Card>& cards) {
  const SteadyTime now = loop_.clock().Now();
  for (const auto& [gpu, card] : cards_) {
    const GoalState* plan = PlanOf(gpu);
    if (plan == nullptr || !plan->failed.empty()) {
      continue;
    }
    const bool is_planned = plan->pending.empty();
    if (!is_planned || (card.is_past && card.changed_at > now - kLastPause)) {
      Card& kept = cards.emplace(gpu, card).first->second;
      kept.is_past = true;
      if (is_planned) {
        kept.failed.clear();
        kept.is_withdrawn = false;
      }
    }
  }
}

void MigChanges::FinishPlan() {
  const SteadyTime now = loop_.clock().Now();
  std::map<std::string, Card> cards;
  KeepPast(cards);
  bool is_open = false;  // something has to be planned again later
  bool is_pending = false;
  for (size_t goal = 0; goal < goals_.size(); ++goal) {
    TakePlan(goal, cards);
    is_open |= !states_[goal].failed.empty();
    is_pending |= !states_[goal].pending.empty();
  }
  const bool waits = Waits(cards);
  if (waits && !Waits(cards_)) {
    waiting_since_ = now;
    plan_pause_ = seconds(0);
  }
  cards_ = std::move(cards);
  std::erase_if(changed_, [this](const std::string& gpu) {
    const GoalState* plan = PlanOf(gpu);
    return plan == nullptr || plan->pending.empty();
  });
  SettleLeft();
  is_open |= is_pending || waits;
  plan_pause_ = !is_open              ? seconds(0)
                : waits || is_pending ? Longer(plan_pause_, kFirstWait, kLastWait)
                                      : Longer(plan_pause_, kFirstPause, kLastPause);
  plan_due_ = is_open ? now + plan_pause_ : SteadyTime::max();
  holders_ = Holders();
  must_plan_ |= std::exchange(plan_again_, false);
  Report();
  ShowMarks();
  Next();
}

// Withdrawn long enough or not.
bool MigChanges::MayChange(const Card& card, SteadyTime now) {
  return card.waits.empty() && card.not_before <= now && card.is_withdrawn && !card.is_past;
}

bool MigChanges::Waits(const std::map<std::string, Card>& cards) {
  return std::ranges::any_of(cards, [](const auto& entry) {
    return !entry.second.waits.empty() && !entry.second.is_past;
  });
}

// The state of the GPU's goal; null if it is in none.
const MigChanges::GoalState* MigChanges::PlanOf(const std::string& gpu) const {
  for (size_t goal = 0; goal < goals_.size(); ++goal) {
    if (std::ranges::find(goals_[goal].gpus, gpu) != goals_[goal].gpus.end()) {
      return &states_[goal];
    }
  }
  return nullptr;
}

void MigChanges::StartChange(Begun change, bool changes_mode) {
  is_busy_ = true;
  changing_ = change.gpu;
  changing_round_ = round_;
  // An earlier change that must be finished is in no plan, and needs its note more than this one.
  sources_.keep(MustFinish() != nullptr ? begun_ : change);
  if (!changes_mode) {
    return RunChange(change);
  }
  is_closed_ = true;
  close_timer_.Arm(kCloseDeadline, [this, change] {
    OnChange(change.gpu, Unavailable("kgpu-probe keeps the GPU open and does not end: reboot the "
                                     "host if this lasts"));
  });
  sources_.close([this, change = std::move(change)] {
    if (close_timer_.is_armed()) {
      close_timer_.Cancel();
      RunChange(change);
    }
  });
}

void MigChanges::RunChange(const Begun& change) {
  const mig::LayoutChoice& layout = change.layout;
  KGPU_LOG(kInfo, "changing MIG layout", {"gpu", change.gpu},
           {"to", layout.named.empty() ? layout.instances : layout.named});
  sources_.ask({.step = mig::Step::kChange, .layout = layout, .gpus = {change.gpu}},
               kChangeDeadline, [this, change](const StatusOr<mig::HelperReply>& reply) {
                 if (!reply.ok()) {
                   NoteKilled(change);
                 }
                 OnChange(change.gpu, reply);
               });
}

void MigChanges::OnChange(const std::string& gpu, const StatusOr<mig::HelperReply>& reply) {
  if (std::exchange(is_closed_, false)) {
    sources_.open();
  }
  NoteChange(gpu, reply);
  sources_.keep(begun_);
  // A driver that hangs answers nothing below.
  Report();
  // The next list for the kubelet must show the GPU's present devices.
  sources_.read([this] {
    sources_.forget(changing_);
    EndChange();
  });
}

void MigChanges::NoteChange(const std::string& gpu, const StatusOr<mig::HelperReply>& reply) {
  const auto card = cards_.find(gpu);
  // The result of a change for earlier goals says nothing about the present ones.
  const bool counts = card != cards_.end() && changing_round_ == round_;
  if (card != cards_.end() && !counts) {
    cards_.erase(card);
  }
  if (reply.ok() && reply->outcome == mig::Outcome::kDone) {
    KGPU_LOG(kInfo, "MIG layout changed", {"gpu", gpu});
    NoteBegun(gpu, false, "");
    if (counts) {
      changed_.push_back(gpu);
      card->second.is_past = true;
      card->second.is_withdrawn = false;
      card->second.changed_at = loop_.clock().Now();
    }
    return;
  }
  const bool waits = reply.ok() && (reply->outcome == mig::Outcome::kWaits ||
                                    reply->outcome == mig::Outcome::kBusy);
  std::string reason = reply.ok() ? reply->reason : std::string(Message(reply.status()));
  if (waits) {
    KGPU_LOG(kInfo, "MIG layout not changed yet", {"gpu", gpu}, {"reason", reason});
  } else {
    KGPU_LOG(kError, "MIG layout not changed", {"gpu", gpu}, {"problem", reason});
  }
  NoteBegun(gpu, waits || !reply.ok(), reason);
  if (!counts) {
    return;
  }
  if (!waits) {
    return Fail(card->second, std::move(reason));
  }
  card->second.pause = Longer(card->second.pause, kFirstWait, kLastWait);
  card->second.not_before = loop_.clock().Now() + card->second.pause;
}

void MigChanges::EndChange() {
  is_busy_ = false;
  changing_.clear();
  // To prove that all is as it should be, once no GPU is left to change now.
  const SteadyTime now = loop_.clock().Now();
  must_plan_ |= std::ranges::none_of(
      cards_, [now](const auto& entry) { return MayChange(entry.second, now); });
  Report();
  ShowMarks();
  Next();
}

void MigChanges::Fail(Card& card, std::string text) {
  card.failed = std::move(text);
  card.is_withdrawn = false;
  card.pause = std::max(kFirstPause, Longer(card.pause, kFirstPause, kLastPause));
  card.not_before = loop_.clock().Now() + card.pause;
}

std::string MigChanges::Holders() const {
  std::string holders;
  for (const auto& [gpu, card] : cards_) {
    if (!card.waits.empty() && !card.is_past) {
      holders += fmt::format("{}: {} {}\n", gpu, sources_.holders(gpu), sources_.borrower(gpu));
    }
  }
  return holders;
}

// The pause after `pause`, which is 0 before the first one.
seconds MigChanges::Longer(seconds pause, seconds first, seconds last) {
  return pause == seconds(0) ? first : std::min(pause * 2, last);
}

void MigChanges::ArmTimer() {
  const SteadyTime now = loop_.clock().Now();
  SteadyTime due = MustFinish() != nullptr ? std::min(plan_due_, begun_due_) : plan_due_;
  for (const auto& [gpu, card] : cards_) {
    if (card.is_past) {
      continue;
    }
    if (!card.waits.empty()) {
      due = std::min(due, now + (now - waiting_since_ < kPatience ? kLookSoon : kLookLater));
    } else if (card.not_before > now) {
      due = std::min(due, card.not_before);
    } else {
      due = std::min(due, card.since + kInFlight);
    }
  }
  if (due != SteadyTime::max()) {
    timer_.Arm(std::max(due - now, SteadyTime::duration(0)), [this] { OnTimer(); });
  }
}

void MigChanges::OnTimer() {
  const SteadyTime now = loop_.clock().Now();
  if (Waits(cards_)) {
    sources_.look_at_pods();
    if (std::string holders = Holders(); holders != holders_) {
      holders_ = std::move(holders);
      must_plan_ = true;
    }
  }
  // A failed GPU whose pause is over is withdrawn again by a plan.
  must_plan_ |= now >= plan_due_ || std::ranges::any_of(cards_, [now](const auto& entry) {
                  return !entry.second.is_past && !entry.second.is_withdrawn &&
                         entry.second.not_before <= now;
                });
  Next();
}

}  // namespace kgpu::layouts
