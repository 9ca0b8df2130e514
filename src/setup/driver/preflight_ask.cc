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

constexpr size_t kMostReasons = 12;
constexpr size_t kReasonLimit = 4096;
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

StatusOr<sys::RunResult> Ask(const Asking& asking, std::vector<std::string> argv) {
  sys::RunRequest request = sys::RequestOf(asking.host, std::move(argv), kAskDeadline);
  request.environment.emplace_back("DEBIAN_FRONTEND=noninteractive");
  request.leads_session = true;  // ended with us: it may write into a folder that is removed then
  return asking.runner.Run(request);
}

std::string Try(const std::vector<std::string>& argv, Asking& asking, std::string* printed) {
  StatusOr<sys::RunResult> result = Ask(asking, argv);
  if (!result.ok()) {
    asking.findings.push_back(
        {.id = "package-manager",
         .severity = report::Severity::kWarning,
         .message = fmt::format("{}: {}", Join(argv, " "), Message(result.status())),
         .fix = {.commands = {"# run it manually to see why"}}});
    return {};
  }
  const bool is_zypper = argv[0].ends_with("/zypper");
  if (result->IsSuccess() || (is_zypper && packages::IsZypperContent(*result))) {
    if (printed != nullptr) {
      *printed = std::move(result->out);
    }
    return {};
  }
  const std::string reason = ReasonOf(fmt::format("{}\n{}", result->out, result->err));
  return reason.empty() ? sys::Describe(*result) : reason;
}

std::vector<std::string> KeptPackages(const HostFacts& facts, const Plan& plan, char between) {
  std::vector<std::string> specs;
  for (const auto& [name, package] : facts.former) {
    specs.push_back(SpecOf(name, package.version, between));
  }
  for (const Step& step : plan.steps) {
    const auto* removal = std::get_if<RemovePackages>(&step.action);
    if (removal == nullptr || !removal->must_return) {
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

void NoteNotKept(const std::string& reason, Asking& asking) {
  asking.findings.push_back(
      {.id = "way-back",
       .message = fmt::format("packages of the installed driver are no longer available, so it "
                              "could not be restored after a failure: {}",
                              reason),
       .fix = {
           .commands = {
               "# add the source that provides them, or give up that driver with --no-restore"}}});
}

void CheckKept(const std::vector<std::string>& argv, Asking& asking) {
  const std::vector<std::string> specs = KeptPackages(asking.facts, asking.plan, '=');
  if (specs.empty()) {
    return;
  }
  if (const std::string reason = Try(Concat(argv, specs), asking); !reason.empty()) {
    NoteNotKept(reason, asking);
  }
}

// The reason names the package with the kernel's headers: no other driver would help.
bool LacksHeaders(const std::string& reason, const Asking& asking) {
  return std::ranges::any_of(asking.names, [&](const std::string& name) {
    const bool is_headers =
        name.find(asking.facts.kernel.release) != std::string::npos &&
        (name.find("-headers-") != std::string::npos || name.find("-devel-") != std::string::npos);
    return is_headers && reason.find(name) != std::string::npos;
  });
}

void NoteUnresolved(const std::string& reason, Asking& asking) {
  if (!reason.empty()) {
    asking.findings.push_back(
        {.id = "packages",
         .message = fmt::format("cannot install {}: {}", Join(asking.names, ", "), reason),
         .fix = {.commands = {LacksHeaders(reason, asking)
                                  ? "# install this kernel's headers from where the kernel comes "
                                    "from; with them no package is needed. Then run it again"
                                  : "# try another --source, --version or --module"}}});
  }
}

std::string CheckInstall(const std::vector<std::string>& argv, Asking& asking) {
  std::string printed;
  if (!asking.names.empty()) {
    NoteUnresolved(Try(Concat(argv, asking.names), asking, &printed), asking);
  }
  return printed;
}

std::string ReasonOf(std::string_view output) {
  // Words at the beginning of what each of them says of the matter.
  constexpr std::array<std::string_view, 11> kReports = {"Depends:",
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
    const bool reports = std::ranges::any_of(kReports, [line](std::string_view word) {
      return line.find(word) != std::string_view::npos;
    });
    if (reports && reasons.size() < kMostReasons) {
      reasons.push_back(Join({std::string(Trim(line))}, ""));
    }
  }
  return Printable(Join(reasons, "; "), kReasonLimit);
}

}  // namespace kgpu::driver
