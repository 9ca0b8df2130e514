// What MigChanges says of its goals and GPUs.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "src/node/layouts/mig_changes.h"
#include "src/platform/base/strings.h"

namespace kgpu::layouts {

std::string_view ToString(MigState state) {
  constexpr std::array<std::string_view, 4> kWords = {"", "pending", "success", "failed"};
  return kWords.at(static_cast<size_t>(state));
}

// Whether a GPU of the goal was changed, and no plan has said yet that it is as it should be.
bool MigChanges::IsUnproven(size_t goal) const {
  return std::ranges::any_of(goals_[goal].gpus, [&](const std::string& gpu) {
    return std::ranges::find(changed_, gpu) != changed_.end();
  });
}

// What each GPU of the goal waits for, or why it failed.
MigChanges::Lines MigChanges::LinesOf(size_t goal) const {
  Lines lines;
  for (const auto& [gpu, card] : cards_) {
    const bool has_failed = !card.failed.empty();
    if (card.goal != goal || (card.is_past && !has_failed)) {
      continue;
    }
    const std::string& text = has_failed ? card.failed : card.waits;
    std::string& line = (has_failed ? lines.failed : lines.pending).emplace_back(text);
    if (text.empty()) {
      line = fmt::format("{} changes", gpu);
    } else if (!text.starts_with("GPU ")) {
      line = fmt::format("{}: {}", gpu, text);
    }
  }
  return lines;
}

MigGoalReport MigChanges::ReportOf(size_t goal) const {
  const GoalState& state = states_[goal];
  MigGoalReport report{.goal = goals_[goal].name, .is_label = goals_[goal].is_label};
  Lines lines = LinesOf(goal);
  if (!state.failed.empty()) {
    lines.failed = {state.failed};
  }
  if (!state.pending.empty()) {
    lines.pending = {state.pending};
  }
  if (!lines.failed.empty()) {
    report.state = MigState::kFailed;
    report.text = Join(lines.failed, "; ");
  } else if (!lines.pending.empty()) {
    report.state = MigState::kPending;
    report.text = Join(lines.pending, "; ");
  } else if (state.is_planned) {
    report.state = IsUnproven(goal) ? MigState::kPending : MigState::kSuccess;
  } else {
    report.state = goals_[goal].is_new ? MigState::kPending : MigState::kUnknown;
    if (const Begun* begun = MustFinish(); begun != nullptr && goals_[goal].is_new) {
      report.text = fmt::format("{}: an interrupted change is finished first{}{}", begun->gpu,
                                begun_waits_.empty() ? "" : ": ", begun_waits_);
    }
  }
  return report;
}

void MigChanges::Report() {
  const std::vector<MigGoalReport> before = std::exchange(reports_, {});
  for (size_t goal = 0; goal < goals_.size(); ++goal) {
    reports_.push_back(ReportOf(goal));
  }
  for (const MigGoalReport& now : reports_) {
    const auto same = std::ranges::find(before, now.goal, &MigGoalReport::goal);
    const MigGoalReport old = same == before.end() ? MigGoalReport{.goal = now.goal} : *same;
    if (old != now) {
      sources_.report(old, now);
    }
  }
  if (before != reports_) {
    sources_.changed();
  }
}

void MigChanges::ShowMarks() {
  std::map<std::string, std::string> marks;
  for (const auto& [gpu, card] : cards_) {
    const std::string& goal = card.goal_name;
    if (card.is_withdrawn) {
      marks[gpu] = card.waits.empty()
                       ? fmt::format("its MIG layout changes ({})", goal)
                       : fmt::format("its MIG layout changes ({}) once nobody uses it: {}", goal,
                                     card.waits);
    }
  }
  if (begun_) {
    marks.emplace(
        begun_->gpu,
        fmt::format("a change of its MIG layout was interrupted, and is finished first{}{}",
                    begun_waits_.empty() ? "" : ": ", begun_waits_));
  }
  for (const std::string& gpu : left_) {
    marks.emplace(gpu, "its MIG layout was to change before the agent's restart");
  }
  if (marks != marks_) {
    marks_ = std::move(marks);
    if (has_goals_) {
      sources_.changed();
    }
  }
}

void MigChanges::Mark(pools::Assignment& assignment) const {
  for (auto* resources : {&assignment.resources, &assignment.local}) {
    for (pools::Resource& resource : *resources) {
      for (pools::Slot& slot : resource.slots) {
        if (const auto mark = marks_.find(slot.gpu.str()); mark != marks_.end()) {
          slot.health = {.is_healthy = false,
                         .reason = std::string(pools::kMigChangeReason),
                         .message = mark->second};
        }
      }
    }
  }
  for (pools::Unassigned& device : assignment.unassigned) {
    if (const auto mark = marks_.find(device.gpu.str()); mark != marks_.end()) {
      device.reason = mark->second;
      device.is_changing = true;
    } else if (const auto card = cards_.find(device.gpu.str());
               card != cards_.end() && !card->second.failed.empty()) {
      device.reason += fmt::format(": {}", card->second.failed);
    }
  }
}

}  // namespace kgpu::layouts
