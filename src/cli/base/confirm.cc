#include "src/cli/base/confirm.h"

#include <unistd.h>

#include <array>

#include "src/cli/base/output.h"

namespace kgpu::cli {

bool HasTerminal() {
  return isatty(STDIN_FILENO) != 0 && isatty(STDERR_FILENO) != 0;
}

bool AskYesNo(std::string_view question) {
  if (!HasTerminal()) {
    return false;
  }
  PrintNote(fmt::format("{} [y/N]", question));
  std::array<char, 64> answer{};
  const ssize_t length = read(STDIN_FILENO, answer.data(), answer.size());
  return length > 0 && (answer[0] == 'y' || answer[0] == 'Y');
}

Status Confirm(std::string_view question) {
  if (!HasTerminal()) {
    return InvalidArgument("{} Cannot ask without a terminal: use --yes, or --dry-run to preview",
                           question);
  }
  return AskYesNo(question) ? OkStatus() : FailedPrecondition("nothing was changed");
}

}  // namespace kgpu::cli
