// Runs our programs as people do: through the shell.
#pragma once

#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <string>

namespace kgpu {

struct Outcome {
  int code = -1;
  std::string text;  // both streams
};

inline Outcome Shell(const std::string& command) {
  FILE* pipe = popen((command + " 2>&1").c_str(), "re");
  Outcome outcome;
  std::array<char, 4096> buffer{};
  while (pipe != nullptr && fgets(buffer.data(), buffer.size(), pipe) != nullptr) {
    outcome.text += buffer.data();
  }
  const int status = pipe == nullptr ? -1 : pclose(pipe);
  outcome.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return outcome;
}

}  // namespace kgpu
