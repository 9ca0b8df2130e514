// One step of a plan while it is worked on: what the actions have in common.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "src/platform/base/status.h"
#include "src/setup/driver/plan.h"
#include "src/setup/driver_install/carry_out.h"
#include "src/setup/driver_install/journal.h"

namespace kgpu::driver_install {

// Refers to what the run owns; made again for each step.
class Work {
 public:
  Work(const Dependencies& deps, const Options& options, Journal& journal, size_t index,
       Outcome& outcome)
      : deps_(deps), options_(options), journal_(journal), index_(index), outcome_(outcome) {}

  const Dependencies& deps() const { return deps_; }
  const Options& options() const { return options_; }
  const sys::Root& host() const { return deps_.host; }
  const Journal& journal() const { return journal_; }
  size_t index() const { return index_; }
  const driver::Step& step() const { return journal_.plan.steps[index_]; }
  StepRecord& record() { return journal_.steps[index_]; }
  Outcome& outcome() { return outcome_; }
  void Note(std::string text) { outcome_.notes.push_back(std::move(text)); }
  // Something that was here before is not brought back.
  void NoteLost(std::string text) {
    outcome_.lacks = true;
    Note(std::move(text));
  }

  // Runs a program below the host's root, and tells its lines. Errors: FailedPrecondition (it ended
  // badly: with the last lines it printed, and those of DKMS's log where they name it), and of the
  // runner.
  Status Run(const driver::Command& command);
  // A program of the folders where distributions put them. Errors: FailedPrecondition (it is not
  // there).
  Status RunTool(std::string_view tool, const std::vector<std::string>& arguments);
  // Whether it ended well, for questions. Errors: as RunTool, but a bad end is an answer.
  StatusOr<bool> AskTool(std::string_view tool, const std::vector<std::string>& arguments);
  // What it prints; empty: it is not there, or ended badly.
  std::string AnswerOfTool(std::string_view tool, const std::vector<std::string>& arguments);

 private:
  StatusOr<std::string> FindTool(std::string_view tool) const;
  StatusOr<sys::RunResult> ResultOfTool(std::string_view tool,
                                        const std::vector<std::string>& arguments);

  const Dependencies& deps_;
  const Options& options_;
  Journal& journal_;
  size_t index_;
  Outcome& outcome_;
};

}  // namespace kgpu::driver_install
