#include "src/host/facts/daemons.h"

#include <unistd.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "src/platform/base/strings.h"

namespace kgpu::host {
namespace {

// USER_HZ: what the kernel shows to programs is always in hundredths of a second on the machines we
// know. Source: proc(5), starttime.
constexpr int64_t kTicksPerSecond = 100;

// The rest of the line that starts with `key`.
std::string_view LineOf(std::string_view text, std::string_view key) {
  for (const std::string_view line : Split(text, '\n')) {
    if (line.starts_with(key)) {
      return Trim(line.substr(key.size()));
    }
  }
  return {};
}

// Seconds since 1970 at which the machine booted.
int64_t BootTime(const sys::Root& host) {
  const auto stat = host.ReadFile("proc/stat", size_t{8} << 20);
  return stat.ok() ? static_cast<int64_t>(ParseUint(LineOf(*stat, "btime ")).value_or(0)) : 0;
}

// Field 22 of /proc/<pid>/stat; the second field, in parentheses, may hold anything.
std::optional<uint64_t> StartTicks(std::string_view stat) {
  const size_t end_of_name = stat.rfind(')');
  if (end_of_name == std::string_view::npos) {
    return std::nullopt;
  }
  const std::vector<std::string_view> fields = Words(stat.substr(end_of_name + 1));
  return fields.size() > 19 ? ParseUint(fields[19]) : std::nullopt;
}

bool IsInContainer(const sys::Root& host, const std::string& folder) {
  const auto status = host.ReadFile(folder + "/status");
  return status.ok() && Words(LineOf(*status, "NSpid:")).size() > 1;
}

// The owner of /proc/<pid> would not do: a process can make it root's by prctl(2), PR_SET_DUMPABLE.
bool IsOfTheSystem(const sys::Root& host, const Daemon& daemon) {
  const auto status = host.ReadFile(fmt::format("proc/{}/status", daemon.pid));
  if (!status.ok()) {
    return true;  // it has ended, and there is no program of it to run
  }
  std::vector<std::string_view> uids = Words(LineOf(*status, "Uid:"));
  return std::ranges::all_of(uids, [](std::string_view word) {
    const auto uid = ParseUint(word);
    return uid && (*uid == 0 || *uid == geteuid());
  });
}

std::vector<std::string> Arguments(const sys::Root& host, const std::string& folder) {
  std::vector<std::string> argv;
  const auto text = host.ReadFile(folder + "/cmdline");
  if (text.ok()) {
    for (const std::string_view argument : Split(*text, '\0')) {
      argv.emplace_back(argument);
    }
    if (!argv.empty() && argv.back().empty()) {
      argv.pop_back();  // every argument ends with a zero, the last one too
    }
  }
  return argv;
}

Daemon ReadDaemon(const sys::Root& host, pid_t pid, std::string name, int64_t boot_time) {
  const std::string folder = fmt::format("proc/{}", pid);
  Daemon daemon;
  daemon.pid = pid;
  daemon.name = std::move(name);
  daemon.argv = Arguments(host, folder);
  const auto program = host.ReadLink(folder + "/exe");
  daemon.program = program.ok() ? *program : "";
  const auto cgroups = host.ReadFile(folder + "/cgroup");
  daemon.unit = cgroups.ok() ? std::optional<std::string>(UnitOf(*cgroups)) : std::nullopt;
  const auto stat = host.ReadFile(folder + "/stat");
  const auto ticks = stat.ok() ? StartTicks(*stat) : std::nullopt;
  daemon.started = WallTime(
      std::chrono::seconds(boot_time) +
      std::chrono::milliseconds(static_cast<int64_t>(ticks.value_or(0)) * 1000 / kTicksPerSecond));
  return daemon;
}

}  // namespace

bool ShowsProcesses(const sys::Root& host) {
  return host.Exists("proc/stat");  // of every kernel
}

std::string UnitOf(std::string_view cgroups) {
  std::string unit;
  for (const std::string_view line : Split(cgroups, '\n')) {
    // "0::/system.slice/x.service" of v2, "1:name=systemd:/system.slice/x.service" of v1.
    const size_t at = line.find(":/");
    const bool is_systemds = line.starts_with("0:") || line.find(":name=systemd:") != line.npos;
    if (at == line.npos || !is_systemds || line.substr(at + 1).starts_with("/user.slice/")) {
      continue;
    }
    for (const std::string_view part : Split(line.substr(at + 2), '/')) {
      if (part.ends_with(".service")) {
        unit = part;
      } else if (part.ends_with(".scope")) {
        unit.clear();  // of a container below it
      }
    }
    if (!unit.empty()) {
      return unit;
    }
  }
  return unit;
}

std::vector<std::string> Daemon::Flags(std::initializer_list<std::string_view> names) const {
  std::vector<std::string> values;
  for (size_t i = 1; i < argv.size(); ++i) {
    for (const std::string_view flag : names) {
      const std::string_view argument = argv[i];
      if (argument == flag && i + 1 < argv.size()) {
        values.push_back(argv[i + 1]);
      } else if (argument.starts_with(flag) && argument.substr(flag.size()).starts_with('=')) {
        values.emplace_back(argument.substr(flag.size() + 1));
      }
    }
  }
  return values;
}

std::string Daemon::Flag(std::initializer_list<std::string_view> names) const {
  const std::vector<std::string> values = Flags(names);
  return values.empty() ? "" : values.front();
}

std::vector<Daemon> FindDaemons(const sys::Root& host,
                                std::initializer_list<std::string_view> names) {
  std::vector<Daemon> found;
  const auto entries = host.ListDir("proc");
  if (!entries.ok()) {
    return found;
  }
  const int64_t boot_time = BootTime(host);
  for (const std::string& entry : *entries) {
    const auto pid = ParseUint(entry);
    if (!pid) {
      continue;
    }
    const std::string folder = "proc/" + entry;
    const auto comm = host.ReadFile(folder + "/comm");
    if (!comm.ok() || std::ranges::find(names, Trim(*comm)) == names.end() ||
        IsInContainer(host, folder)) {
      continue;
    }
    Daemon daemon = ReadDaemon(host, static_cast<pid_t>(*pid), std::string(Trim(*comm)), boot_time);
    if (!daemon.argv.empty()) {  // else it has ended, and its parent has not taken note
      found.push_back(std::move(daemon));
    }
  }
  std::ranges::sort(found, {}, &Daemon::pid);
  return found;
}

std::vector<Daemon> FindSystemDaemons(const sys::Root& host,
                                      std::initializer_list<std::string_view> names) {
  std::vector<Daemon> found = FindDaemons(host, names);
  std::erase_if(found, [&host](const Daemon& daemon) { return !IsOfTheSystem(host, daemon); });
  return found;
}

std::vector<Daemon> FindDisplays(const sys::Root& host) {
  return FindDaemons(host, {"Xorg", "Xwayland", "gnome-shell", "gdm3", "gdm", "sddm", "lightdm",
                            "kwin_wayland", "weston"});
}

}  // namespace kgpu::host
