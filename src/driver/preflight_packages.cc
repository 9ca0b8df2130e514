// Asking the host's package manager whether the plan's packages could be had.
#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <initializer_list>
#include <iterator>
#include <map>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "src/base/status_macros.h"
#include "src/base/strings.h"
#include "src/driver/module_facts.h"
#include "src/driver/preflight.h"
#include "src/packages/calls.h"
#include "src/sys/atomic_file.h"

namespace kgpu::driver {
namespace {

constexpr size_t kReasonLimit = 300;
constexpr std::chrono::seconds kDeadline{300};

sys::RunRequest RequestFor(std::vector<std::string> argv, const sys::Root& host) {
  sys::RunRequest request;
  request.argv = std::move(argv);
  request.environment.emplace_back("DEBIAN_FRONTEND=noninteractive");
  request.root = host.path();
  request.deadline = kDeadline;
  return request;
}

// What a command says of its failure; empty: it went well.
std::string Try(std::vector<std::string> argv, const sys::Root& host, sys::ProgramRunner& runner,
                std::vector<Finding>& findings) {
  const std::string name = Join(argv, " ");
  const bool is_zypper = argv[0].ends_with("/zypper");
  const StatusOr<sys::RunResult> result = runner.Run(RequestFor(std::move(argv), host));
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

// Steps from which on other packages can be had than now.
bool ChangesSources(const Step& step) {
  constexpr std::array<std::string_view, 3> kIds = {"repository", "epel", "stream"};
  return std::ranges::find(kIds, step.id) != kIds.end();
}

// Steps whose packages are the distribution's own, whatever else is added.
bool IsOwn(const Step& step) {
  constexpr std::array<std::string_view, 5> kIds = {"headers", "compilers", "signing-tool",
                                                    "repository-tool", "lock-tool"};
  return std::ranges::find(kIds, step.id) != kIds.end();
}

struct Asked {
  std::vector<std::string> names;
  bool is_all = true;  // nothing of the plan had to be left out
};

// dnf is asked with its locks as they are now: those of the driver before let nothing else in.
bool ChangesLocks(const HostFacts& facts, const Step& step) {
  const Family family = facts.distribution.family;
  return facts.ours && family != Family::kDebian && family != Family::kUbuntu &&
         step.id.starts_with("branch");
}

Asked PackagesToAsk(const HostFacts& facts, const Plan& plan) {
  Asked asked;
  bool is_changed = false;
  for (const Step& step : plan.steps) {
    is_changed |= ChangesSources(step) || ChangesLocks(facts, step);
    const auto* install = std::get_if<InstallPackages>(&step.deed);
    // What follows the version of another is known only when that one is here.
    if (install == nullptr || !install->version_of.empty()) {
      continue;
    }
    if (is_changed && !IsOwn(step)) {
      asked.is_all = false;
      continue;
    }
    asked.names.insert(asked.names.end(), install->names.begin(), install->names.end());
  }
  return asked;
}

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

// What is taken off must be to be had again, as it is: "name=version" for apt and zypper,
// "name-version" for dnf.
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

// Asks by `argv`, which fetches nothing.
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

// Asks dnf itself: `dnf download` is of a plugin that may be yet to come. It is content with what
// it does not find, too, so what it lists is looked at.
void CheckKeptByDnf(const std::string& dnf, const HostFacts& facts, const Plan& plan,
                    const sys::Root& host, sys::ProgramRunner& runner,
                    std::vector<Finding>& findings) {
  const std::vector<std::string> specs = KeptPackages(facts, plan, '-');
  if (specs.empty()) {
    return;
  }
  constexpr const char* kForm =
      "--queryformat=%{name}-%{version}-%{release}\\n%{name}-%{version}-%{release}.%{arch}\\n";
  std::vector<std::string> argv = {
      dnf, "--quiet", "repoquery", "--available", "--setopt=*.module_hotfixes=1", kForm};
  argv.insert(argv.end(), specs.begin(), specs.end());
  const StatusOr<sys::RunResult> result = runner.Run(RequestFor(argv, host));
  const std::string out = result.ok() ? result->out : "";
  if (!result.ok() || !result->IsSuccess()) {
    findings.push_back(
        {.id = "package-manager",
         .text = fmt::format("whether the driver that is here could come back is not known: {}: {}",
                             Join(argv, " "),
                             result.ok() ? sys::Describe(*result) : Message(result.status())),
         .mend = "mend what it says"});
    return;
  }
  const std::vector<std::string_view> lines = Split(out, '\n');
  std::vector<std::string> lacking;
  std::ranges::copy_if(specs, std::back_inserter(lacking), [&lines](const std::string& spec) {
    return std::ranges::find(lines, spec) == lines.end();
  });
  if (!lacking.empty()) {
    NoteNotKept(fmt::format("no repository has {}", Join(lacking, ", ")), findings);
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

constexpr size_t kPreferencesLimit = size_t{1} << 20;

// A folder below the host's root for apt's lists, gone with this object.
class Scratch {
 public:
  static StatusOr<std::unique_ptr<Scratch>> Make(const sys::Root& host) {
    ASSIGN_OR_RETURN(const std::string cache, host.Resolve("/var/cache"));
    std::string folder = host.At(fmt::format("{}/kgpu-preflight-XXXXXX", cache));
    if (mkdtemp(folder.data()) == nullptr) {
      return ErrnoStatus(errno, fmt::format("make a folder in {}", host.At(cache)));
    }
    auto scratch = std::make_unique<Scratch>(folder, cache);
    for (const char* part : {"lists/partial", "cache/archives/partial", "preferences.d"}) {
      std::error_code error;
      std::filesystem::create_directories(fmt::format("{}/{}", folder, part), error);
      if (error) {
        return ErrnoStatus(error.value(), fmt::format("make {}/{}", folder, part));
      }
    }
    return scratch;
  }

  Scratch(std::string folder, const std::string& cache)
      : folder_(std::move(folder)),
        inside_(fmt::format("{}{}", cache, folder_.substr(folder_.rfind('/')))) {}
  ~Scratch() {
    std::error_code error;  // what stays is a cache
    std::filesystem::remove_all(folder_, error);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  // As this process and as the host's programs see it.
  const std::string& folder() const { return folder_; }
  const std::string& inside() const { return inside_; }

 private:
  std::string folder_;
  std::string inside_;
};

// The sources of the host and those that the plan adds, a line each.
std::string SourcesText(const HostFacts& facts, const Plan& plan) {
  std::vector<AptSource> sources = facts.apt;
  for (const Step& step : plan.steps) {
    const auto* file = std::get_if<WriteFile>(&step.deed);
    if (file != nullptr && file->path.ends_with(".sources")) {
      for (AptSource& source : ParseAptParagraphs(file->text, file->path)) {
        sources.push_back(std::move(source));
      }
    }
  }
  std::string text;
  for (const AptSource& source : sources) {
    fmt::format_to(
        std::back_inserter(text), "deb {}{} {} {}\n",
        source.signed_by.starts_with('/') ? fmt::format("[signed-by={}] ", source.signed_by) : "",
        source.uri, source.suite, Join(source.components, " "));
  }
  return text;
}

// What apt prefers is a file of a package's own, or of ours.
bool GivesWay(const Plan& plan, const std::string& name, const std::string& path) {
  return std::ranges::any_of(plan.steps, [&](const Step& step) {
    const auto* file = std::get_if<RemoveFile>(&step.deed);
    const auto* packages = std::get_if<RemovePackages>(&step.deed);
    return (file != nullptr && file->path == path) ||
           (packages != nullptr &&
            std::ranges::find(packages->names, name) != packages->names.end());
  });
}

// What the host prefers, but for what the plan takes off, and what the plan writes of it: as it
// will be when the packages come.
Status WritePreferences(const Plan& plan, const sys::Root& host, const std::string& folder) {
  const std::string from = "/etc/apt/preferences.d/";
  std::map<std::string, std::string> texts;
  const auto names = host.ListDir(from);
  for (const std::string& name : names.ok() ? *names : std::vector<std::string>()) {
    const auto text = host.ReadFile(from + name, kPreferencesLimit);
    if (text.ok() && !GivesWay(plan, name, from + name)) {
      texts[name] = *text;
    }
  }
  for (const Step& step : plan.steps) {
    const auto* file = std::get_if<WriteFile>(&step.deed);
    if (file != nullptr && file->path.starts_with(from)) {
      texts[file->path.substr(from.size())] = file->text;
    }
  }
  for (const auto& [name, text] : texts) {
    RETURN_IF_ERROR(sys::WriteFileAtomically(fmt::format("{}/{}", folder, name), text));
  }
  return OkStatus();
}

// apt as the host has it, but with lists and preferences of its own in `scratch`.
std::vector<std::string> AptCommand(const std::string& apt, const std::string& scratch,
                                    std::initializer_list<std::string> more) {
  std::vector<std::string> argv = {
      apt,
      "-o",
      fmt::format("Dir::State::lists={}/lists", scratch),
      "-o",
      fmt::format("Dir::Cache={}/cache", scratch),
      "-o",
      fmt::format("Dir::Etc::sourcelist={}/sources.list", scratch),
      "-o",
      "Dir::Etc::sourceparts=/dev/null",
      "-o",
      fmt::format("Dir::Etc::preferencesparts={}/preferences.d", scratch),
      "-o",
      "APT::Sandbox::User=root",
      "-o",
      "Acquire::Languages=none"};
  argv.insert(argv.end(), more.begin(), more.end());
  return argv;
}

void CheckApt(const HostFacts& facts, const Plan& plan, const std::vector<std::string>& names,
              const sys::Root& host, sys::ProgramRunner& runner, std::vector<Finding>& findings) {
  const std::string apt = facts.Program("apt-get");
  const auto scratch = Scratch::Make(host);
  std::string written = scratch.ok() ? "" : std::string(Message(scratch.status()));
  if (scratch.ok()) {
    Status status =
        sys::WriteFileAtomically((*scratch)->folder() + "/sources.list", SourcesText(facts, plan));
    if (status.ok()) {
      status = WritePreferences(plan, host, (*scratch)->folder() + "/preferences.d");
    }
    written = status.ok() ? "" : std::string(Message(status));
  }
  if (!written.empty()) {
    findings.push_back({.id = "package-manager",
                        .is_blocker = false,
                        .text = fmt::format("packages could not be looked for: {}", written),
                        .mend = "run it as root"});
    return;
  }
  const std::string& inside = (*scratch)->inside();
  // Else apt takes a repository that is not reached for one that has nothing new.
  if (std::string reason =
          Try(AptCommand(apt, inside, {"-o", "APT::Update::Error-Mode=any", "update"}), host,
              runner, findings);
      !reason.empty()) {
    findings.push_back(
        {.id = "repositories",
         .text = fmt::format("the package sources are not reached: {}", reason),
         .mend = "mend the network, the proxy or the file of sources that is named"});
    return;
  }
  CheckKept(AptCommand(apt, inside, {"--print-uris", "download"}), KeptPackages(facts, plan, '='),
            host, runner, findings);
  if (names.empty()) {
    return;
  }
  std::vector<std::string> argv =
      AptCommand(apt, inside, {"--simulate", "--no-install-recommends", "install"});
  argv.insert(argv.end(), names.begin(), names.end());
  NoteUnresolved(Join(names, ", "), Try(std::move(argv), host, runner, findings), findings);
}

void CheckDnf(const HostFacts& facts, const Plan& plan, const std::vector<std::string>& names,
              const sys::Root& host, sys::ProgramRunner& runner, std::vector<Finding>& findings) {
  const std::string dnf = facts.Program("dnf");
  CheckKeptByDnf(dnf, facts, plan, host, runner, findings);
  if (names.empty()) {
    return;
  }
  std::vector<std::string> argv = {dnf, "--assumeno", "install"};
  argv.insert(argv.end(), names.begin(), names.end());
  const StatusOr<sys::RunResult> result = runner.Run(RequestFor(argv, host));
  // "No" is its answer to its own question, an error: only what it says tells the two apart.
  const std::string text = result.ok() ? fmt::format("{}\n{}", result->out, result->err) : "";
  if (result.ok() && !result->IsSuccess() && text.find("Operation aborted") == std::string::npos) {
    NoteUnresolved(Join(names, ", "), ReasonOf(text), findings);
  }
}

void CheckZypper(const HostFacts& facts, const Plan& plan, const std::vector<std::string>& names,
                 const sys::Root& host, sys::ProgramRunner& runner,
                 std::vector<Finding>& findings) {
  const std::string zypper = facts.Program("zypper");
  CheckKept({zypper, "--non-interactive", "download", "--dry-run"}, KeptPackages(facts, plan, '='),
            host, runner, findings);
  if (names.empty()) {
    return;
  }
  std::vector<std::string> argv = {zypper, "--non-interactive", "install", "--dry-run",
                                   "--auto-agree-with-licenses"};
  argv.insert(argv.end(), names.begin(), names.end());
  NoteUnresolved(Join(names, ", "), Try(argv, host, runner, findings), findings);
}

// What a family's plans install packages with; empty: they have none.
std::string_view ManagerOf(Family family) {
  switch (family) {
    case Family::kDebian:
    case Family::kUbuntu:
      return "apt-get";
    case Family::kRhel:
    case Family::kFedora:
    case Family::kAmazon:
      return "dnf";
    case Family::kSuse:
      return "zypper";
    case Family::kOther:
      break;
  }
  return "";
}

bool HasPackages(const Plan& plan) {
  return std::ranges::any_of(plan.steps, [](const Step& step) {
    return std::holds_alternative<InstallPackages>(step.deed) ||
           std::holds_alternative<RemovePackages>(step.deed);
  });
}

// Modules of another version that DKMS would build again with every kernel, and that could win.
void CheckDkms(const HostFacts& facts, const Plan& plan, const sys::Root& host,
               sys::ProgramRunner& runner, std::vector<Finding>& findings) {
  const std::string dkms = facts.Program("dkms");
  if (dkms.empty()) {
    return;
  }
  const auto result = runner.Run(RequestFor({dkms, "status"}, host));
  if (!result.ok() || !result->IsSuccess()) {
    return;
  }
  for (const DkmsEntry& entry : ParseDkmsStatus(result->out)) {
    if (entry.module.starts_with("nvidia") && !entry.module.starts_with("nvidia-fs") &&
        (!IsVersion(entry.version, plan.version) || entry.state == "broken")) {
      findings.push_back({.id = "dkms",
                          .is_blocker = false,
                          .text = fmt::format("DKMS has {} {}{}{}, {}", entry.module, entry.version,
                                              entry.kernel.empty() ? "" : " for kernel ",
                                              entry.kernel, entry.state),
                          .mend = fmt::format("dkms remove {}/{} --all, when no package brought it",
                                              entry.module, entry.version)});
    }
  }
}

}  // namespace

std::vector<Finding> CheckPackages(const HostFacts& facts, const Plan& plan, const sys::Root& host,
                                   sys::ProgramRunner& runner) {
  std::vector<Finding> findings;
  CheckDkms(facts, plan, host, runner, findings);
  const std::string_view manager = ManagerOf(facts.distribution.family);
  if (HasPackages(plan) && !manager.empty() && facts.Program(manager).empty()) {
    findings.push_back({.id = "package-manager",
                        .text = fmt::format("{} is not on this host", manager),
                        .mend = "install it; --host-root names the root of a whole system"});
    return findings;
  }
  const Asked asked = PackagesToAsk(facts, plan);
  if (!asked.is_all) {
    findings.push_back(
        {.id = "packages",
         .is_blocker = false,
         .text = "whether the driver's packages can be installed is not known before a repository "
                 "is added or a branch chosen, which the plan does",
         .mend = "none needed: when they can not, all is taken back"});
  }
  if (asked.names.empty() && KeptPackages(facts, plan, '=').empty()) {
    return findings;
  }
  switch (facts.distribution.family) {
    case Family::kDebian:
    case Family::kUbuntu:
      CheckApt(facts, plan, asked.names, host, runner, findings);
      break;
    case Family::kRhel:
    case Family::kFedora:
    case Family::kAmazon:
      CheckDnf(facts, plan, asked.names, host, runner, findings);
      break;
    case Family::kSuse:
      CheckZypper(facts, plan, asked.names, host, runner, findings);
      break;
    case Family::kOther:
      break;
  }
  return findings;
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
