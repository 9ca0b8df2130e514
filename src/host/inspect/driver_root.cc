#include "src/host/inspect/driver_root.h"

#include <utility>

#include "src/platform/base/status_macros.h"

namespace kgpu::host {
namespace {

// The part of `path` below `prefix`, beginning with "/"; nullopt-like empty when it is not below.
std::string Below(std::string_view prefix, std::string_view path) {
  if (prefix == "/") {
    return std::string(path);
  }
  if (!path.starts_with(prefix)) {
    return {};
  }
  path.remove_prefix(prefix.size());
  if (path.empty()) {
    return "/";
  }
  return path.starts_with('/') ? std::string(path) : std::string();
}

std::string WithoutTrailingSlash(std::string path) {
  while (path.size() > 1 && path.ends_with('/')) {
    path.pop_back();
  }
  return path;
}

}  // namespace

std::string DriverRoot::EnginePath(const sys::Root& root, std::string_view path) const {
  return Below(engine_root, root.At(path));
}

StatusOr<DriverRoot> OpenDriverRoot(const std::string& host_root, const std::string& driver_root,
                                    const std::string& engine_root) {
  for (const auto& [flag, given] : {std::pair{"--host-root", &host_root},
                                    {"--driver-root", &driver_root},
                                    {"--engine-root", &engine_root}}) {
    if (!given->empty() && !given->starts_with('/')) {
      return InvalidArgument("{}: \"{}\" must be an absolute path", flag, *given);
    }
  }
  auto host = sys::Root::Open(host_root.empty() ? "/" : host_root);
  if (!host.ok()) {
    return Annotate(host.status(), "--host-root");
  }
  // Below the host's root, since it is given as the host names it, or as we see it.
  const std::string inside = Below(host->path(), driver_root);
  const std::string& named = inside.empty() ? driver_root : inside;
  auto driver = sys::Root::Open(named.empty() ? host->path() : host->At(named));
  if (!driver.ok()) {
    return Annotate(driver.status(), "--driver-root");
  }
  const std::string engine = engine_root.empty() ? host->path() : WithoutTrailingSlash(engine_root);
  DriverRoot root{*std::move(host), *std::move(driver), engine};
  for (const sys::Root* below : {&root.host, &root.driver}) {
    if (Below(engine, below->path()).empty()) {
      return InvalidArgument(
          "--engine-root {} is not a prefix of {}: set it to the folder of this process that the "
          "container engine sees as /",
          engine, below->path());
    }
  }
  return root;
}

}  // namespace kgpu::host
