// kgpu with images and containers of its own, on this machine's buildah, podman and apt.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "testing/temp_dir.h"
#include "tests/e2e/program.h"

namespace kgpu::e2e {

class ImageHost {
 public:
  ImageHost();
  ~ImageHost();
  ImageHost(const ImageHost&) = delete;
  ImageHost& operator=(const ImageHost&) = delete;

  // Why images cannot be built on this machine; empty: they can.
  static std::string SkipReason();

  const TempDir& dir() const { return dir_; }
  // `kgpu fn words…` with `input` as its standard input.
  Result Fn(std::vector<std::string> words, std::string_view input = "") const;
  // `buildah words…`, or podman's, on the same images.
  Result Engine(const std::string& program, std::vector<std::string> words) const;
  // A new function from the template of `runtime`, in a folder of its name.
  void Init(const std::string& name, const std::string& runtime) const;

 private:
  TempDir dir_;
};

// A real registry on a free port of this machine, without TLS.
class LocalRegistry {
 public:
  // Empty if the program is missing.
  static std::string Program();

  explicit LocalRegistry(const TempDir& dir);
  // "127.0.0.1:41234"; empty: it did not start.
  std::string address() const { return address_; }

 private:
  std::unique_ptr<Background> server_;
  std::string address_;
};

}  // namespace kgpu::e2e
