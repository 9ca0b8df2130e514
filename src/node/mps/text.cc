#include "src/node/mps/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>

#include "src/platform/base/strings.h"

namespace kgpu::mps {
namespace {

constexpr uint64_t kMostThreads = 100;  // percent

// "25.0": digits, a point, digits.
std::optional<double> ParsePercentage(std::string_view line) {
  const size_t point = line.find('.');
  if (point == std::string_view::npos) {
    return std::nullopt;
  }
  const auto whole = ParseUint(line.substr(0, point));
  const std::string_view rest = line.substr(point + 1);
  constexpr size_t kMostDigits = 9;
  if (!whole || *whole > kMostThreads || rest.empty() || rest.size() > kMostDigits) {
    return std::nullopt;
  }
  const auto fraction = ParseUint(rest);
  if (!fraction) {
    return std::nullopt;
  }
  double scale = 1;
  for (size_t i = 0; i < rest.size(); ++i) {
    scale *= 10;
  }
  return static_cast<double>(*whole) + static_cast<double>(*fraction) / scale;
}

// The value of `key`, of "key value" lines.
StatusOr<uint64_t> ValueOf(std::string_view text, std::string_view key, uint64_t most) {
  for (const std::string_view line : Split(text, '\n')) {
    if (line.size() > key.size() && line.starts_with(key) && line[key.size()] == ' ') {
      const auto value = ParseUint(line.substr(key.size() + 1));
      if (value && *value <= most) {
        return *value;
      }
      return InvalidArgument("{}: \"{}\" must be a number up to {}", key,
                             Printable(line.substr(key.size() + 1)), most);
    }
  }
  return InvalidArgument("{}: missing", key);
}

}  // namespace

std::optional<uint32_t> ParsePid(std::string_view line) {
  const auto pid = ParseUint(line);
  constexpr uint64_t kMost = std::numeric_limits<int32_t>::max();
  return pid && *pid > 0 && *pid <= kMost ? std::optional(static_cast<uint32_t>(*pid))
                                          : std::nullopt;
}

StatusOr<ControlState> ParseControlState(std::string_view text) {
  std::optional<ControlState> state;
  for (const std::string_view untrimmed : Split(text, '\n')) {
    const std::string_view line = Trim(untrimmed);
    if (const auto threads = ParsePercentage(line)) {
      state = ControlState{.threads = *threads, .servers = {}};
    } else if (const auto pid = ParsePid(line);
               pid && state && state->servers.size() < kMostServers) {
      state->servers.push_back(*pid);
    }
  }
  if (!state) {
    return InvalidArgument("the MPS control daemon answers \"{}\" instead of a percentage",
                           Printable(Trim(text)));
  }
  return *std::move(state);
}

std::string SettingCommands(const Settings& settings) {
  std::string commands = fmt::format("set_default_active_thread_percentage {}\n", settings.threads);
  if (settings.memory.count != 0) {
    // The daemon sees one device.
    commands += fmt::format("set_default_device_pinned_mem_limit 0 {}M\n", settings.memory.mebi());
  }
  return commands;
}

bool IsFaulted(std::string_view text) {
  return std::ranges::any_of(Split(text, '\n'),
                             [](std::string_view line) { return Trim(line) == "FAULT"; });
}

std::string RecordText(const Record& record) {
  return fmt::format("version 1\npid {}\nstart {}\nthreads {}\nmemoryMiB {}\nallUsers {}\n",
                     record.pid, record.start_time, record.settings.threads,
                     record.settings.memory.mebi(), record.settings.serves_all_users ? 1 : 0);
}

StatusOr<Record> ParseRecord(std::string_view text) {
  constexpr uint64_t kMostMebi = uint64_t{1} << 40;
  const StatusOr<uint64_t> version = ValueOf(text, "version", 1);
  const StatusOr<uint64_t> pid = ValueOf(text, "pid", std::numeric_limits<int32_t>::max());
  const StatusOr<uint64_t> start = ValueOf(text, "start", std::numeric_limits<uint64_t>::max());
  const StatusOr<uint64_t> threads = ValueOf(text, "threads", kMostThreads);
  const StatusOr<uint64_t> memory = ValueOf(text, "memoryMiB", kMostMebi);
  const StatusOr<uint64_t> all_users = ValueOf(text, "allUsers", 1);
  for (const auto* value : {&version, &pid, &start, &threads, &memory, &all_users}) {
    if (!value->ok()) {
      return value->status();
    }
  }
  if (*pid == 0 || *threads == 0) {
    return InvalidArgument("pid and threads must not be 0");
  }
  return Record{.pid = static_cast<uint32_t>(*pid),
                .start_time = *start,
                .settings = {.threads = static_cast<unsigned>(*threads),
                             .memory = MebiBytes(*memory),
                             .serves_all_users = *all_users == 1}};
}

}  // namespace kgpu::mps
