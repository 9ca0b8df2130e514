// What objects.h reads from objects of a cluster.
#include <fmt/format.h>
#include <boost/json.hpp>

#include <initializer_list>
#include <utility>

#include "src/functions/manifests/objects.h"
#include "src/functions/spec/wire.h"
#include "src/kube/api/json.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"
#include "src/platform/doc/json_texts.h"

namespace kgpu::functions {
namespace {

namespace json = boost::json;

// The text at a path below the field `top`; empty if there is none.
std::string_view TextBelow(const json::object& object, std::string_view top,
                           std::initializer_list<std::string_view> path) {
  const json::value* value = object.if_contains(doc::View(top));
  return value == nullptr ? std::string_view() : kube::TextField(*value, path);
}

}  // namespace

StatusOr<Function> FunctionOf(const json::object& deployment) {
  const std::string_view name = TextBelow(deployment, "metadata", {"name"});
  const std::string where =
      fmt::format("Deployment {}/{}: annotation {}",
                  Printable(TextBelow(deployment, "metadata", {"namespace"}), 80),
                  Printable(name, 80), kFunctionAnnotation);
  const std::string_view text =
      TextBelow(deployment, "metadata", {"annotations", kFunctionAnnotation});
  if (text.empty()) {
    return InvalidArgument("{}: is missing: deploy the function again, or delete the Deployment",
                           where);
  }
  ASSIGN_OR_RETURN(Function function, ParseWire(text, where));
  if (function.name != name) {
    return InvalidArgument("{}: is that of function {}: deploy both again", where, function.name);
  }
  return function;
}

std::string_view DeployedAtOf(const json::object& deployment) {
  return TextBelow(deployment, "metadata", {"annotations", kDeployedAtAnnotation});
}

std::string_view ReplacedAtOf(const json::object& deployment) {
  return TextBelow(deployment, "spec",
                   {"template", "metadata", "annotations", kReplacedAtAnnotation});
}

std::string_view TemplateHashOf(const json::object& deployment) {
  return TextBelow(deployment, "spec",
                   {"template", "metadata", "annotations", kTemplateHashAnnotation});
}

std::string_view PodTemplateHashOf(const json::object& pod) {
  return TextBelow(pod, "metadata", {"annotations", kTemplateHashAnnotation});
}

Status SetOwner(const json::object& deployment, json::object& object) {
  const std::string_view name = TextBelow(deployment, "metadata", {"name"});
  const std::string_view uid = TextBelow(deployment, "metadata", {"uid"});
  if (name.empty() || uid.empty()) {
    return InvalidArgument("Deployment {}: has no uid: it must be as the API server returned it",
                           Printable(name, 80));
  }
  json::value& metadata = object["metadata"];
  (metadata.is_object() ? metadata.get_object() : metadata.emplace_object())["ownerReferences"] =
      json::array{{{"apiVersion", "apps/v1"},
                   {"kind", "Deployment"},
                   {"name", doc::View(name)},
                   {"uid", doc::View(uid)},
                   {"controller", true}}};
  return OkStatus();
}

}  // namespace kgpu::functions
