// Brings GPUs to the requested MIG layouts: plans, withdraws them from the kubelet, waits for their
// users, and changes one after the other. A helper process plans and changes.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "src/node/layouts/helper_run.h"
#include "src/node/layouts/mig_goals.h"
#include "src/node/mig/helper.h"
#include "src/node/pools/assignment.h"
#include "src/platform/base/event_loop.h"
#include "src/platform/base/status.h"
#include "src/platform/base/timer.h"

namespace kgpu::layouts {

enum class MigState : uint8_t {
  kUnknown,  // not planned yet
  kPending,  // GPUs change, or wait for their users
  kSuccess,
  kFailed,
};

// "pending", "success", "failed": values of kMigStateLabel; empty for kUnknown.
std::string_view ToString(MigState state);

struct MigGoalReport {
  std::string goal{};  // MigGoal::name
  bool is_label = false;
  MigState state = MigState::kUnknown;
  std::string text{};  // what it waits for, or why it failed; with the GPU
  bool operator==(const MigGoalReport&) const = default;
};

// Lives on the loop's thread. Tries again after a failure, in steps of up to ten minutes; while
// GPUs wait for their users, it looks as often as DeviceChanges does.
class MigChanges {
 public:
  // A change that was begun, which a restart finishes.
  struct Begun {
    std::string gpu{};
    mig::LayoutChoice layout{};
    bool operator==(const Begun&) const = default;
  };
  using Done = HelperDone;
  struct Sources {
    // Asks the helper, one request at a time; the host is filled in.
    std::function<void(mig::HelperRequest request, std::chrono::seconds deadline, Done done)> ask;
    // Closes all GPUs in this process's probe, and calls `closed`; `open` ends that.
    std::function<void(std::function<void()> closed)> close;
    std::function<void()> open;
    // Reads the GPUs, then calls `done`.
    std::function<void(std::function<void()> done)> read;
    // The former devices of the GPU need not be shown any longer.
    std::function<void(const std::string& gpu)> forget;
    // Who has borrowed the GPU from the agent; empty: nobody.
    std::function<std::string(const std::string& gpu)> borrower;
    // The pods on the GPU or its MIG devices, as a text to compare.
    std::function<std::string(const std::string& gpu)> holders;
    std::function<void()> look_at_pods;
    // Saves the change that was begun; nullopt: none is left.
    std::function<void(const std::optional<Begun>& begun)> keep;
    // The report of a goal has changed.
    std::function<void(const MigGoalReport& before, const MigGoalReport& now)> report;
    // reports() or what Mark() does has changed.
    std::function<void()> changed;
  };

  // What an earlier process left.
  struct Left {
    std::optional<Begun> begun{};
    // The GPUs that it had withdrawn: they stay so until a plan covers them.
    std::vector<std::string> withdrawn{};
  };
  struct Limits {
    bool may_change = true;   // false: withdrawing GPUs has no effect now
    bool is_complete = true;  // no other goals will follow
  };

  // `loop` must outlive it.
  MigChanges(EventLoop& loop, Sources sources, Left left);
  ~MigChanges() = default;
  MigChanges(const MigChanges&) = delete;
  MigChanges& operator=(const MigChanges&) = delete;

  // The requested layouts. Call it only while the driver answers. True: something is new, and all
  // goals are planned.
  bool SetGoals(std::vector<MigGoal> goals, Limits limits);
  // No other goals will follow.
  void SetComplete();
  // Layouts have changed, perhaps by another program: plans again after the present step. A change
  // of its own ends with a plan anyway.
  void PlanAgain();
  // The named layouts have changed: plans again, and does not take a difference for a layout that
  // another program has changed back.
  void NamesChanged();
  // Marks the slots of withdrawn GPUs as unhealthy, and says why GPUs are not assigned.
  void Mark(pools::Assignment& assignment) const;
  const std::vector<MigGoalReport>& reports() const { return reports_; }

 private:
  // A GPU that does not have its layout.
  struct Card {
    size_t goal = 0;  // SIZE_MAX: of earlier goals
    std::string goal_name{};
    SteadyTime since{};  // withdrawn
    bool is_withdrawn = false;
    bool changes_mode = false;
    // No action is left for now: it was changed, or its goal could not be planned. An earlier
    // failure counts if a plan lists the GPU again.
    bool is_past = false;
    SteadyTime changed_at = SteadyTime::min();
    std::string waits{};            // for what; empty: it may change
    std::string failed{};           // why the last change failed
    SteadyTime not_before{};        // of the next try
    std::chrono::seconds pause{0};  // before the next try
  };
  struct GoalState {
    bool is_planned = false;
    mig::HelperReply plan{};
    std::string pending{};  // why it cannot be planned now
    std::string failed{};   // why it cannot be reached
  };

  void Next();
  void StartPlan(size_t goal);
  void OnPlan(size_t goal, const StatusOr<mig::HelperReply>& reply);
  void FinishPlan();
  void KeepPast(std::map<std::string, Card>& cards);
  void SettleLeft();
  void TakePlan(size_t goal, std::map<std::string, Card>& cards);
  void AddCard(const std::string& gpu, Card card, std::map<std::string, Card>& cards);
  static bool MayChange(const Card& card, SteadyTime now);
  static bool Waits(const std::map<std::string, Card>& cards);
  const GoalState* PlanOf(const std::string& gpu) const;
  const Begun* MustFinish() const;
  static std::chrono::seconds Longer(std::chrono::seconds pause, std::chrono::seconds first,
                                     std::chrono::seconds last);
  void StartChange(Begun change, bool changes_mode);
  void RunChange(const Begun& change);
  void OnChange(const std::string& gpu, const StatusOr<mig::HelperReply>& reply);
  void NoteChange(const std::string& gpu, const StatusOr<mig::HelperReply>& reply);
  void NoteKilled(const Begun& change);
  void NoteBegun(const std::string& gpu, bool waits, const std::string& reason);
  void EndChange();
  void Fail(Card& card, std::string text);
  void ArmTimer();
  void OnTimer();
  std::string Holders() const;
  bool IsUnproven(size_t goal) const;
  struct Lines {
    std::vector<std::string> pending{};
    std::vector<std::string> failed{};
  };
  Lines LinesOf(size_t goal) const;
  MigGoalReport ReportOf(size_t goal) const;
  void Report();
  void ShowMarks();

  EventLoop& loop_;
  const Sources sources_;
  std::vector<MigGoal> goals_;
  std::vector<GoalState> states_;  // of goals_
  std::map<std::string, Card> cards_;
  std::map<std::string, std::string> marks_;  // what Mark() says of each GPU, as shown
  std::vector<MigGoalReport> reports_;
  std::optional<Begun> begun_;        // and not ended
  std::string begun_waits_;           // why it cannot be finished now
  int64_t begun_tries_ = 0;           // that could not finish it
  SteadyTime begun_due_{};            // of the next try
  std::vector<std::string> left_;     // GPUs that an earlier process had withdrawn
  std::vector<std::string> changed_;  // GPUs, since the last plan
  std::string changing_;              // the GPU that is being changed; empty: none
  std::string holders_;               // at the last look
  uint64_t changing_round_ = 0;
  uint64_t round_ = 0;  // of goals: an answer for earlier ones does not count
  Limits limits_;
  bool has_goals_ = false;  // SetGoals was called
  bool must_plan_ = false;
  bool plan_again_ = false;  // once the plan that runs has ended
  bool is_busy_ = false;     // the helper runs, or GPUs are being closed or read
  bool is_closed_ = false;
  SteadyTime waiting_since_{};
  SteadyTime plan_due_ = SteadyTime::max();
  std::chrono::seconds plan_pause_{0};
  Timer timer_;
  Timer close_timer_;
};

}  // namespace kgpu::layouts
