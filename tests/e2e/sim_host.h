// A simulated host of the test's own, with its state server; gone when this goes.
#pragma once

#include <string>
#include <vector>

#include "testing/temp_dir.h"
#include "tests/e2e/program.h"

namespace kgpu::e2e {

// True where character devices can be made; otherwise tests of simulated hosts skip.
bool CanMakeDevices();

class SimHost {
 public:
  explicit SimHost(const std::string& profile, std::vector<std::string> more_flags = {});
  ~SimHost();
  SimHost(const SimHost&) = delete;
  SimHost& operator=(const SimHost&) = delete;

  std::string path() const { return dir_.At("host"); }
  const TempDir& dir() const { return dir_; }
  // The flags by which kgpu finds this host.
  std::vector<std::string> flags() const;

  // `kgpu-sim VERB <host> arguments…`; fails the test when it fails.
  void Inject(const std::string& verb, std::vector<std::string> arguments = {});
  // `kgpu words… <flags>`.
  Result Kgpu(std::vector<std::string> words) const;

 private:
  TempDir dir_;
};

}  // namespace kgpu::e2e
