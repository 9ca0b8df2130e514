// A simulated host of the test, with its state server; removed on destruction.
#pragma once

#include <string>
#include <vector>

#include "testing/temp_dir.h"
#include "tests/e2e/program.h"

namespace kgpu::e2e {

// True if character devices can be created; otherwise tests of simulated hosts skip.
bool CanMakeDevices();

class SimHost {
 public:
  explicit SimHost(const std::string& profile, std::vector<std::string> more_flags = {});
  ~SimHost();
  SimHost(const SimHost&) = delete;
  SimHost& operator=(const SimHost&) = delete;

  std::string path() const { return dir_.At("host"); }
  const TempDir& dir() const { return dir_; }
  // The flags with which kgpu finds this host.
  std::vector<std::string> flags() const;

  // `kgpu-sim VERB <host> arguments…`; if it fails, the test fails.
  void Inject(const std::string& verb, std::vector<std::string> arguments = {});
  // `kgpu words… <flags>`.
  Result Kgpu(std::vector<std::string> words) const;

 private:
  TempDir dir_;
};

}  // namespace kgpu::e2e
