#include "src/container/engine/daemon_flags.h"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <filesystem>

#include "src/container/engine/unit_command.h"
#include "src/platform/base/strings.h"

namespace kgpu::engine {
namespace {

constexpr std::array<std::string_view, 6> kSystemFolders = {
    "/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"};

// A word after a flag that is no flag itself counts as its value.
std::vector<DaemonFlag> FlagsOf(const std::vector<UnitArgument>& arguments) {
  std::vector<DaemonFlag> flags;
  for (size_t i = 1; i < arguments.size(); ++i) {
    const auto& [text, where] = arguments[i];
    if (!text.starts_with('-')) {
      continue;
    }
    DaemonFlag flag{.name = text.substr(0, text.find('=')), .value = {}, .where = where};
    if (flag.name.size() < text.size()) {
      flag.value = text.substr(flag.name.size() + 1);
    } else if (i + 1 < arguments.size() && !arguments[i + 1].text.starts_with('-')) {
      flag.value = arguments[++i].text;
    }
    flags.push_back(std::move(flag));
  }
  return flags;
}

// PATH in /proc/<pid>/environ. Source: proc(5).
std::vector<std::string> PathOf(const sys::Root& host, const Engine& engine) {
  std::vector<std::string> folders;
  if (!engine.daemon) {
    return folders;
  }
  const auto text = host.ReadFile(fmt::format("proc/{}/environ", engine.daemon->pid));
  const std::string variables = text.ok() ? *text : "";
  for (const std::string_view variable : Split(variables, '\0')) {
    if (variable.starts_with("PATH=")) {
      for (const std::string_view folder : Split(variable.substr(5), ':')) {
        if (folder.starts_with('/')) {
          folders.emplace_back(folder);
        }
      }
    }
  }
  return folders;
}

}  // namespace

std::string DaemonFlag::Text() const {
  return value.empty() ? name : fmt::format("{}={}", name, Printable(value));
}

std::vector<DaemonFlag> ReadDaemonFlags(const sys::Root& host, const Engine& engine) {
  std::vector<DaemonFlag> flags = FlagsOf(ReadUnitCommand(host, engine.unit));
  if (!engine.daemon) {
    return flags;
  }
  const std::string where = fmt::format("process {} ({})", engine.daemon->pid, engine.daemon->name);
  std::vector<UnitArgument> arguments;
  for (const std::string& argument : engine.daemon->argv) {
    arguments.push_back({argument, where});
  }
  for (DaemonFlag& flag : FlagsOf(arguments)) {
    const bool is_known = std::ranges::any_of(flags, [&](const DaemonFlag& other) {
      return other.name == flag.name && other.value == flag.value;
    });
    if (!is_known) {
      flags.push_back(std::move(flag));
    }
  }
  return flags;
}

std::vector<DaemonFlag> Named(const std::vector<DaemonFlag>& flags,
                              std::initializer_list<std::string_view> names) {
  std::vector<DaemonFlag> found;
  for (const DaemonFlag& flag : flags) {
    if (std::ranges::find(names, flag.name) != names.end()) {
      found.push_back(flag);
    }
  }
  return found;
}

std::vector<std::string> ProgramFolders(const sys::Root& host, const Engine& engine) {
  std::vector<std::string> folders;
  if (!engine.programs_folder.empty()) {
    folders.push_back(engine.programs_folder);
  }
  for (std::string& folder : PathOf(host, engine)) {
    folders.push_back(std::move(folder));
  }
  folders.insert(folders.end(), kSystemFolders.begin(), kSystemFolders.end());
  return folders;
}

std::string FindForEngine(const sys::Root& host, const Engine& engine, std::string_view program) {
  const auto is_usable = [&host](const std::string& path) {
    const StatusOr<struct stat> found = host.Stat(path);
    return found.ok() && S_ISREG(found->st_mode) && (found->st_mode & 0111) != 0;
  };
  if (program.starts_with('/')) {
    return is_usable(std::string(program)) ? std::string(program) : "";
  }
  for (const std::string& folder : ProgramFolders(host, engine)) {
    if (std::string path = fmt::format("{}/{}", folder, program); is_usable(path)) {
      return path;
    }
  }
  return "";
}

}  // namespace kgpu::engine
