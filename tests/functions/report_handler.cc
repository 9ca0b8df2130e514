// The handler in the containers of local_provider_test.cc: says what it sees, and fails on request.
#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <set>
#include <string>

#include "deploy/functions/cpp/worker/kgpu/mesh.h"

namespace {

// "0 3": the numbers of the GPU nodes in /dev.
std::string GpuNodes() {
  std::set<std::string> found;
  if (DIR* folder = opendir("/dev")) {
    while (const dirent* entry = readdir(folder)) {  // NOLINT(concurrency-mt-unsafe): ours alone
      const std::string name = entry->d_name;
      if (name.rfind("nvidia", 0) == 0 && name.size() > 6 &&
          name.find_first_not_of("0123456789", 6) == std::string::npos) {
        found.insert(name.substr(6));
      }
    }
    closedir(folder);
  }
  std::string text;
  for (const std::string& gpu : found) {
    text += (text.empty() ? "" : " ") + gpu;
  }
  return text;
}

std::string ReadText(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Starts slice-client, which keeps the memory that it gets, and returns what it says.
std::string TakeMemory(const std::string& pieces) {
  int ends[2] = {-1, -1};
  if (pipe2(ends, O_CLOEXEC) != 0) {
    return "no pipe";
  }
  const pid_t child = fork();
  if (child == 0) {
    dup2(ends[1], STDOUT_FILENO);
    dup2(ends[1], STDERR_FILENO);
    execl("/usr/bin/slice-client", "slice-client", pieces.c_str(), nullptr);
    _exit(127);
  }
  close(ends[1]);
  std::string text;
  char byte = 0;
  // To the line "got N", after which it waits, or to its end.
  while (read(ends[0], &byte, 1) == 1) {
    text += byte;
    if (byte == '\n' && text.find("got ") != std::string::npos) {
      break;
    }
  }
  close(ends[0]);
  return text;
}

}  // namespace

// NOLINTNEXTLINE(performance-unnecessary-value-param): the signature that functions have
std::string Handler(std::string input) {
  const std::string word = input.substr(0, input.find_first_of(" \n"));
  const std::string rest = word.size() < input.size() ? input.substr(word.size() + 1) : "";
  if (word == "gpus") {
    return GpuNodes();
  }
  if (word == "env") {
    const char* value = std::getenv(rest.c_str());  // NOLINT(concurrency-mt-unsafe): no threads
    return value == nullptr ? "" : value;
  }
  if (word == "read") {
    return ReadText(rest);
  }
  if (word == "take") {
    return TakeMemory(rest);
  }
  if (word == "mesh") {
    return MeshCall("hello", rest);
  }
  if (word == "crash") {
    (void)std::raise(SIGKILL);
  }
  if (word == "print") {
    (void)fputs((rest + "\n").c_str(), stderr);
  }
  return input;
}
