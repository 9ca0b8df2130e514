// Base images out of Debian's packages: unpacked, not installed, so that they hold nothing else.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "src/functions/build/builder.h"
#include "src/platform/base/status.h"
#include "src/platform/sys/root.h"
#include "src/platform/sys/run.h"

namespace kgpu::functions {

struct BaseImage {
  std::string name;                     // "cpp", "cpp-compiler": a part of the image's name
  std::vector<std::string> packages{};  // sorted, each once; dependencies come with them
  bool operator==(const BaseImage&) const = default;
};

// By what it is made from, whatever the packages' versions:
// "localhost/kgpu-fn-base/cpp:1f0c…". The newest one that was built here has this name.
std::string BaseImageName(const BaseImage& base);

// The label with the digest of its packages' versions, and its Containerfile, whose context has
// the tree as "root".
inline constexpr char kPackagesLabel[] = "kgpu.dev/packages";
std::string BaseContainerfile(std::string_view packages_digest);

// The packages below `folder`, "name_version_arch.deb" each, as one digest.
std::string PackagesDigest(const std::vector<std::string>& files);

// Makes base images with apt's sources of this host: apt-get, dpkg-deb and tar. Nothing of the host
// changes. Borrows its arguments.
class BaseImages {
 public:
  // `environment`: of apt, for proxies. `scratch`: a folder of the host for some hundred MiB.
  BaseImages(sys::ProgramRunner& runner, ImageBuilder& builder, const sys::Root& host,
             std::vector<std::string> environment, std::string scratch)
      : runner_(runner),
        builder_(builder),
        host_(host),
        environment_(std::move(environment)),
        scratch_(std::move(scratch)) {}

  // The digest of the packages of the image that is there; nothing: there is none. Errors: as
  // ImageBuilder.
  StatusOr<std::optional<std::string>> Find(const BaseImage& base);
  // Makes the image with the packages' current versions; returns their digest. Errors:
  // FailedPrecondition (no apt here; apt's reason), as ImageBuilder.
  StatusOr<std::string> Make(const BaseImage& base);

 private:
  StatusOr<std::vector<std::string>> Download(const BaseImage& base, const std::string& folder);
  Status Unpack(const std::string& folder);
  StatusOr<sys::RunResult> Run(std::vector<std::string> argv, std::chrono::milliseconds deadline);

  sys::ProgramRunner& runner_;
  ImageBuilder& builder_;
  const sys::Root& host_;
  const std::vector<std::string> environment_;
  const std::string scratch_;
};

}  // namespace kgpu::functions
