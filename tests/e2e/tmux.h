// A program on a screen that is emulated: its lines as a person sees them, in any size.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "src/platform/base/unique_fd.h"
#include "testing/temp_dir.h"

namespace kgpu::e2e {

bool HasTmux();

// Ended on destruction, with all that runs in it.
class Tmux {
 public:
  // Runs `command` by the shell. `environment` has entries "NAME=value" beside TERM and a UTF-8
  // locale.
  Tmux(size_t columns, size_t rows, const std::string& command,
       const std::vector<std::string>& environment = {});
  ~Tmux();
  Tmux(const Tmux&) = delete;
  Tmux& operator=(const Tmux&) = delete;

  // Names as tmux has them ("Enter", "Down", "C-z"), or text.
  void Press(const std::vector<std::string>& keys) const;
  void Resize(size_t columns, size_t rows) const;
  // The lines of the screen, without trailing blanks.
  std::string Screen() const;
  // Looks at the screen whenever the program has written to it, for at most `limit`; false if the
  // condition did not hold. Never sleeps.
  bool WaitUntil(const std::function<bool(const std::string& screen)>& condition,
                 std::chrono::milliseconds limit = std::chrono::seconds(30)) const;
  bool WaitFor(std::string_view text) const;

 private:
  std::string Run(std::vector<std::string> words) const;

  TempDir dir_;
  UniqueFd written_;  // readable after the program has written
};

}  // namespace kgpu::e2e
