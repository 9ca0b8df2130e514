// One step of a plan in progress: shared by all actions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "src/platform/base/status.h"
#include "src/setup/driver/plan.h"
#include "src/setup/driver_install/carry_out.h"
#include "src/setup/driver_install/journal.h"

namespace kgpu::driver_install {

// Refers to objects of the run; created for each step.
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
  // Records something from before that is not restored.
  void NoteLost(std::string text) {
    outcome_.lacks = true;
    Note(std::move(text));
  }

  // Runs a program below the host's root, and passes on its output. Errors: FailedPrecondition (it
  // failed: with the last lines of its output, and of DKMS's log if they name it), and those of the
  // runner.
  Status Run(const driver::Command& command);
  // Runs a program from the folders where distributions put them. Errors: FailedPrecondition (it is
  // not there).
  Status RunTool(std::string_view tool, const std::vector<std::string>& arguments);
  // Whether it succeeded, for queries. Errors: as RunTool, except that failure is an answer.
  StatusOr<bool> AskTool(std::string_view tool, const std::vector<std::string>& arguments);
  // Its output; empty: it is not there, or failed.
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
