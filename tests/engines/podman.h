// podman with separate storage, as root or as an unprivileged user.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/e2e/sim_host.h"
#include "tests/engines/box.h"
#include "tests/engines/image.h"
#include "tests/engines/report.h"

namespace kgpu::engines {

class PodmanEngine {
 public:
  enum class User : uint8_t { kRoot, kRootless };

  // `runtime`: "runc", "crun", or the path of another one, which runs `behind`.
  PodmanEngine(std::string runtime, User user, const std::string& behind = "");

  EngineBox& box() { return box_; }
  // Loads `image`; containers get what `host` has.
  void Start(Image& image, const e2e::SimHost& host);
  // `podman run FLAGS… IMAGE`, with the image's report as its program.
  e2e::Result Run(const std::vector<std::string>& flags) const;
  Report RunReport(const std::vector<std::string>& flags) const;

  // `podman run WORDS…` in the background: its output is the box's log, and its end that of the
  // box. ReportBeside runs the image's report next to it.
  void RunInBackground(const std::vector<std::string>& words);
  Report ReportBeside(const std::vector<std::string>& flags) const;
  void Load(const std::string& archive) const;

 private:
  std::vector<std::string> Argv(std::vector<std::string> words) const;
  std::vector<std::string> RunWords(const std::vector<std::string>& flags) const;
  std::vector<std::string> ReportWords(std::vector<std::string> flags) const;
  e2e::Result Podman(std::vector<std::string> words) const;

  std::string runtime_;
  User user_;
  EngineBox box_;
};

}  // namespace kgpu::engines
