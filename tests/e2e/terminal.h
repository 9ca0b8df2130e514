// Runs a built program as a person does: at a terminal, with questions and answers.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/platform/base/unique_fd.h"
#include "src/platform/sys/child_process.h"

namespace kgpu::e2e {

// Killed on destruction. Its input, output and errors are one terminal.
class AtTerminal {
 public:
  // argv[0] as RunProgram takes it.
  explicit AtTerminal(std::vector<std::string> argv);
  ~AtTerminal();
  AtTerminal(const AtTerminal&) = delete;
  AtTerminal& operator=(const AtTerminal&) = delete;

  // If the machine has none, nothing was started.
  bool has_terminal() const { return child_.has_value(); }
  // Reads until `text` appears, for at most `limit`; false if it did not. Never sleeps.
  bool WaitFor(std::string_view text, std::chrono::milliseconds limit = std::chrono::seconds(60));
  void Type(std::string_view text) const;
  // Its exit code, or 128 + signal; keeps reading meanwhile.
  int End(std::chrono::milliseconds limit = std::chrono::seconds(60));
  const std::string& shown() const { return shown_; }

 private:
  bool ReadSome(int timeout_ms);

  UniqueFd ours_;
  std::optional<sys::ChildProcess> child_;
  std::string shown_;
};

}  // namespace kgpu::e2e
