// Rivals for the GPUs: nouveau or nova, a blacklist, a desktop.
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "src/diagnose/doctor/check.h"
#include "src/diagnose/doctor/commands.h"
#include "src/diagnose/doctor/facts.h"
#include "src/host/inspect/rivals.h"
#include "src/platform/base/strings.h"

namespace kgpu::doctor {
namespace {

bool IsBlacklisted(const Facts& facts, std::string_view module) {
  return std::ranges::any_of(facts.kernel.blacklist,
                             [&](const host::Blacklisted& line) { return line.module == module; });
}

// The kernel's command line keeps it out, in one of the ways that are in use.
bool IsOffByCommandLine(const Facts& facts, std::string_view module) {
  for (const std::string_view word : Words(facts.kernel.cmdline)) {
    const std::string_view key = word.substr(0, word.find('='));
    const bool is_list =
        key == "modprobe.blacklist" || key == "rd.driver.blacklist" || key == "module_blacklist";
    const std::vector<std::string_view> names = is_list && key != word
                                                    ? Split(word.substr(key.size() + 1), ',')
                                                    : std::vector<std::string_view>();
    if (word == fmt::format("{}.modeset=0", module) ||
        std::ranges::find(names, module) != names.end()) {
      return true;
    }
  }
  return false;
}

FileEdit BlacklistFile() {
  return {std::string(host::kRivalsOffFile), std::string(host::kRivalsOff), std::nullopt};
}

// Writes the same file, for people.
std::string BlacklistCommand() {
  std::string text(host::kRivalsOff.substr(host::kRivalsOff.find('\n') + 1));
  for (size_t at = text.find('\n'); at != std::string::npos; at = text.find('\n', at)) {
    text.replace(at, 1, "\\n");
  }
  return fmt::format("printf '{}' > {}", text, host::kRivalsOffFile);
}

// Comments out that line and no other. A file of a package is not changed: a file of the same name
// in /etc replaces it.
std::string CommentOut(const host::Blacklisted& line) {
  const std::string module = line.module == "nvidia_uvm" ? "nvidia[-_]uvm" : line.module;
  const std::string pattern =
      fmt::format("s/^[[:space:]]*{}[[:space:]]+{}([[:space:]].*)?$/# &/", line.keyword, module);
  const std::string name = line.path.substr(line.path.rfind('/'));
  if (line.path.starts_with("/etc/")) {
    return fmt::format("sed -i.before-kgpu -E '{}' {}", pattern, line.path);
  }
  return fmt::format("sed -E '{}' {} > /etc/modprobe.d{}", pattern, line.path, name);
}

// "0000:25:00.0, 0000:c8:00.0": the GPUs that a rival is bound to.
std::string BoundToRivals(const Facts& facts) {
  std::vector<std::string> names;
  for (const host::GpuFacts& gpu : facts.pci.gpus) {
    if (host::FindRival(gpu.pci.kernel_driver) != nullptr) {
      names.push_back(gpu.pci.id.str());
    }
  }
  return Join(names, ", ");
}

void Loaded(const Facts& facts, Findings& findings) {
  const std::string rival = facts.RivalInTheWay();
  if (!facts.has_gpus() || rival.empty()) {
    return;
  }
  std::vector<std::string> fix = {BlacklistCommand(), InitramfsCommand(facts), "reboot"};
  if (const std::string command = InstallByKgpu(facts); !facts.has_driver() && !command.empty()) {
    fix = {fmt::format("# blocks {} and installs NVIDIA's driver:", rival), command};
  }
  const std::string bound = BoundToRivals(facts);
  const std::string loaded = facts.kernel.loaded.contains(rival)
                                 ? fmt::format("/proc/modules lists {}", rival)
                                 : fmt::format("the kernel has {} built in", rival);
  findings.Add(bound.empty() ? loaded : fmt::format("{}, and it is bound to {}", loaded, bound),
               std::move(fix));
}

void NotBlacklisted(const Facts& facts, Findings& findings) {
  std::vector<std::string> unblocked;
  for (const host::Rival& rival : host::kRivals) {
    const std::string module(rival.module);
    if (facts.kernel.installed.contains(module) && !IsBlacklisted(facts, module) &&
        !IsOffByCommandLine(facts, module)) {
      unblocked.push_back(module);
    }
  }
  if (facts.has_gpus() && facts.has_driver() && facts.RivalInTheWay().empty() &&
      !unblocked.empty()) {
    findings.Add(fmt::format("{} {} installed, and neither modprobe.d nor the kernel command line "
                             "blocks {}",
                             Join(unblocked, " and "), unblocked.size() == 1 ? "is" : "are",
                             unblocked.size() == 1 ? "it" : "them"),
                 {BlacklistCommand(), InitramfsCommand(facts)}, BlacklistFile());
  }
}

void NvidiaBlacklisted(const Facts& facts, Findings& findings) {
  for (const host::Blacklisted& line : facts.kernel.blacklist) {
    const bool is_nvidia = line.module == "nvidia" || line.module == "nvidia_uvm";
    if (facts.has_gpus() && is_nvidia && !facts.kernel.loaded.contains(line.module)) {
      findings.Add(fmt::format("{} has \"{} {}\"", line.path, line.keyword, line.module),
                   {"# not if the GPUs are meant for virtual machines", CommentOut(line),
                    InitramfsCommand(facts), fmt::format("modprobe {}", line.module)});
    }
  }
}

// A desktop on other graphics, of the mainboard say, leaves the GPUs alone.
void DisplayRuns(const Facts& facts, Findings& findings) {
  std::vector<std::string> users;
  std::vector<std::string> skipped;
  for (const host::Daemon& daemon : facts.displays) {
    const auto open = facts.system.has_gpu_open.find(daemon.pid);
    const std::string name = fmt::format("{} (pid {})", daemon.name, daemon.pid);
    if (open == facts.system.has_gpu_open.end()) {
      skipped.push_back(name);
    } else if (open->second) {
      users.push_back(name);
    }
  }
  if (!facts.has_gpus()) {
    return;
  }
  if (!users.empty()) {
    findings.Add(fmt::format("{} has opened a GPU", Join(users, ", ")),
                 {"systemctl set-default multi-user.target",
                  "systemctl isolate multi-user.target   # ends the session and all its programs"});
  } else if (!skipped.empty()) {
    findings.AddInfo(
        fmt::format("{} is running; only root can see whether it uses a GPU", Join(skipped, ", ")),
        {"sudo kgpu doctor --only display-runs"});
  }
}

void DisplayStarts(const Facts& facts, Findings& findings) {
  if (facts.has_gpus() && facts.displays.empty() && facts.system.has_display_manager &&
      facts.system.default_target == "graphical.target") {
    findings.Add("default.target is graphical.target and a display manager is installed",
                 {"systemctl set-default multi-user.target"});
  }
}

constexpr std::array kNouveauChecks = {
    Check{"driver-nouveau-loaded", "nouveau or nova uses the GPUs", Severity::kError,
          "A GPU has one kernel driver. While nouveau, or nova, its successor, has the GPUs, "
          "NVIDIA's module reports \"No such device\". The initial RAM disk may load it before "
          "modprobe.d is read: rebuild it.",
          Loaded},
    Check{"driver-nouveau-not-blacklisted", "Nothing blocks nouveau or nova at the next boot",
          Severity::kWarning,
          "The first module to load takes the GPUs. --fix writes the file; then rebuild the "
          "initial RAM disk.",
          NotBlacklisted},
    Check{"driver-module-blacklisted", "modprobe.d blocks NVIDIA's module", Severity::kError,
          "Left over from tools that switch graphics cards or from an older installation; or set "
          "on purpose for virtual machines. Therefore --fix leaves it unchanged.",
          NvidiaBlacklisted},
    Check{"display-runs", "A desktop uses the GPUs", Severity::kWarning,
          "It keeps the device nodes open, so the driver cannot be unloaded or upgraded and a GPU "
          "cannot be reset, and it uses memory that pods expect to be free.",
          DisplayRuns},
    Check{"display-starts", "A desktop will start at the next boot", Severity::kInfo,
          "It is not running now, but at the next boot it takes the GPUs before the kubelet does.",
          DisplayStarts},
};

}  // namespace

std::span<const Check> NouveauChecks() {
  return kNouveauChecks;
}

}  // namespace kgpu::doctor
