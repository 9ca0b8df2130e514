// Real containers (podman and runc) that read CDI specs from a folder of the test.
#pragma once

#include <string>
#include <vector>

#include "testing/temp_dir.h"
#include "tests/e2e/image_tree.h"
#include "tests/e2e/program.h"

namespace kgpu::e2e {

// Why containers cannot be started here; empty if they can (checked once, by starting one).
const std::string& WhyNoContainers();

class ContainerBench {
 public:
  using Image = ImageFamily;

  explicit ContainerBench(Image image);

  // Where specs for the container are written to.
  std::string cdi_dir() const { return dir_.At("cdi"); }
  std::string rootfs() const { return dir_.At("rootfs"); }
  const TempDir& dir() const { return dir_; }
  // Runs `script` with sh in a container with these CDI devices.
  Result Run(const std::vector<std::string>& devices, const std::string& script) const;

 private:
  TempDir dir_;
};

}  // namespace kgpu::e2e
