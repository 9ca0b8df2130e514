// An engine with its files where they always are, on a host of its own that `kgpu runtime` changes.
#pragma once

#include <string>
#include <vector>

#include "tests/e2e/program.h"
#include "tests/engines/box.h"
#include "tests/engines/programs.h"

namespace kgpu::engines {

class BoxedEngine {
 public:
  // The box has its own /var/lib and /usr/local/bin, too.
  BoxedEngine();

  EngineBox& box() { return box_; }
  const EngineBox& box() const { return box_; }

  // Starts the host, then `command` in it, and waits for its socket below /run. `before` as in
  // WriteRestart.
  void Start(const std::string& command, const std::string& socket, Origin origin,
             const std::string& before = "");

  // A program that ends the daemon and starts it again. `before`: lines between these two.
  void WriteRestart(const std::string& before);
  std::string Restart() const { return box_.At("restart.sh"); }

  // kgpu runtime …
  e2e::Result Kgpu(std::vector<std::string> words) const;
  std::string Read(const std::string& path) const { return box_.Enter({"/bin/cat", path}).out; }
  std::string Log() const { return box_.dir().ReadFile("log/daemon"); }
  // All that a host has of ours besides the engine's own file.
  std::string Leftovers() const;

 private:
  bool WaitForBox() const;

  EngineBox box_;
  std::string command_;
  std::string path_;
};

}  // namespace kgpu::engines
