// The facts about an image that decide whether its CUDA runs on a host.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace kgpu::image {

enum class LibraryKind : uint8_t {
  kRuntime,  // libcudart: the CUDA version that the image's programs were built with
  kCompat,   // libcuda of a cuda-compat package: a newer driver's, for an older kernel module
  kDriver,   // libcuda of a driver, which should come from the host
};

// "runtime", "compat", "driver".
std::string_view ToString(LibraryKind kind);

struct CudaLibrary {
  LibraryKind kind = LibraryKind::kRuntime;
  std::string path;     // in the image: "usr/local/cuda-12.4/compat/libcuda.so.550.54.15"
  std::string version;  // of CUDA: "12.4", or "12" where the name says no more; of a driver
  bool operator==(const CudaLibrary&) const = default;
};

// What a file's path in an image reveals: a CUDA library, or the record of a Python package that
// contains one. False: nothing.
bool ReadLibraryPath(std::string_view path, CudaLibrary& library);

struct ImageFacts {
  std::string name;          // as requested
  std::string source;        // "podman's store", "docker archive", "bundle"
  std::string architecture;  // "amd64", "arm64"; empty: not said
  std::vector<std::string> env{};
  std::map<std::string, std::string> labels{};
  std::vector<CudaLibrary> libraries{};  // by path
  bool is_looked_into = false;           // whether all of its layers were read
  std::vector<std::string> notes{};      // what could not be read
};

// The value of a variable; the last of equal names counts. Empty if it is not set.
std::string_view EnvOf(const ImageFacts& image, std::string_view name);

// Whether `text` can be an image name in a store, and not a file path.
bool IsImageName(std::string_view text);

}  // namespace kgpu::image
