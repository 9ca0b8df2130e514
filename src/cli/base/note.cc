#include "src/cli/base/note.h"

#include <unistd.h>

#include <fmt/format.h>

#include <algorithm>

#include "src/platform/base/strings.h"
#include "src/platform/sys/read_fd.h"

namespace kgpu::cli {

std::string ForTerminal(std::string_view text) {
  std::string shown;
  while (!text.empty()) {
    const std::string_view piece = text.substr(0, text.find_first_of("\n\t"));
    shown += Printable(piece, piece.size());
    text.remove_prefix(piece.size());
    shown += text.substr(0, 1);
    text.remove_prefix(std::min<size_t>(text.size(), 1));
  }
  return shown;
}

void PrintNote(std::string_view text) {
  // Nothing can be done if standard error is closed.
  (void)sys::WriteAll(STDERR_FILENO, fmt::format("{}\n", ForTerminal(text)));
}

void PrintNotes(const std::vector<std::string>& notes, std::string_view before) {
  for (const std::string& note : notes) {
    PrintNote(fmt::format("{}{}", before, note));
  }
}

}  // namespace kgpu::cli
