#include "src/functions/kubernetes/deployment_facts.h"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include "src/functions/kubernetes/trim.h"
#include "src/functions/manifests/objects.h"
#include "src/kube/api/json.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"

namespace kgpu::functions {
namespace {

namespace json = boost::json;

constexpr size_t kMaxDeploymentProblem = 500;

std::string ReplicaProblem(const json::value& deployment) {
  const json::value* failure = FindCondition(deployment, "ReplicaFailure");
  const bool has_failed = failure != nullptr && kube::TextField(*failure, {"status"}) == "True";
  return has_failed ? Printable(kube::TextField(*failure, {"message"}), kMaxDeploymentProblem) : "";
}

}  // namespace

StatusOr<DeploymentFacts> DeploymentFactsOf(const json::value& deployment) {
  if (!deployment.is_object()) {
    return InvalidArgument("Deployment: must be an object");
  }
  const json::object& object = deployment.get_object();
  DeploymentFacts facts;
  ASSIGN_OR_RETURN(facts.function, FunctionOf(object));
  facts.uid = kube::TextField(deployment, {"metadata", "uid"});
  facts.generation = kube::IntField(deployment, {"metadata", "generation"}).value_or(0);
  facts.function_text =
      kube::TextField(deployment, {"metadata", "annotations", kFunctionAnnotation});
  facts.template_hash = TemplateHashOf(object);
  facts.deployed = DeployedAtOf(object);
  facts.replaced = ReplacedAtOf(object);
  // Source: apps/v1: a Deployment without replicas has one.
  facts.replicas = kube::IntField(deployment, {"spec", "replicas"}).value_or(1);
  facts.problem = ReplicaProblem(deployment);
  facts.is_ending = !kube::TextField(deployment, {"metadata", "deletionTimestamp"}).empty();
  return facts;
}

void TrimDeployment(json::value& deployment) {
  if (json::object* metadata = ObjectBelow(deployment, {"metadata"})) {
    KeepOnly(*metadata, {"name", "namespace", "uid", "resourceVersion", "generation", "annotations",
                         "deletionTimestamp"});
  }
  if (json::object* pod = ObjectBelow(deployment, {"spec", "template"})) {
    KeepOnly(*pod, {"metadata"});
  }
  if (json::object* metadata = ObjectBelow(deployment, {"spec", "template", "metadata"})) {
    KeepOnly(*metadata, {"annotations"});
  }
  if (json::object* spec = ObjectBelow(deployment, {"spec"})) {
    KeepOnly(*spec, {"replicas", "template"});
  }
  if (json::object* status = ObjectBelow(deployment, {"status"})) {
    KeepOnly(*status, {"conditions"});
  }
}

}  // namespace kgpu::functions
