// The format of log lines.
#pragma once

namespace kgpu {

enum class LogFormat {
  kKeyValue,  // for programs: time=… level=warning event="probe restarted" attempt=3
  kText,      // for people at a terminal: kgpu: warning: probe restarted; attempt: 3
};

// Set once by main; the default is kKeyValue.
void SetLogFormat(LogFormat format);

}  // namespace kgpu
