// Who else wants the GPUs: nouveau, a blacklist, a desktop.
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "src/platform/base/strings.h"
#include "src/setup/doctor/check.h"
#include "src/setup/doctor/commands.h"
#include "src/setup/doctor/facts.h"

namespace kgpu::doctor {
namespace {

constexpr std::string_view kNouveauFile = "/etc/modprobe.d/kgpu-nouveau.conf";

bool IsBlacklisted(const Facts& facts, std::string_view module) {
  return std::ranges::any_of(facts.kernel.blacklist,
                             [&](const Blacklisted& line) { return line.module == module; });
}

// The kernel's command line keeps it out, in one of the three ways that are in use.
bool IsOffByCommandLine(const Facts& facts) {
  for (const std::string_view word : Words(facts.kernel.cmdline)) {
    const std::string_view key = word.substr(0, word.find('='));
    const bool is_list =
        key == "modprobe.blacklist" || key == "rd.driver.blacklist" || key == "module_blacklist";
    const std::vector<std::string_view> names = is_list && key != word
                                                    ? Split(word.substr(key.size() + 1), ',')
                                                    : std::vector<std::string_view>();
    if (word == "nouveau.modeset=0" || std::ranges::find(names, "nouveau") != names.end()) {
      return true;
    }
  }
  return false;
}

FileEdit BlacklistFile() {
  return {std::string(kNouveauFile),
          "# NVIDIA's driver and nouveau can not share a GPU.\nblacklist nouveau\noptions nouveau "
          "modeset=0\n",
          std::nullopt};
}

// Makes a comment of that line and of no other. A file of a package stays as it is: one of the same
// name in /etc takes its place.
std::string CommentOut(const Blacklisted& line) {
  const std::string module = line.module == "nvidia_uvm" ? "nvidia[-_]uvm" : line.module;
  const std::string pattern =
      fmt::format("s/^[[:space:]]*{}[[:space:]]+{}([[:space:]].*)?$/# &/", line.keyword, module);
  const std::string name = line.path.substr(line.path.rfind('/'));
  if (line.path.starts_with("/etc/")) {
    return fmt::format("sed -i.before-kgpu -E '{}' {}", pattern, line.path);
  }
  return fmt::format("sed -E '{}' {} > /etc/modprobe.d{}", pattern, line.path, name);
}

void Loaded(const Facts& facts, Findings& findings) {
  if (facts.has_gpus() && facts.kernel.loaded.contains("nouveau")) {
    findings.Add("/proc/modules names nouveau",
                 {fmt::format("printf 'blacklist nouveau\\noptions nouveau modeset=0\\n' > {}",
                              kNouveauFile),
                  InitramfsCommand(facts), "reboot"});
  }
}

void NotBlacklisted(const Facts& facts, Findings& findings) {
  if (facts.has_gpus() && facts.has_driver() && facts.kernel.installed.contains("nouveau") &&
      !facts.kernel.loaded.contains("nouveau") && !IsBlacklisted(facts, "nouveau") &&
      !IsOffByCommandLine(facts)) {
    findings.Add("nouveau is installed, and neither modprobe.d nor the command line keeps it out",
                 {fmt::format("printf 'blacklist nouveau\\noptions nouveau modeset=0\\n' > {}",
                              kNouveauFile),
                  InitramfsCommand(facts)},
                 BlacklistFile());
  }
}

void NvidiaBlacklisted(const Facts& facts, Findings& findings) {
  for (const Blacklisted& line : facts.kernel.blacklist) {
    const bool is_nvidia = line.module == "nvidia" || line.module == "nvidia_uvm";
    if (facts.has_gpus() && is_nvidia && !facts.kernel.loaded.contains(line.module)) {
      findings.Add(fmt::format("{} has \"{} {}\"", line.path, line.keyword, line.module),
                   {"# not where the cards are meant for virtual machines", CommentOut(line),
                    InitramfsCommand(facts), fmt::format("modprobe {}", line.module)});
    }
  }
}

// A desktop on other graphics, of the mainboard say, leaves the GPUs alone.
void DisplayRuns(const Facts& facts, Findings& findings) {
  std::vector<std::string> users;
  std::vector<std::string> unseen;
  for (const engine::Daemon& daemon : facts.system.displays) {
    const auto open = facts.system.has_gpu_open.find(daemon.pid);
    const std::string name = fmt::format("{} (pid {})", daemon.name, daemon.pid);
    if (open == facts.system.has_gpu_open.end()) {
      unseen.push_back(name);
    } else if (open->second) {
      users.push_back(name);
    }
  }
  if (!facts.has_gpus()) {
    return;
  }
  if (!users.empty()) {
    findings.Add(fmt::format("{} has a GPU open", Join(users, ", ")),
                 {"systemctl set-default multi-user.target",
                  "systemctl isolate multi-user.target   # ends the session and all in it"});
  } else if (!unseen.empty()) {
    findings.AddInfo(
        fmt::format("{} runs; whether with a GPU, only root can see", Join(unseen, ", ")),
        {"sudo kgpu doctor --only display-runs"});
  }
}

void DisplayStarts(const Facts& facts, Findings& findings) {
  if (facts.has_gpus() && facts.system.displays.empty() && facts.system.has_display_manager &&
      facts.system.default_target == "graphical.target") {
    findings.Add("default.target is graphical.target and a display manager is installed",
                 {"systemctl set-default multi-user.target"});
  }
}

constexpr std::array kNouveauChecks = {
    Check{"driver-nouveau-loaded", "nouveau holds the GPUs", Severity::kError,
          "A GPU has one kernel driver. While nouveau is loaded NVIDIA's module says \"No such "
          "device\". The initial RAM disk may load it before modprobe.d of the disk is read: build "
          "it again.",
          Loaded},
    Check{"driver-nouveau-not-blacklisted", "nothing keeps nouveau out at the next boot",
          Severity::kWarning,
          "Whichever of the two modules comes first takes the GPUs. --fix writes the file; the "
          "initial RAM disk is to be built again afterwards.",
          NotBlacklisted},
    Check{
        "driver-module-blacklisted", "modprobe.d keeps NVIDIA's module out", Severity::kError,
        "Left behind by tools that switch graphics cards, or by an older installation; or set on "
        "purpose, where virtual machines shall have the cards. That is why --fix leaves it alone.",
        NvidiaBlacklisted},
    Check{"display-runs", "A desktop uses the GPUs", Severity::kWarning,
          "It holds the device nodes open, so that a driver can not be unloaded or upgraded and a "
          "GPU can not be reset, and it takes memory that pods are promised.",
          DisplayRuns},
    Check{"display-starts", "A desktop will start at the next boot", Severity::kInfo,
          "Not now, though at the next boot it takes the GPUs before the kubelet does.",
          DisplayStarts},
};

}  // namespace

std::span<const Check> NouveauChecks() {
  return kNouveauChecks;
}

}  // namespace kgpu::doctor
