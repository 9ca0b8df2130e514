// Whatever a Deployment says, a function that is read from it makes a Deployment of which the same
// function is read.
#include <boost/json.hpp>

#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "src/functions/manifests/objects.h"
#include "src/kube/api/json.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size > 1 << 16) {
    return 0;
  }
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto object = kgpu::kube::ParseObject(text, "fuzz");
  if (!object.ok() || !object->is_object()) {
    return 0;
  }
  const auto function = kgpu::functions::FunctionOf(object->get_object());
  if (!function.ok()) {
    return 0;
  }
  const auto objects = kgpu::functions::ObjectsOf(
      *function, {.space = "fuzz",
                  .deployed_at = std::string(kgpu::functions::DeployedAtOf(object->get_object())),
                  .mounted_secrets = function->secrets,
                  .memory_resources = {{int64_t{1} << 40, "example.com/part"}},
                  .prometheus_url = "http://prometheus"});
  if (!objects.ok()) {
    return 0;
  }
  const auto again = kgpu::functions::FunctionOf(objects->deployment);
  if (!again.ok() || !(*again == *function)) {
    std::abort();
  }
  return 0;
}
