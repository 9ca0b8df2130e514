#include "src/functions/spec/auth_file.h"

#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include <utility>

#include "src/functions/spec/image_name.h"

namespace kgpu::functions {

std::string AuthFileText(const Function& function) {
  boost::json::object entry;
  entry["auth"] = function.registry_auth;
  boost::json::object registries;
  registries[RegistryOf(ImageNameOf(function))] = std::move(entry);
  boost::json::object file;
  file["auths"] = std::move(registries);
  return boost::json::serialize(file);
}

}  // namespace kgpu::functions
