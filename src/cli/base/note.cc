#include "src/cli/base/note.h"

#include <unistd.h>

#include <fmt/format.h>

#include "src/platform/sys/read_fd.h"

namespace kgpu::cli {

void PrintNote(std::string_view text) {
  // Nothing can be done if standard error is closed.
  (void)sys::WriteAll(STDERR_FILENO, fmt::format("{}\n", text));
}

void PrintNotes(const std::vector<std::string>& notes, std::string_view before) {
  for (const std::string& note : notes) {
    PrintNote(fmt::format("{}{}", before, note));
  }
}

}  // namespace kgpu::cli
