#include "src/sys/unit_word.h"

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

}  // namespace

std::string UnitCommand(const std::vector<std::string>& words) {
  std::string command;
  for (const std::string& word : words) {
    command += command.empty() ? "" : " ";
    command += UnitWord(word);
  }
  return command;
}

}  // namespace kgpu::sys
