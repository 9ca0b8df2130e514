// Reads every node feature of a host once and prints NFD's default labels: the least a program
// around src/host/features can be. docs/reference/node-features.md has its figures.
//   features-once [ROOT]      default /
//   features-once -v [ROOT]   raw features and problems too
#include <cstdio>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "src/host/features/read.h"

namespace kgpu::bench {
namespace {

void PrintRaw(const features::Reading& reading) {
  for (const auto& [feature, flags] : reading.features.flags) {
    for (const std::string& flag : flags) {
      fmt::print("{} {}\n", feature, flag);
    }
  }
  for (const auto& [feature, attributes] : reading.features.attributes) {
    for (const auto& [name, value] : attributes) {
      fmt::print("{} {}={}\n", feature, name, value);
    }
  }
  for (const auto& [feature, instances] : reading.features.instances) {
    for (const features::Attributes& instance : instances) {
      fmt::print("{}", feature);
      for (const auto& [name, value] : instance) {
        fmt::print(" {}={}", name, value);
      }
      fmt::print("\n");
    }
  }
  for (const features::Problem& problem : reading.problems) {
    fmt::print(stderr, "{}: {}\n", problem.source, problem.text);
  }
}

int Main(const std::string& path, bool is_verbose) {
  const auto host = sys::Root::Open(path);
  const auto cpuid = host.ok() ? features::OpenCpuid(*host) : host.status();
  if (!cpuid.ok()) {
    fmt::print(stderr, "{}\n", Message(cpuid.status()));
    return 1;
  }
  const features::FeatureOptions options;
  const features::Reading reading = features::ReadFeatures(*host, options, **cpuid);
  if (is_verbose) {
    PrintRaw(reading);
  }
  std::string text;
  for (const auto& [key, value] : features::FeatureLabels(reading.features, options)) {
    fmt::format_to(std::back_inserter(text), "{}={}\n", key, value);
  }
  return std::fputs(text.c_str(), stdout) < 0 ? 1 : 0;
}

}  // namespace
}  // namespace kgpu::bench

int main(int argc, char** argv) {
  const bool is_verbose = argc > 1 && std::string_view(argv[1]) == "-v";
  const int root = is_verbose ? 2 : 1;
  return kgpu::bench::Main(argc > root ? argv[root] : "/", is_verbose);
}
