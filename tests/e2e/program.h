// Runs a built program to its end, or in the background, and reads its output.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "src/platform/sys/child_process.h"

namespace kgpu::e2e {

struct Result {
  int code = -1;  // exit code, or 128 + signal
  std::string out;
  std::string err;
};

// "kgpu", "kgpu-probe", "kgpu-sim" of this build; other names are taken as paths.
std::string ProgramPath(std::string_view name);

// Waits at most `limit`, then kills it (code 137).
Result RunProgram(std::vector<std::string> argv,
                  std::chrono::milliseconds limit = std::chrono::seconds(60));

// A program in the background; killed on destruction.
class Background {
 public:
  explicit Background(std::vector<std::string> argv);
  ~Background();
  Background(const Background&) = delete;
  Background& operator=(const Background&) = delete;

  // Reads standard output until it contains `text` (after `from`), for at most `limit`; false if it
  // did not. Waits on the pipe, never sleeps.
  bool WaitFor(std::string_view text, std::chrono::milliseconds limit = std::chrono::seconds(20));
  const std::string& out() const { return out_; }
  // Forgets the output so far, so that WaitFor only sees what comes next.
  void Clear() { out_.clear(); }
  pid_t pid() const { return child_.pid(); }
  // Waits for its end, at most `limit`. True: it is still running.
  bool RunsFor(std::chrono::milliseconds limit) const;
  // SIGTERM, then its exit state.
  sys::ExitState Stop();

 private:
  UniqueFd read_;
  sys::ChildProcess child_;
  std::string out_;
};

}  // namespace kgpu::e2e
