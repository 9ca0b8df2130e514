#include "src/container/shim/runtime_log.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "src/container/shim/timestamp.h"
#include "src/platform/base/unique_fd.h"

namespace kgpu::shim {
namespace {

// The message in double quotes, as both JSON and logrus' text want it.
std::string Quoted(std::string_view message) {
  std::string text = "\"";
  for (const char c : message) {
    if (c == '"' || c == '\\') {
      text += '\\';
      text += c;
    } else if (c == '\n') {
      text += "\\n";
    } else if (static_cast<unsigned char>(c) < 0x20) {
      text += fmt::format("\\u{:04x}", static_cast<unsigned char>(c));
    } else {
      text += c;
    }
  }
  return text + '"';
}

}  // namespace

std::string RuntimeLogLine(std::string_view message, bool is_json, WallTime now) {
  return is_json ? fmt::format("{{\"level\":\"error\",\"msg\":{},\"time\":\"{}\"}}\n",
                               Quoted(message), Timestamp(now))
                 : fmt::format("time=\"{}\" level=error msg={}\n", Timestamp(now), Quoted(message));
}

void WriteRuntimeLog(const CommandLine& line, std::string_view message, WallTime now) {
  std::string_view path = line.log;
  // crun names files so; its other logs (journald, syslog) have stderr as well.
  if (path.starts_with("file:")) {
    path.remove_prefix(5);
  }
  if (path.empty() || path.starts_with("journald:") || path.starts_with("syslog:")) {
    return;
  }
  const UniqueFd fd(::open(std::string(path).c_str(),
                           O_WRONLY | O_APPEND | O_CREAT | O_NONBLOCK | O_CLOEXEC, 0644));
  if (fd.is_valid()) {
    const std::string text = RuntimeLogLine(message, line.is_log_json, now);
    [[maybe_unused]] const ssize_t written = ::write(fd.get(), text.data(), text.size());
  }
}

}  // namespace kgpu::shim
