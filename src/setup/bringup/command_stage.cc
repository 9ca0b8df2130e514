#include "src/setup/bringup/command_stage.h"

#include <fmt/ranges.h>

#include <chrono>
#include <utility>

#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"
#include "src/platform/commands/exit_code.h"

namespace kgpu::bringup {
namespace {

// Modules are compiled and packages fetched within.
constexpr std::chrono::hours kDeadline{3};
constexpr int kFailures = static_cast<int>(commands::ExitCode::kUnhealthy);
constexpr int kHidden = static_cast<int>(commands::ExitCode::kPrecondition);
constexpr int kWarned = static_cast<int>(commands::ExitCode::kWarned);

// Before what a command waits for, as cli::OutcomeText prints it.
constexpr std::string_view kWaitsMark = "not complete yet:";

std::string_view FirstLine(std::string_view text) {
  text = Trim(text);
  return text.substr(0, text.find('\n'));
}

// The text after `mark` in the lines that begin with it, joined into one line.
std::string Marked(std::string_view text, std::string_view mark) {
  std::vector<std::string> found;
  for (const std::string_view line : Split(text, '\n')) {
    if (!mark.empty() && line.starts_with(mark)) {
      found.push_back(Printable(Trim(line.substr(mark.size()))));
    }
  }
  return Join(found, "; ");
}

// The first line that has `part` in it, its words one space apart; empty: none has, or nothing is
// looked for.
std::string LineWith(std::string_view text, std::string_view part) {
  for (const std::string_view line : Split(text, '\n')) {
    if (!part.empty() && line.find(part) != std::string_view::npos) {
      return Printable(fmt::format("{}", fmt::join(kgpu::Words(line), " ")));
    }
  }
  return "";
}

// The errors of report::FindingsText with their fixes, in one line; empty: none.
std::string Refusals(std::string_view text) {
  constexpr std::string_view kError = "error ";
  std::vector<std::string> found;
  bool is_refusal = false;
  for (std::string_view line : Split(text, '\n')) {
    if (!line.starts_with(' ')) {
      is_refusal = line.starts_with(kError);
      line.remove_prefix(is_refusal ? kError.size() : 0);
    }
    line = Trim(line);
    if (is_refusal) {
      found.push_back(Printable(line.substr(line.starts_with("# ") ? 2 : 0)));
    }
  }
  return Join(found, "; ");
}

std::string WhyOf(const sys::RunResult& result) {
  std::string refusals = Refusals(result.err);
  return refusals.empty() ? sys::Describe(result) : refusals;
}

bool IsFine(const sys::RunResult& result) {
  return result.IsSuccess() || result.exit.code == kWarned;
}

class ByCommands final : public Stage {
 public:
  ByCommands(CommandStage stage, const Commands& commands)
      : stage_(std::move(stage)), commands_(commands) {}

  std::string_view id() const override { return stage_.id; }
  std::string_view title() const override { return stage_.title; }
  bool LeavesTraces() const override { return !stage_.undo.empty(); }
  bool HasTraces() const override { return stage_.has_traces(); }
  StatusOr<Levels> LevelsThere() const override { return stage_.levels(); }
  Look LookAt() override;
  StatusOr<std::string> Preview() override { return Reported(stage_.preview, 0); }
  StatusOr<std::string> PreviewUndo() override {
    return Reported(stage_.preview_undo, stage_.nothing);
  }
  StatusOr<Outcome> Do() override;
  StatusOr<Outcome> Undo() override { return Act(stage_.undo, stage_.nothing); }

 private:
  StatusOr<std::string> Reported(const Words& words, int well) const;
  StatusOr<Outcome> Act(const Words& words, int well) const;
  std::string CommandOf(const Words& words) const { return "kgpu " + Join(words, " "); }

  CommandStage stage_;
  const Commands& commands_;
};

Look ByCommands::LookAt() {
  if (stage_.look.empty()) {
    return {Condition::kNeeded, ""};
  }
  const auto result = commands_.Run(stage_.look, false);
  if (!result.ok()) {
    return {Condition::kBlocked, std::string(Message(result.status()))};
  }
  if (IsFine(*result)) {
    const std::string obstacle = LineWith(result->out, stage_.obstacle);
    return obstacle.empty()
               ? Look{Condition::kReady, ""}
               : Look{Condition::kBlocked, fmt::format("{}; {}", obstacle, stage_.way_past)};
  }
  if (result->exit.code == kHidden && !stage_.when_hidden.empty()) {
    return {Condition::kBlocked, stage_.when_hidden};
  }
  if (result->exit.code != kFailures) {
    return {Condition::kBlocked,
            fmt::format("{}: {}", CommandOf(stage_.look), sys::Describe(*result))};
  }
  if (!stage_.is_look_final) {
    return {Condition::kNeeded, Marked(result->out, stage_.reason)};
  }
  // Its first line is the first of what was found.
  const std::vector<std::string_view> words = kgpu::Words(FirstLine(result->out));
  return {Condition::kBlocked, fmt::format("{}; run kgpu doctor to see the fix",
                                           Printable(fmt::format("{}", fmt::join(words, " "))))};
}

StatusOr<std::string> ByCommands::Reported(const Words& words, int well) const {
  if (words.empty()) {
    return std::string();
  }
  ASSIGN_OR_RETURN(const sys::RunResult result, commands_.Run(words, false));
  if (!IsFine(result) && (well == 0 || result.exit.code != well)) {
    return FailedPrecondition("{}: {}", CommandOf(words), WhyOf(result));
  }
  return result.out + result.err;
}

StatusOr<Outcome> ByCommands::Do() {
  ASSIGN_OR_RETURN(Outcome outcome, Act(stage_.act, 0));
  if (!stage_.is_proven || outcome.ending != Ending::kDone) {
    return outcome;
  }
  if (const Look look = LookAt(); look.condition != Condition::kReady) {
    return FailedPrecondition("{}: succeeded, but {} still reports a problem{}{}",
                              CommandOf(stage_.act), CommandOf(stage_.look),
                              look.text.empty() ? "" : ": ", look.text);
  }
  return outcome;
}

// `well`: a second exit code that means success.
StatusOr<Outcome> ByCommands::Act(const Words& words, int well) const {
  if (words.empty()) {
    return Outcome{};
  }
  ASSIGN_OR_RETURN(const sys::RunResult result, commands_.Run(words, true));
  if (result.IsSuccess() || (well != 0 && result.exit.code == well)) {
    return Outcome{};
  }
  if (stage_.waits != 0 && result.exit.code == stage_.waits) {
    std::string waits_for = Marked(result.out, kWaitsMark);
    return Outcome{Ending::kWaits, waits_for.empty() ? sys::Describe(result) : waits_for};
  }
  return FailedPrecondition("{}: {}", CommandOf(words), WhyOf(result));
}

}  // namespace

StatusOr<sys::RunResult> Commands::Run(const std::vector<std::string>& words, bool is_shown) const {
  sys::RunRequest request;
  request.argv = {program};
  request.argv.insert(request.argv.end(), words.begin(), words.end());
  request.environment = environment;
  request.deadline = kDeadline;
  if (is_shown) {
    request.on_line = on_line;
  }
  return runner.Run(request);
}

std::unique_ptr<Stage> MakeStage(CommandStage stage, const Commands& commands) {
  return std::make_unique<ByCommands>(std::move(stage), commands);
}

}  // namespace kgpu::bringup
