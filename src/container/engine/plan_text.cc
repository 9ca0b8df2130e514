// How a plan prints.
#include <iterator>

#include "src/container/engine/diff.h"
#include "src/container/engine/plan.h"
#include "src/platform/base/strings.h"

namespace kgpu::engine {
namespace {

std::string_view VerbOf(const FileStep& file) {
  if (!file.before) {
    return "write";
  }
  return file.after ? "change" : "remove";
}

std::string StepsOf(const Plan& plan) {
  std::string out;
  for (const FileStep& file : plan.files) {
    out += file.source.empty() ? fmt::format("{} {}\n", VerbOf(file), file.path)
                               : fmt::format("copy {} to {}\n", file.source, file.path);
  }
  for (const change::LinkStep& link : plan.links) {
    out += link.is_removal ? fmt::format("remove the link {}\n", link.path)
                           : fmt::format("link {} to {}\n", link.path, link.target);
  }
  return out;
}

bool IsProgram(const std::optional<std::string>& bytes) {
  return bytes && bytes->find('\0') != std::string::npos;
}

}  // namespace

std::string DiffOf(const FileStep& file) {
  std::string_view why;
  if (!file.source.empty() || IsProgram(file.before) || IsProgram(file.after)) {
    why = "a program";
  } else if (file.mode == 0600 &&
             !file.kind) {  // a proxy's password is not for a terminal or a log
    why = "readable only by root";
  } else {
    return UnifiedDiff(file.path, file.before, file.after);
  }
  return fmt::format("--- {}\n+++ {}\n(not shown: {})\n", file.before ? file.path : "/dev/null",
                     file.after || !file.source.empty() ? file.path : "/dev/null", why);
}

std::string Print(const Plan& plan) {
  std::string out;
  const std::string name = plan.engine ? plan.engine->Name() : plan.id;
  fmt::format_to(std::back_inserter(out), "# {}: {}\n", name, plan.way);
  if (!plan.HasSteps() && plan.reach == Reach::kNothing) {
    out += "# no changes\n";
  }
  for (const FileStep& file : plan.files) {
    out += DiffOf(file);
  }
  std::string steps = StepsOf(plan);
  if (plan.has_unit_change) {
    steps += "systemctl daemon-reload\n";
  }
  if (plan.reach != Reach::kNothing) {
    fmt::format_to(std::back_inserter(steps), "{} {} ({})\n", ToString(plan.reach), name,
                   plan.reach_reason);
  }
  for (const std::string_view step : Split(steps, '\n')) {
    if (!step.empty()) {
      fmt::format_to(std::back_inserter(out), "# step: {}\n", step);
    }
  }
  for (const std::string& note : plan.notes) {
    fmt::format_to(std::back_inserter(out), "# note: {}\n", note);
  }
  return out;
}

}  // namespace kgpu::engine
