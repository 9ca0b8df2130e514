#include "src/cli/driver/driver_view.h"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <iterator>

#include <fmt/format.h>

#include "src/platform/doc/json_texts.h"

namespace kgpu::cli {
namespace {

namespace json = boost::json;

using doc::Texts;
using doc::View;
using driver_install::Journal;
using driver_install::Outcome;
using driver_install::Phase;
using driver_install::Result;
using driver_install::StepState;

std::string_view ToString(Result result) {
  switch (result) {
    case Result::kDone:
      return "installed";
    case Result::kNeedsReboot:
      return "needs-restart";
    case Result::kNeedsPerson:
      return "needs-person";
    case Result::kTakenBack:
      return "taken-back";
  }
  return "?";
}

void Lines(std::string& text, std::string_view mark, const std::vector<std::string>& lines) {
  for (const std::string& line : lines) {
    fmt::format_to(std::back_inserter(text), "{:<8}{}\n", mark, line);
  }
}

// The first step that is not done, or not undone; the number of steps if there is none.
size_t OpenStep(const Journal& journal) {
  for (size_t i = 0; i < journal.steps.size(); ++i) {
    const bool is_back = journal.phase == Phase::kGoingBack;
    const size_t index = is_back ? journal.steps.size() - 1 - i : i;
    const StepState state = journal.steps[index].state;
    const bool is_open = is_back ? state == StepState::kDone || state == StepState::kDoing ||
                                       state == StepState::kUndoing
                                 : state == StepState::kPending || state == StepState::kDoing;
    if (is_open) {
      return index;
    }
  }
  return journal.steps.size();
}

std::string WhereItIs(const Journal& journal) {
  const size_t step = OpenStep(journal);
  std::string text;
  if (step < journal.steps.size()) {
    text = fmt::format("step {} of {}, {}: {}", step + 1, journal.steps.size(),
                       journal.plan.steps[step].id,
                       driver_install::ToString(journal.steps[step].state));
  }
  return text;
}

// Last, as it may end with lines of a program.
std::string FailureText(const Journal& journal) {
  return journal.failure.empty() ? "" : fmt::format("; it failed: {}", journal.failure);
}

}  // namespace

std::string OutcomeText(const Outcome& outcome, std::string_view version) {
  std::string text;
  Lines(text, "ok", outcome.passed);
  const auto put = std::back_inserter(text);
  switch (outcome.result) {
    case Result::kDone:
      fmt::format_to(put, "driver {} is installed\n", version);
      break;
    case Result::kNeedsReboot:
      fmt::format_to(put,
                     "not complete yet: {}\n"
                     "{}\n",
                     outcome.text,
                     outcome.resumes_itself ? "kgpu resumes automatically after that."
                                            : "Then run: kgpu driver install");
      break;
    case Result::kNeedsPerson:
      fmt::format_to(put,
                     "not complete yet: {}\n"
                     "{}\n",
                     outcome.text,
                     outcome.resumes_itself
                         ? "After that, kgpu resumes automatically when the host reboots."
                         : "Then run: kgpu driver install");
      break;
    case Result::kTakenBack:
      fmt::format_to(
          put, "the installation of driver {} was undone: {}{}\n", version,
          outcome.lacks ? "not everything could be restored" : "the host is as it was before",
          outcome.back_to.empty()
              ? ""
              : fmt::format(", with driver {}, installed by kgpu", outcome.back_to));
      break;
  }
  return text;
}

json::object OutcomeJson(const Outcome& outcome, std::string_view version) {
  return {{"result", View(ToString(outcome.result))},
          {"version", View(version)},
          {"text", View(outcome.text)},
          {"resumesItself", outcome.resumes_itself},
          {"lacks", outcome.lacks},
          {"backTo", View(outcome.back_to)},
          {"passed", Texts(outcome.passed)},
          {"notes", Texts(outcome.notes)}};
}

std::string JournalText(const Journal& journal) {
  switch (journal.phase) {
    case Phase::kInstalled:
      return fmt::format("driver {}, installed by kgpu{}{}; {}", journal.plan.version,
                         journal.failure.empty() ? "" : ", but ", journal.failure,
                         journal.former
                             ? fmt::format("kgpu driver rollback installs driver {} again, which "
                                           "it replaced; kgpu driver remove removes it",
                                           journal.former->plan.version)
                             : "kgpu driver remove undoes it");
    case Phase::kInstalling:
      return fmt::format(
          "driver {} is unfinished: {}; kgpu driver install resumes it, kgpu driver rollback "
          "undoes it{}",
          journal.plan.version, WhereItIs(journal), FailureText(journal));
    case Phase::kGoingBack:
      return fmt::format(
          "the removal of driver {} is unfinished: {}; kgpu driver rollback resumes it{}",
          journal.plan.version, WhereItIs(journal), FailureText(journal));
    case Phase::kRemoved:
      return fmt::format(
          "driver {} was removed for another one, which is not installed; kgpu driver rollback "
          "installs it again, kgpu driver remove forgets it",
          journal.plan.version);
  }
  return "";
}

json::object JournalJson(const Journal& journal) {
  const size_t step = OpenStep(journal);
  const bool has_replaced = journal.former && journal.phase != Phase::kGoingBack;
  json::object object = {
      {"phase", View(driver_install::ToString(journal.phase))},
      {"version", View(journal.plan.version)},
      {"kernel", View(journal.plan.kernel)},
      {"began", journal.began},
      {"failure", View(journal.failure)},
      {"replaced", has_replaced ? json::value(View(journal.former->plan.version)) : json::value()},
      {"steps", journal.steps.size()},
      {"step", nullptr}};
  if (step < journal.steps.size()) {
    object["step"] = View(journal.plan.steps[step].id);
  }
  return object;
}

std::string VerifiedText(const driver::Verified& seen) {
  std::string text;
  Lines(text, "ok", seen.passed);
  Lines(text, "warn", seen.warned);
  Lines(text, "skipped", seen.skipped);
  Lines(text, "FAILED", seen.failed);
  return text;
}

json::object VerifiedJson(const driver::Verified& seen) {
  return {{"passed", Texts(seen.passed)},
          {"warned", Texts(seen.warned)},
          {"skipped", Texts(seen.skipped)},
          {"failed", Texts(seen.failed)}};
}

}  // namespace kgpu::cli
