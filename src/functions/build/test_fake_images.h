// A host with apt and buildah for tests: images are names with labels.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "src/platform/sys/run.h"

namespace kgpu::functions {

class FakeImages final : public sys::ProgramRunner {
 public:
  struct Image {
    std::string containerfile;
    std::map<std::string, std::string> labels;
    std::vector<std::string> files;  // of the context, sorted
  };

  std::map<std::string, Image> images;    // by name
  std::map<std::string, Image> registry;  // what was pushed
  std::string package_version = "1.0";    // of all packages
  std::string apt_error;                  // apt-get fails with this
  std::string build_error;                // so do the steps of a build
  std::string push_error;
  std::vector<std::vector<std::string>> argvs;

  StatusOr<sys::RunResult> Run(const sys::RunRequest& request) override;
  size_t Count(std::string_view program, std::string_view word) const;

 private:
  sys::RunResult AptGet(const sys::RunRequest& request);
  sys::RunResult Build(const std::vector<std::string>& argv);
  sys::RunResult Inspect(const std::vector<std::string>& argv) const;
};

}  // namespace kgpu::functions
