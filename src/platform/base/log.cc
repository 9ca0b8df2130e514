#include "src/platform/base/log.h"

#include <fmt/chrono.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <iterator>
#include <memory>
#include <utility>

#include "src/platform/base/log_format.h"
#include "src/platform/base/mutex.h"

namespace kgpu {
namespace {

constexpr size_t kMaxValueLength = 1000;

// The log is the one piece of process-wide state (docs/architecture.md, "No globals").
struct LogState {
  Mutex mutex;
  std::shared_ptr<const LogSink> sink ABSL_GUARDED_BY(mutex);
  std::atomic<LogLevel> level{LogLevel::kInfo};
  std::atomic<LogFormat> format{LogFormat::kKeyValue};
};

LogState& State() {
  static LogState state;
  return state;
}

std::string_view Name(LogLevel level) {
  static constexpr std::array<std::string_view, 4> kNames = {"debug", "info", "warning", "error"};
  return kNames.at(static_cast<size_t>(level));
}

bool NeedsQuotes(std::string_view value) {
  return value.empty() || value.find_first_of(" =\"\\") != std::string_view::npos ||
         std::string_view::npos != value.find_first_of(std::string_view("\0\n\r\t\x1b", 5));
}

void AppendValue(std::string& line, std::string_view value) {
  const std::string_view shown = value.substr(0, kMaxValueLength);
  if (!NeedsQuotes(shown)) {
    line += shown;
    return;
  }
  line += '"';
  for (const char c : shown) {
    if (c == '"' || c == '\\') {
      line += '\\';
      line += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      fmt::format_to(std::back_inserter(line), "\\x{:02x}", static_cast<unsigned char>(c));
    } else {
      line += c;
    }
  }
  line += '"';
}

std::string KeyValueLine(LogLevel level, std::string_view event,
                         std::initializer_list<LogField> fields) {
  const auto now =
      std::chrono::time_point_cast<std::chrono::milliseconds>(std::chrono::system_clock::now());
  std::string line =
      fmt::format("time={:%Y-%m-%dT%H:%M:}{:06.3f}Z level={} event=",
                  std::chrono::time_point_cast<std::chrono::minutes>(now),
                  static_cast<double>(now.time_since_epoch().count() % 60000) / 1000, Name(level));
  AppendValue(line, event);
  for (const LogField& field : fields) {
    line += ' ';
    line += field.key;
    line += '=';
    AppendValue(line, field.value);
  }
  return line;
}

// Control bytes become blanks: a value must not write to the terminal.
void AppendText(std::string& line, std::string_view text) {
  for (const char c : text.substr(0, kMaxValueLength)) {
    line += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? ' ' : c;
  }
}

std::string TextLine(LogLevel level, std::string_view event,
                     std::initializer_list<LogField> fields) {
  std::string line = fmt::format("kgpu: {}: {}", Name(level), event);
  for (const LogField& field : fields) {
    fmt::format_to(std::back_inserter(line), "; {}: ", field.key);
    AppendText(line, field.value);
  }
  return line;
}

// A line that cannot be written (stderr closed, disk full) is dropped: no one can be told.
void WriteToStderr(LogLevel /*level*/, std::string_view line) {
  std::string whole(line);
  whole += '\n';
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, whole.data(), whole.size());
}

}  // namespace

LogSink SetLogSink(LogSink sink) {
  auto shared = sink ? std::make_shared<const LogSink>(std::move(sink)) : nullptr;
  {
    const MutexLock lock(State().mutex);
    State().sink.swap(shared);
  }
  return shared ? *shared : LogSink();
}

void SetLogLevel(LogLevel level) {
  State().level.store(level);
}

bool IsLogged(LogLevel level) {
  return level >= State().level.load();
}

void SetLogFormat(LogFormat format) {
  State().format.store(format);
}

void WriteLog(LogLevel level, std::string_view event, std::initializer_list<LogField> fields) {
  const std::string line = State().format.load() == LogFormat::kText
                               ? TextLine(level, event, fields)
                               : KeyValueLine(level, event, fields);
  std::shared_ptr<const LogSink> sink;
  {
    const MutexLock lock(State().mutex);
    sink = State().sink;
  }
  if (sink) {
    (*sink)(level, line);
  } else {
    WriteToStderr(level, line);
  }
}

}  // namespace kgpu
