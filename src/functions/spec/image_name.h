// Names of functions' images.
#pragma once

#include <string>
#include <string_view>

#include "src/functions/spec/function.h"
#include "src/platform/base/status.h"

namespace kgpu::functions {

// The name under which the image of `function` is stored, with a registry and a tag: `image` of
// config.yaml; without a registry in it `docker_registry` comes before it, and if there is none
// either, "localhost". "localhost/kgpu-fn/<name>:latest" if config.yaml has no image.
std::string ImageNameOf(const Function& function);

// The same image by its content: "registry:5000/hello:3f9c…" of "registry:5000/hello:v1".
std::string WithTag(std::string_view image, std::string_view tag);

// "registry:5000" of "registry:5000/hello:v1".
std::string_view RegistryOf(std::string_view image);

// Errors: InvalidArgument (its name has no registry, or a digest instead of a tag).
Status CheckCanPush(const Function& function);

}  // namespace kgpu::functions
