// One line per event on stderr: time, level, event name, key=value fields.
//   KGPU_LOG(kWarning, "probe restarted", {"attempt", attempt}, {"reason", Message(status)});
// error: an admin must act; warning: degraded, we recover; info: a state changed; debug: the rest.
// Never log secrets, tokens, environments or whole requests. Thread: any.
#pragma once

#include <fmt/format.h>

#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>

namespace kgpu {

enum class LogLevel { kDebug, kInfo, kWarning, kError };

// A named value of a log line, formatted immediately.
struct LogField {
  template <typename T>
  LogField(std::string_view name, const T& field_value)  // NOLINT(google-explicit-constructor):
                                                         // the call looks like {"key", value}
      : key(name), value(fmt::format("{}", field_value)) {}
  std::string_view key;
  std::string value;
};

// Receives each formatted line, without the newline.
using LogSink = std::function<void(LogLevel, std::string_view line)>;

// Gives the sink before, for whoever sets it for a while and must set it back: a test, what draws
// on the terminal. The default, an empty one, writes to stderr.
LogSink SetLogSink(LogSink sink);
// Lines below `level` are dropped; the default is kInfo.
void SetLogLevel(LogLevel level);
bool IsLogged(LogLevel level);

// Renders and writes one line. Values with blanks, quotes or control bytes are quoted and escaped.
void WriteLog(LogLevel level, std::string_view event, std::initializer_list<LogField> fields);

}  // namespace kgpu

#define KGPU_LOG(level, event, ...)                                      \
  do {                                                                   \
    if (::kgpu::IsLogged(::kgpu::LogLevel::level)) {                     \
      ::kgpu::WriteLog(::kgpu::LogLevel::level, (event), {__VA_ARGS__}); \
    }                                                                    \
  } while (false)
