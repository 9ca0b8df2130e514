#include "src/platform/sys/unit_text.h"

#include <fmt/format.h>

#include <string_view>

namespace kgpu::sys {
namespace {

std::string UnitWord(std::string_view word) {
  std::string text = "\"";
  for (const char c : word) {
    if (c == '"' || c == '\\') {
      text += '\\';
    } else if (c == '%' || c == '$') {
      text += c;
    }
    text += c;
  }
  text += '"';
  return text;
}

// The value of ExecStart that runs exactly these words. Source: systemd.service(5) "COMMAND LINES",
// systemd.unit(5) "SPECIFIERS".
std::string UnitCommand(const std::vector<std::string>& words) {
  std::string command;
  for (const std::string& word : words) {
    command += command.empty() ? "" : " ";
    command += UnitWord(word);
  }
  return command;
}

}  // namespace

std::string Print(const BootUnit& unit) {
  return fmt::format(
      "# {}\n"
      "[Unit]\n"
      "Description={}\n"
      "Wants=network-online.target\n"
      "After=network-online.target{}{}\n"
      "ConditionPathExists={}\n"
      "{}"
      "\n"
      "[Service]\n"
      "Type=oneshot\n"
      "ExecStart={}\n"
      "\n"
      "[Install]\n"
      "WantedBy=multi-user.target\n",
      unit.remark, unit.description, unit.after.empty() ? "" : " ", unit.after, unit.condition,
      unit.unless.empty() ? "" : fmt::format("ConditionPathExists=!{}\n", unit.unless),
      UnitCommand(unit.command));
}

}  // namespace kgpu::sys
