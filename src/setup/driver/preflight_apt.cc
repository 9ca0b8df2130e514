// Asks apt with separate lists and preferences, so that the host's do not change.
#include <algorithm>
#include <filesystem>
#include <initializer_list>
#include <iterator>
#include <map>
#include <memory>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"
#include "src/platform/sys/atomic_file.h"
#include "src/platform/sys/scratch_folder.h"
#include "src/setup/driver/preflight_ask.h"

namespace kgpu::driver {
namespace {

constexpr size_t kPreferencesLimit = size_t{1} << 20;

constexpr const char* kScratchName = "kgpu-preflight";

// A folder of the host with the parts that apt needs.
StatusOr<std::unique_ptr<sys::ScratchFolder>> MakeScratch(const sys::Root& host) {
  ASSIGN_OR_RETURN(const std::string cache, host.Resolve("/var/cache"));
  sys::ScratchFolder::RemoveAbandoned(host, cache, kScratchName);
  ASSIGN_OR_RETURN(std::unique_ptr<sys::ScratchFolder> scratch,
                   sys::ScratchFolder::Make(host, cache, kScratchName));
  for (const char* part : {"lists/partial", "cache/archives/partial", "preferences.d"}) {
    const std::string folder = fmt::format("{}/{}", scratch->path(), part);
    std::error_code error;
    std::filesystem::create_directories(folder, error);
    if (error) {
      return ErrnoStatus(error.value(), fmt::format("create {}", folder));
    }
  }
  return scratch;
}

// The sources of the host and those that the plan adds, a line each.
std::string SourcesText(const HostFacts& facts, const Plan& plan) {
  std::vector<AptSource> sources = facts.apt;
  for (const Step& step : plan.steps) {
    const auto* file = std::get_if<WriteFile>(&step.action);
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

// Whether this file of apt's preferences is removed with its package, or with the driver that gives
// way to the plan's.
bool GivesWay(const Asking& asking, const std::string& name, const std::string& path) {
  const auto is_written = [&path](const Step& step) {
    const auto* file = std::get_if<WriteFile>(&step.action);
    return file != nullptr && file->path == path;
  };
  const auto is_removed = [&name](const Step& step) {
    const auto* packages = std::get_if<RemovePackages>(&step.action);
    return packages != nullptr && std::ranges::find(packages->names, name) != packages->names.end();
  };
  const HostFacts& facts = asking.facts;
  return facts.former.contains(name) || std::ranges::any_of(asking.plan.steps, is_removed) ||
         (facts.ours && std::ranges::any_of(facts.ours->steps, is_written));
}

// The host's preferences without those that the plan removes and with those that it writes: as they
// will be when the packages are installed.
Status WritePreferences(const Asking& asking, const std::string& folder) {
  const sys::Root& host = asking.host;
  const std::string from = "/etc/apt/preferences.d/";
  std::map<std::string, std::string> texts;
  const auto names = host.ListDir(from);
  for (const std::string& name : names.ok() ? *names : std::vector<std::string>()) {
    const auto text = host.ReadFile(from + name, kPreferencesLimit);
    if (text.ok() && !GivesWay(asking, name, from + name)) {
      texts[name] = *text;
    }
  }
  for (const Step& step : asking.plan.steps) {
    const auto* file = std::get_if<WriteFile>(&step.action);
    if (file != nullptr && file->path.starts_with(from)) {
      texts[file->path.substr(from.size())] = file->text;
    }
  }
  for (const auto& [name, text] : texts) {
    RETURN_IF_ERROR(sys::WriteFileAtomically(fmt::format("{}/{}", folder, name), text));
  }
  return OkStatus();
}

// apt as configured on the host, but with its own lists and preferences in `scratch`.
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

// A distribution's archive has one version of a branch, and the plan may want a whole version:
// whether it is that one, of what apt-get --simulate prints, "Inst libcuda1 (535.1-1 Debian:12 …)".
void CheckVersion(std::string_view simulated, Asking& asking) {
  const std::string& wanted = asking.plan.version;
  if (asking.plan.source != SourceKind::kDistribution || wanted.find('.') == std::string::npos) {
    return;
  }
  for (const std::string_view line : Split(simulated, '\n')) {
    const std::vector<std::string_view> words = Words(line);
    const auto version =
        std::ranges::find_if(words, [](std::string_view word) { return word.starts_with('('); });
    const bool is_library =
        words.size() > 1 && (words[1] == "libcuda1" || words[1].starts_with("libnvidia-compute-"));
    if (!is_library || words[0] != "Inst" || version == words.end()) {
      continue;
    }
    if (const std::string here = host::UpstreamVersion(version->substr(1)); here != wanted) {
      asking.findings.push_back(
          {.id = "version",
           .message = fmt::format("the distribution has driver {}, not {}", here, wanted),
           .fix = {.commands = {fmt::format("kgpu driver plan --version {}", here)}}});
    }
    return;
  }
}

}  // namespace

void CheckApt(Asking& asking) {
  const std::string apt = asking.facts.Program("apt-get");
  const auto scratch = MakeScratch(asking.host);
  std::string written = scratch.ok() ? "" : std::string(Message(scratch.status()));
  if (scratch.ok()) {
    Status status = sys::WriteFileAtomically((*scratch)->path() + "/sources.list",
                                             SourcesText(asking.facts, asking.plan));
    if (status.ok()) {
      status = WritePreferences(asking, (*scratch)->path() + "/preferences.d");
    }
    written = status.ok() ? "" : std::string(Message(status));
  }
  if (!written.empty()) {
    asking.findings.push_back({.id = "package-manager",
                               .severity = report::Severity::kWarning,
                               .message = fmt::format("cannot search for packages: {}", written),
                               .fix = {.commands = {"# run it as root"}}});
    return;
  }
  const std::string& inside = (*scratch)->inside();
  // Else apt takes a repository that is not reached for one that has nothing new.
  if (std::string reason =
          Try(AptCommand(apt, inside, {"-o", "APT::Update::Error-Mode=any", "update"}), asking);
      !reason.empty()) {
    asking.findings.push_back(
        {.id = "repositories",
         .message = fmt::format("cannot reach the package sources: {}", reason),
         .fix = {.commands = {"# fix the network, the proxy or the sources file named above"}}});
    return;
  }
  CheckKept(AptCommand(apt, inside, {"--print-uris", "download"}), asking);
  const std::string simulated = CheckInstall(
      AptCommand(apt, inside, {"--simulate", "--no-install-recommends", "install"}), asking);
  CheckVersion(simulated, asking);
}

}  // namespace kgpu::driver
