#include "src/setup/driver/preflight_ask.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <utility>

#include <fmt/format.h>

#include "src/host/packages/calls.h"
#include "src/platform/base/strings.h"

namespace kgpu::driver {
namespace {

constexpr size_t kReasonLimit = 300;
constexpr std::chrono::seconds kAskDeadline{300};

// Where several versions or architectures stand beside each other, a plan's name has its own.
std::string SpecOf(std::string name, std::string version, char between) {
  if (between == '-') {  // dnf's: name-version.architecture, of any epoch
    version.erase(0, version.find(':') + 1);
    if (const size_t colon = name.rfind(':'); colon != std::string::npos) {
      version += fmt::format(".{}", name.substr(colon + 1));
      name.resize(colon);
    }
  }
  const std::string end = fmt::format("-{}", version.substr(version.find(':') + 1));
  if (name.ends_with(end)) {
    name.resize(name.size() - end.size());
  }
  return fmt::format("{}{}{}", name, between, version);
}

}  // namespace

sys::RunRequest QuestionOf(std::vector<std::string> argv, const sys::Root& host) {
  sys::RunRequest request;
  request.argv = std::move(argv);
  request.environment.emplace_back("DEBIAN_FRONTEND=noninteractive");
  request.root = host.path();
  request.deadline = kAskDeadline;
  return request;
}

std::string Try(std::vector<std::string> argv, const sys::Root& host, sys::ProgramRunner& runner,
                std::vector<Finding>& findings) {
  const std::string name = Join(argv, " ");
  const bool is_zypper = argv[0].ends_with("/zypper");
  const StatusOr<sys::RunResult> result = runner.Run(QuestionOf(std::move(argv), host));
  if (!result.ok()) {
    findings.push_back({.id = "package-manager",
                        .is_blocker = false,
                        .text = fmt::format("{}: {}", name, Message(result.status())),
                        .mend = "run it by hand and see"});
    return {};
  }
  if (result->IsSuccess() || (is_zypper && packages::IsZypperContent(*result))) {
    return {};
  }
  const std::string reason = ReasonOf(fmt::format("{}\n{}", result->out, result->err));
  return reason.empty() ? sys::Describe(*result) : reason;
}

std::vector<std::string> KeptPackages(const HostFacts& facts, const Plan& plan, char between) {
  std::vector<std::string> specs;
  for (const Step& step : plan.steps) {
    const auto* removal = std::get_if<RemovePackages>(&step.deed);
    if (removal == nullptr || !removal->is_kept) {
      continue;
    }
    for (const std::string& name : removal->names) {
      if (const auto found = facts.packages.find(name); found != facts.packages.end()) {
        specs.push_back(SpecOf(name, found->second.version, between));
      }
    }
  }
  return specs;
}

void NoteNotKept(const std::string& reason, std::vector<Finding>& findings) {
  findings.push_back(
      {.id = "way-back",
       .text = fmt::format("packages of the driver that is here are not to be had any more, and "
                           "could not come back if this fails: {}",
                           reason),
       .mend = "add the source that has them, or give that driver up with --no-way-back"});
}

void CheckKept(std::vector<std::string> argv, const std::vector<std::string>& specs,
               const sys::Root& host, sys::ProgramRunner& runner, std::vector<Finding>& findings) {
  if (specs.empty()) {
    return;
  }
  argv.insert(argv.end(), specs.begin(), specs.end());
  if (const std::string reason = Try(std::move(argv), host, runner, findings); !reason.empty()) {
    NoteNotKept(reason, findings);
  }
}

void NoteUnresolved(const std::string& what, std::string reason, std::vector<Finding>& findings) {
  if (!reason.empty()) {
    findings.push_back({.id = "packages",
                        .text = fmt::format("{} can not be installed: {}", what, reason),
                        .mend = "another --source, --version or --module may have what can be "
                                "installed"});
  }
}

std::string ReasonOf(std::string_view output) {
  // Words at the beginning of what each of them says of the matter.
  constexpr std::array<std::string_view, 11> kTells = {"Depends:",
                                                       "E: Version",
                                                       "E: Can't find",
                                                       "E: Unable to locate",
                                                       "E: Package",
                                                       "E: Failed to fetch",
                                                       "Error: ",
                                                       "Problem",
                                                       "nothing provides",
                                                       "No match for argument",
                                                       "not found in package names"};
  std::vector<std::string> reasons;
  for (const std::string_view line : Split(output, '\n')) {
    const bool tells = std::ranges::any_of(kTells, [line](std::string_view word) {
      return line.find(word) != std::string_view::npos;
    });
    if (tells && reasons.size() < 3) {
      reasons.push_back(Join({std::string(Trim(line))}, ""));
    }
  }
  return Printable(Join(reasons, "; "), kReasonLimit);
}

}  // namespace kgpu::driver
