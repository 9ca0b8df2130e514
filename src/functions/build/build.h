// Builds a function's image, or finds that it is built already.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "src/functions/build/base_image.h"
#include "src/functions/build/builder.h"
#include "src/functions/build/plan.h"
#include "src/platform/base/status.h"
#include "src/platform/sys/root.h"
#include "src/platform/sys/run.h"

namespace kgpu::functions {

struct BuiltImage {
  std::string name;          // with the tag of config.yaml
  std::string content_name;  // the same image, with the digest of its content as its tag
  bool is_new = false;       // false: nothing had changed since it was built
  bool operator==(const BuiltImage&) const = default;
};

struct BuildDependencies {
  ImageBuilder& builder;
  BaseImages& bases;
  const sys::Root& host;
  std::string scratch;  // a folder of the host for the files of an image: "/var/tmp"
  // Called with each part of the work before it begins: "building the base image of cpp".
  std::function<void(std::string_view)> on_step;
};

// `again`: builds in any case, with the current versions of packages and base images. Errors: as
// PlanBuild, BaseImages and ImageBuilder; Unavailable (a file changed meanwhile).
StatusOr<BuiltImage> BuildFunction(const BuildPlan& plan, const BuildDependencies& deps,
                                   bool again);

// The image of `function` that was built here last, by its content; nothing: none was. Errors: as
// ImageBuilder::FindLabel.
StatusOr<std::optional<std::string>> FindBuilt(ImageBuilder& builder, const Function& function);

// Whether the sources of a function have changed since its image was built here. Builds nothing.
// Nothing: unknown, since the image, or one of its base images, was not built here. Errors: as
// PlanBuild and ImageBuilder::FindLabel.
StatusOr<std::optional<bool>> IsOutdated(const BuildPlan& plan, const BuildDependencies& deps);

// Sends the image to its registry, under both names. `registry_auth` of config.yaml, if it is
// there, counts unless options name a file. Errors: as CheckCanPush and ImageBuilder::Push.
Status PushFunction(const Function& function, const std::string& content_name,
                    const BuildDependencies& deps, PushOptions options);

}  // namespace kgpu::functions
