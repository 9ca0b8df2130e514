#include "src/kube/api/pod_proxy.h"

#include <fmt/format.h>

#include "src/kube/api/json.h"

namespace kgpu::kube {

std::string ProxyPathOf(const boost::json::value& pod, std::string_view port_name) {
  for (const boost::json::value& container : ArrayField(pod, {"spec", "containers"})) {
    for (const boost::json::value& port : ArrayField(container, {"ports"})) {
      if (TextField(port, {"name"}) == port_name) {
        return fmt::format("/api/v1/namespaces/{}/pods/{}:{}/proxy", NamespaceOf(pod), NameOf(pod),
                           IntField(port, {"containerPort"}).value_or(0));
      }
    }
  }
  return "";
}

}  // namespace kgpu::kube
