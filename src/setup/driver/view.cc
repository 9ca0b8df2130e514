#include "src/setup/driver/view.h"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <iterator>
#include <type_traits>

#include <fmt/format.h>

#include "src/platform/base/strings.h"
#include "src/platform/doc/json_texts.h"

namespace kgpu::driver {
namespace {

namespace json = boost::json;

using doc::Texts;
using doc::View;

std::string Quoted(std::string_view word) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:=,+@%~";
  if (!word.empty() && word.find_first_not_of(kPlain) == std::string_view::npos) {
    return std::string(word);
  }
  std::string text = "'";
  for (const char c : word) {
    text += c == '\'' ? "'\\''" : std::string(1, c);
  }
  text += "'";
  return text;
}

std::string Argv(const std::vector<std::string>& argv) {
  std::vector<std::string> words;
  words.reserve(argv.size());
  for (const std::string& word : argv) {
    words.push_back(Quoted(word));
  }
  return Join(words, " ");
}

// One overload for each kind of action.
using Lines = std::vector<std::string>;

Lines LinesOf(const RunCommand& run) {
  Lines lines;
  if (!run.command.argv.empty()) {
    lines.push_back(CommandText(run.command));
  }
  if (!run.undo.argv.empty()) {
    lines.push_back(fmt::format("# undo: {}", CommandText(run.undo)));
  }
  return lines;
}

Lines LinesOf(const WriteFile& file) {
  Lines lines = {fmt::format("# write {} ({:04o}):", file.path, file.mode)};
  std::string_view text = file.text;
  if (text.ends_with('\n')) {
    text.remove_suffix(1);
  }
  for (const std::string_view line : Split(text, '\n')) {
    lines.push_back(line.empty() ? "#   |" : fmt::format("#   | {}", line));
  }
  return lines;
}

Lines LinesOf(const RemoveFile& file) {
  return {Argv({"rm", file.path})};
}
Lines LinesOf(const InstallPackages& packages) {
  if (!packages.version_of.empty()) {
    return {fmt::format("# install packages, in the version of {}: {}", packages.version_of,
                        Join(packages.names, " "))};
  }
  return {fmt::format("# install packages: {}", Join(packages.names, " "))};
}
Lines LinesOf(const RemovePackages& packages) {
  return {fmt::format("# remove packages{}: {}",
                      packages.must_return ? ", installed again when it is undone" : "",
                      Join(packages.names, " "))};
}
Lines LinesOf(const StopUnits& stop) {
  return {fmt::format("systemctl stop {}", Argv(stop.units))};
}
Lines LinesOf(const StartUnits& start) {
  return {
      fmt::format("systemctl {} {}", start.at_boot ? "enable --now" : "start", Argv(start.units))};
}

Lines LinesOf(const LoadModules& load) {
  Lines lines;
  for (const std::string& name : load.names) {
    lines.push_back(Argv({"modprobe", name}));
  }
  return lines;
}

Lines LinesOf(const UnloadModules& unload) {
  Lines lines;
  for (const std::string& name : unload.names) {
    lines.push_back(Argv({"rmmod", name}));
  }
  return lines;
}

Lines LinesOf(const Reboot& reboot) {
  return {fmt::format("systemctl reboot  # {}", reboot.reason)};
}
Lines LinesOf(const AskPerson& ask) {
  return {fmt::format("# manual step: {}", ask.text)};
}
Lines LinesOf(const Verify& verify) {
  return {fmt::format("# verify driver {} built for kernel {}",
                      verify.version.empty() ? "of any version" : verify.version, verify.kernel)};
}

struct NameOfAction {
  std::string_view operator()(const RunCommand&) const { return "run"; }
  std::string_view operator()(const WriteFile&) const { return "write-file"; }
  std::string_view operator()(const RemoveFile&) const { return "remove-file"; }
  std::string_view operator()(const InstallPackages&) const { return "install-packages"; }
  std::string_view operator()(const RemovePackages&) const { return "remove-packages"; }
  std::string_view operator()(const StopUnits&) const { return "stop-units"; }
  std::string_view operator()(const StartUnits&) const { return "start-units"; }
  std::string_view operator()(const LoadModules&) const { return "load-modules"; }
  std::string_view operator()(const UnloadModules&) const { return "unload-modules"; }
  std::string_view operator()(const Reboot&) const { return "reboot"; }
  std::string_view operator()(const AskPerson&) const { return "ask-person"; }
  std::string_view operator()(const Verify&) const { return "verify"; }
};

json::object StepJson(const Step& step) {
  return {{"id", View(step.id)},         {"title", View(step.title)},
          {"source", View(step.source)}, {"action", View(std::visit(NameOfAction(), step.action))},
          {"loses", View(step.loses)},   {"lines", Texts(ActionLines(step.action))}};
}

void Line(std::string& text, std::string_view name, std::string_view value) {
  fmt::format_to(std::back_inserter(text), "{:<14}{}\n", name, value.empty() ? "-" : value);
}

std::string_view ToText(Existing existing) {
  switch (existing) {
    case Existing::kNone:
      return "none";
    case Existing::kPackages:
      return "packages";
    case Existing::kRunFile:
      return "NVIDIA's installer";
    case Existing::kOther:
      return "unknown";
  }
  return "none";
}

std::string GpusText(const HostFacts& facts) {
  std::vector<std::string> names;
  for (size_t i = 0; i < facts.gpus.size(); ++i) {
    names.push_back(fmt::format("{} 10de:{:04x} {}", facts.host.pci.gpus[i].pci.id.str(),
                                facts.gpus[i].device_id, ToString(facts.gpus[i].generation)));
  }
  return Join(names, ", ");
}

// The version of the driver's sources in DKMS; empty: none.
std::string_view DkmsVersion(const host::Facts& host) {
  return host.kernel.dkms ? std::string_view(host.kernel.dkms->version) : std::string_view();
}

std::string_view YesOrNo(const std::optional<bool>& value) {
  if (!value) {
    return "unknown";
  }
  return *value ? "yes" : "no";
}

}  // namespace

std::string CommandText(const Command& command) {
  std::vector<std::string> words = command.environment;
  words.insert(words.end(), command.argv.begin(), command.argv.end());
  return Argv(words);
}

std::vector<std::string> ActionLines(const Action& action) {
  const auto lines = [](const auto& one) { return LinesOf(one); };
  return std::visit(lines, action);
}

std::string PlanText(const Plan& plan) {
  std::string text = fmt::format("# driver {}, {} modules, for kernel {}, from {}\n", plan.version,
                                 ToString(plan.kind), plan.kernel, ToString(plan.source));
  const auto put = std::back_inserter(text);
  for (const std::string& why : plan.why) {
    fmt::format_to(put, "# why: {}\n", why);
  }
  for (const std::string& note : plan.notes) {
    fmt::format_to(put, "# note: {}\n", note);
  }
  for (size_t i = 0; i < plan.steps.size(); ++i) {
    const Step& step = plan.steps[i];
    fmt::format_to(put, "\n# {} {}: {}\n# page: {}\n", i + 1, step.id, step.title, step.source);
    for (const std::string& line : ActionLines(step.action)) {
      fmt::format_to(put, "{}\n", line);
    }
    if (!step.loses.empty()) {
      fmt::format_to(put, "# not restored when this is undone: {}\n", step.loses);
    }
  }
  return text;
}

json::object PlanJson(const Plan& plan) {
  json::array steps;
  for (const Step& step : plan.steps) {
    steps.push_back(StepJson(step));
  }
  return {{"version", View(plan.version)},
          {"module", View(ToString(plan.kind))},
          {"source", View(ToString(plan.source))},
          {"kernel", View(plan.kernel)},
          {"why", Texts(plan.why)},
          {"notes", Texts(plan.notes)},
          {"steps", std::move(steps)}};
}

std::string StatusText(const HostFacts& facts) {
  const host::Facts& host = facts.host;
  std::string text;
  Line(text, "distribution", facts.distribution.name);
  Line(
      text, "kernel",
      fmt::format("{}{}", facts.kernel.release,
                  facts.kernel.is_running || facts.kernel.release.empty() ? "" : " (not running)"));
  Line(text, "headers", facts.kernel.has_headers ? "installed" : "not installed");
  Line(text, "gpus", GpusText(facts));
  Line(text, "driver", facts.existing_version);
  Line(text, "from", ToText(facts.existing));
  Line(text, "loaded", host.driver.module_version);
  Line(text, "module",
       host.driver.module_version.empty() ? ""
                                          : (host.driver.is_open_module ? "open" : "proprietary"));
  Line(text, "libraries", Join(host.driver.library_versions, ", "));
  Line(text, "dkms", DkmsVersion(host));
  Line(text, "nouveau",
       host.driver.rival.empty() ? "not loaded" : fmt::format("{} is loaded", host.driver.rival));
  Line(text, "secure boot", YesOrNo(host.kernel.secure_boot));
  for (const std::string& problem : facts.problems) {
    Line(text, "unknown", problem);
  }
  return text;
}

json::object StatusJson(const HostFacts& facts) {
  const host::Facts& host = facts.host;
  json::array gpus;
  for (size_t i = 0; i < facts.gpus.size(); ++i) {
    gpus.push_back({{"pci", View(facts.host.pci.gpus[i].pci.id.str())},
                    {"deviceId", View(fmt::format("{:04x}", facts.gpus[i].device_id))},
                    {"generation", View(ToString(facts.gpus[i].generation))}});
  }
  const auto secure_boot =
      host.kernel.secure_boot ? json::value(*host.kernel.secure_boot) : json::value();
  return {
      {"distribution", View(facts.distribution.id)},
      {"distributionVersion", View(facts.distribution.version)},
      {"kernel", View(facts.kernel.release)},
      {"kernelRuns", facts.kernel.is_running},
      {"headers", facts.kernel.has_headers},
      {"gpus", std::move(gpus)},
      {"driver", View(facts.existing_version)},
      {"from", View(facts.existing == Existing::kRunFile ? "installer" : ToText(facts.existing))},
      {"loaded", View(host.driver.module_version)},
      {"openModule", host.driver.is_open_module},
      {"libraries", Texts(host.driver.library_versions)},
      {"dkms", View(DkmsVersion(host))},
      {"nouveauLoaded", !host.driver.rival.empty()},
      {"secureBoot", secure_boot},
      {"problems", Texts(facts.problems)}};
}

}  // namespace kgpu::driver
