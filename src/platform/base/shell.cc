#include "src/platform/base/shell.h"

#include "src/platform/base/strings.h"

namespace kgpu {

std::string ShellWord(std::string_view text) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789@%_+=:,./-";
  std::string shown = Printable(text, text.size());
  if (!shown.empty() && shown.find_first_not_of(kPlain) == std::string::npos) {
    return shown;
  }
  std::string word = "'";
  for (const char c : shown) {
    word += c == '\'' ? std::string_view("'\\''") : std::string_view(&c, 1);
  }
  word += '\'';
  return word;
}

}  // namespace kgpu
