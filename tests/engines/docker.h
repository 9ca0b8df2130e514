// A separate docker daemon: folders, socket, containerd and configuration.
#pragma once

#include <string>
#include <vector>

#include "tests/engines/box.h"
#include "tests/engines/image.h"
#include "tests/engines/programs.h"
#include "tests/engines/report.h"

namespace kgpu::engines {

class DockerEngine {
 public:
  explicit DockerEngine(Origin origin) : origin_(origin) {}

  EngineBox& box() { return box_; }
  // Starts the daemon with `more` in its configuration, JSON members such as "\"a\":1", and loads
  // `image`.
  void Start(Image& image, const std::vector<std::string>& more = {});
  std::string version() const { return Docker({"version", "--format", "{{.Server.Version}}"}).out; }

  // `docker WORDS…`.
  e2e::Result Docker(std::vector<std::string> words) const;
  // `docker run FLAGS… IMAGE`, with the image's report as its program.
  e2e::Result Run(const std::vector<std::string>& flags) const;
  Report RunReport(const std::vector<std::string>& flags) const;

 private:
  std::string socket() const { return box_.At("docker.sock"); }

  Origin origin_;
  EngineBox box_;
};

}  // namespace kgpu::engines
