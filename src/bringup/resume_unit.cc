#include "src/bringup/resume_unit.h"

#include <fmt/format.h>

#include "src/base/status_macros.h"
#include "src/bringup/record.h"
#include "src/bringup/systemctl.h"

namespace kgpu::bringup {
namespace {

constexpr char kUnitName[] = "kgpu-node-up.service";

// Source: systemd.service(5) "COMMAND LINES", systemd.unit(5) "SPECIFIERS".
std::string Quoted(std::string_view word) {
  std::string text = "\"";
  for (const char c : word) {
    if (c == '"' || c == '\\') {
      text += '\\';
    } else if (c == '%' || c == '$') {
      text += c;
    }
    text += c;
  }
  return text + '"';
}

}  // namespace

std::string ResumeUnitText(const std::vector<std::string>& command) {
  std::string words;
  for (const std::string& word : command) {
    words += (words.empty() ? "" : " ") + Quoted(word);
  }
  return fmt::format(
      "# Written by kgpu node up, which removes it when it is done.\n"
      "[Unit]\n"
      "Description=kgpu: go on with bringing this GPU node up\n"
      "Wants=network-online.target\n"
      "After=network-online.target kgpu-driver-resume.service\n"
      "ConditionPathExists={}\n"
      "\n"
      "[Service]\n"
      "Type=oneshot\n"
      "ExecStart={}\n"
      "\n"
      "[Install]\n"
      "WantedBy=multi-user.target\n",
      kRecordFile, words);
}

Status PutResumeUnit(const Host& host, const std::vector<std::string>& command) {
  RETURN_IF_ERROR(host.disk.Write(std::string(kResumeUnit), ResumeUnitText(command), 0644));
  RETURN_IF_ERROR(Systemctl(host.root, host.runner, {"daemon-reload"}));
  return Systemctl(host.root, host.runner, {"enable", kUnitName});
}

Status RemoveResumeUnit(const Host& host) {
  if (!host.root.Exists(kResumeUnit)) {
    return OkStatus();
  }
  RETURN_IF_ERROR(Systemctl(host.root, host.runner, {"disable", kUnitName}));
  RETURN_IF_ERROR(host.disk.Remove(std::string(kResumeUnit)));
  return Systemctl(host.root, host.runner, {"daemon-reload"});
}

}  // namespace kgpu::bringup
