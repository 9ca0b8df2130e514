#include "src/container/shim/command_line.h"

#include <algorithm>
#include <array>
#include <optional>

namespace kgpu::shim {
namespace {

constexpr std::string_view kRootFlag = "--kgpu-root";

constexpr std::array<std::string_view, 20> kVerbs = {
    "checkpoint", "create", "delete", "events", "exec",  "features", "help",
    "init",       "kill",   "list",   "mounts", "pause", "ps",       "restore",
    "resume",     "run",    "spec",   "start",  "state", "update"};

// Flags before the verb that take a value, and those that do not; of any other flag we learn it
// from whether a verb follows.
constexpr std::array<std::string_view, 7> kGlobalWithValue = {
    "log", "log-format", "log-level", "root", "rootless", "cgroup-manager", "criu"};
constexpr std::array<std::string_view, 8> kGlobalAlone = {
    "debug", "systemd-cgroup", "help", "h", "version", "v", "V", "usage"};

constexpr std::array<std::string_view, 5> kStartWithValue = {
    "console-socket", "pid-file", "pidfd-socket", "preserve-fds", "config"};

template <size_t N>
bool Has(const std::array<std::string_view, N>& names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

// "--name=value", "-name value": Go's flags take one dash for two.
struct Flag {
  std::string_view name;
  std::optional<std::string_view> value;
  bool is_long = false;  // two dashes
};

std::optional<Flag> AsFlag(std::string_view argument) {
  if (argument.size() < 2 || argument.front() != '-') {
    return std::nullopt;
  }
  Flag flag;
  flag.is_long = argument[1] == '-';
  argument.remove_prefix(flag.is_long ? 2 : 1);
  const size_t equals = argument.find('=');
  flag.name = argument.substr(0, equals);
  if (equals != std::string_view::npos) {
    flag.value = argument.substr(equals + 1);
  }
  return flag;
}

class Scanner {
 public:
  explicit Scanner(std::span<const std::string_view> arguments) : arguments_(arguments) {}

  CommandLine Scan() {
    ScanOwn();
    const std::string_view verb = ScanGlobal();
    if (!asks_help_ && (verb == "create" || verb == "run")) {
      ScanStart();
      line_.starts_container = !asks_help_ && !line_.container.empty();
    }
    return line_;
  }

 private:
  bool AtEnd() const { return at_ >= arguments_.size(); }
  std::string_view Next() { return arguments_[at_++]; }

  // The value of a flag that needs one; empty when the call ends before it.
  std::string_view ValueOf(const Flag& flag) {
    if (flag.value) {
      return *flag.value;
    }
    return AtEnd() ? std::string_view() : Next();
  }

  void ScanOwn() {
    while (!AtEnd() && arguments_[at_].starts_with(kRootFlag)) {
      const std::optional<Flag> flag = AsFlag(arguments_[at_]);
      if (!flag || flag->name != kRootFlag.substr(2)) {
        return;
      }
      ++at_;
      line_.root = ValueOf(*flag);
      line_.own = at_;
    }
  }

  // Returns the command, or "" if there is no known one.
  std::string_view ScanGlobal() {
    while (!AtEnd()) {
      const std::string_view argument = Next();
      const std::optional<Flag> flag = AsFlag(argument);
      if (!flag) {
        return Has(kVerbs, argument) ? argument : std::string_view();
      }
      if (flag->name.empty()) {  // "--" ends the flags
        continue;
      }
      TakeGlobal(*flag);
    }
    return {};
  }

  void TakeGlobal(const Flag& flag) {
    asks_help_ = asks_help_ || IsHelp(flag) || flag.name == "version" || flag.name == "v" ||
                 flag.name == "V";
    if (flag.value || Has(kGlobalAlone, flag.name)) {
      SetGlobal(flag.name, flag.value.value_or(""));
    } else if (Has(kGlobalWithValue, flag.name) ||
               (!AtEnd() && !arguments_[at_].starts_with('-') && !Has(kVerbs, arguments_[at_]))) {
      SetGlobal(flag.name, ValueOf(flag));
    }
  }

  void SetGlobal(std::string_view name, std::string_view value) {
    if (name == "log") {
      line_.log = value;
    } else if (name == "log-format") {
      line_.is_log_json = value == "json";
    }
  }

  static bool IsHelp(const Flag& flag) {
    return flag.name == "help" || flag.name == "h" || flag.name == "usage" || flag.name == "?";
  }

  // Flags may follow the container's name: crun and older runc accept that.
  void ScanStart() {
    bool are_flags_over = false;
    while (!AtEnd()) {
      const std::string_view argument = Next();
      const std::optional<Flag> flag = are_flags_over ? std::nullopt : AsFlag(argument);
      if (!flag) {
        if (line_.container.empty()) {
          line_.container = argument;
        }
      } else if (flag->name.empty()) {
        are_flags_over = true;
      } else {
        TakeStart(*flag, argument);
      }
    }
  }

  // The names that getopt_long takes for `name`: those that no other flag begins with.
  static bool IsShortFor(const Flag& flag, std::string_view name, size_t least) {
    return flag.name.size() >= least && name.starts_with(flag.name);
  }

  void TakeStart(const Flag& flag, std::string_view argument) {
    asks_help_ = asks_help_ || IsHelp(flag);
    if (flag.name == "b" || flag.name == "bundle" ||
        (flag.is_long && IsShortFor(flag, "bundle", 1))) {
      line_.bundle = ValueOf(flag);
    } else if (flag.name == "f" || (flag.is_long && IsShortFor(flag, "config", 4))) {
      line_.spec_file = ValueOf(flag);
    } else if (Has(kStartWithValue, flag.name)) {
      (void)ValueOf(flag);
    } else if (!flag.is_long) {
      TakeLetters(argument.substr(1));
    }
  }

  // getopt's "-db DIR", "-bDIR".
  void TakeLetters(std::string_view letters) {
    for (size_t i = 0; i < letters.size(); ++i) {
      if (letters[i] != 'b' && letters[i] != 'f') {
        if (letters[i] != 'd') {
          return;
        }
        continue;
      }
      const std::string_view rest = letters.substr(i + 1);
      const std::string_view value =
          ValueOf({.name = {}, .value = rest.empty() ? std::nullopt : std::optional(rest)});
      (letters[i] == 'b' ? line_.bundle : line_.spec_file) = value;
      return;
    }
  }

  std::span<const std::string_view> arguments_;
  size_t at_ = 0;
  bool asks_help_ = false;
  CommandLine line_;
};

}  // namespace

CommandLine ScanCommandLine(std::span<const std::string_view> arguments) {
  return Scanner(arguments).Scan();
}

}  // namespace kgpu::shim
