#include "src/functions/spec/image_name.h"

namespace kgpu::functions {
namespace {

constexpr std::string_view kThisHost = "localhost";

// Whether the first part of a name is an address of a registry, by Docker's rule.
bool NamesRegistry(std::string_view image) {
  const size_t slash = image.find('/');
  if (slash == std::string_view::npos) {
    return false;
  }
  const std::string_view first = image.substr(0, slash);
  return first == kThisHost || first.find_first_of(".:") != std::string_view::npos;
}

// Where the tag or the digest of `image` begins; its size if it has none.
size_t EndOfName(std::string_view image) {
  if (const size_t at = image.find('@'); at != std::string_view::npos) {
    image = image.substr(0, at);
  }
  const size_t colon = image.rfind(':');
  const size_t slash = image.rfind('/');
  const bool has_tag =
      colon != std::string_view::npos && (slash == std::string_view::npos || colon > slash);
  return has_tag ? colon : image.size();
}

std::string_view WithoutSlash(std::string_view text) {
  return text.ends_with('/') ? text.substr(0, text.size() - 1) : text;
}

}  // namespace

std::string ImageNameOf(const Function& function) {
  std::string name =
      function.image.empty() ? fmt::format("kgpu-fn/{}", function.name) : function.image;
  if (!NamesRegistry(name)) {
    // config.yaml may name the registry twice: as OpenFx writes it, `image` begins with it.
    const std::string_view registry = WithoutSlash(function.docker_registry);
    const bool is_named = registry.empty() || name.starts_with(fmt::format("{}/", registry));
    name = fmt::format("{}/{}", is_named ? kThisHost : registry, name);
  }
  return EndOfName(name) == name.size() ? name + ":latest" : name;
}

std::string WithTag(std::string_view image, std::string_view tag) {
  return fmt::format("{}:{}", image.substr(0, EndOfName(image)), tag);
}

std::string_view RegistryOf(std::string_view image) {
  return image.substr(0, image.find('/'));
}

Status CheckCanPush(const Function& function) {
  const std::string name = ImageNameOf(function);
  if (RegistryOf(name) == kThisHost) {
    return InvalidArgument(
        "functions.{}.image: \"{}\" names no registry: write registry.example:5000/{}",
        function.name, function.image, function.name);
  }
  if (name.find('@') != std::string::npos) {
    return InvalidArgument(
        "functions.{}.image: \"{}\" names one image by its digest, which no build can produce: "
        "name it by a tag",
        function.name, function.image);
  }
  return OkStatus();
}

}  // namespace kgpu::functions
