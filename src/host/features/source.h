// What every source gets: where to look, what is requested, and where to put the result.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "src/host/features/cpuid.h"
#include "src/host/features/feature_set.h"
#include "src/host/features/folder.h"
#include "src/host/features/options.h"
#include "src/host/features/read.h"
#include "src/platform/base/status.h"
#include "src/platform/sys/root.h"

namespace kgpu::features {

class Source {
 public:
  Source(std::string_view name, const sys::Root& root, const FeatureOptions& wanted,
         CpuidReader& reader, Reading& reading)
      : host(root), options(wanted), cpuid(reader), name_(name), out_(reading) {}

  Flags& flags(const std::string& feature) const { return out_.features.flags[feature]; }
  Attributes& attributes(const std::string& feature) const {
    return out_.features.attributes[feature];
  }
  Instances& instances(const std::string& feature) const {
    return out_.features.instances[feature];
  }

  template <typename... Args>
  void Complain(fmt::format_string<Args...> format, Args&&... args) const {
    out_.problems.push_back({std::string(name_), fmt::format(format, std::forward<Args>(args)...)});
  }
  // Reports a file that exists but is unreadable; a missing file is no problem.
  void ComplainOf(std::string_view path, int error) const;

  // The text of a small file without surrounding blanks; nothing if it is missing or, with a
  // problem recorded, unreadable.
  std::optional<std::string> Text(const std::string& path) const;
  // Names in a folder, sorted; empty if it is missing or, with a problem recorded, unreadable.
  std::vector<std::string> List(std::string_view path) const;

  const sys::Root& host;
  const FeatureOptions& options;
  CpuidReader& cpuid;

 private:
  std::string_view name_;
  Reading& out_;
};

// One function per source; src/host/features/read.cc lists them.
void ReadCpu(const Source& source);
void ReadIommu(const Source& source);
void ReadKernel(const Source& source);
void ReadMemory(const Source& source);
void ReadNetwork(const Source& source);
void ReadPci(const Source& source);
void ReadStorage(const Source& source);
void ReadSystem(const Source& source);
void ReadUsb(const Source& source);

}  // namespace kgpu::features
