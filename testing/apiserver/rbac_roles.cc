#include "testing/apiserver/rbac_roles.h"

#include <boost/json.hpp>

#include <array>

namespace kgpu::apiserver {
namespace {

namespace json = boost::json;

struct FirstRole {
  const char* plural;
  const char* text;
};

// Source: kubernetes, plugin/pkg/auth/authorizer/rbac/bootstrappolicy.
constexpr std::array<FirstRole, 5> kFirstRoles = {{
    {"clusterroles", R"({"metadata":{"name":"system:auth-delegator"},"rules":[
      {"apiGroups":["authentication.k8s.io"],"resources":["tokenreviews"],"verbs":["create"]},
      {"apiGroups":["authorization.k8s.io"],"resources":["subjectaccessreviews"],
       "verbs":["create"]}]})"},
    {"clusterroles", R"({"metadata":{"name":"system:discovery"},"rules":[
      {"nonResourceURLs":["/api","/api/*","/apis","/apis/*","/openapi","/openapi/*"],
       "verbs":["get"]}]})"},
    {"clusterroles", R"({"metadata":{"name":"system:basic-user"},"rules":[
      {"apiGroups":["authorization.k8s.io"],"resources":["selfsubjectaccessreviews"],
       "verbs":["create"]}]})"},
    {"clusterrolebindings", R"({"metadata":{"name":"system:discovery"},
      "roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole",
                 "name":"system:discovery"},
      "subjects":[{"kind":"Group","name":"system:authenticated"}]})"},
    {"clusterrolebindings", R"({"metadata":{"name":"system:basic-user"},
      "roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole",
                 "name":"system:basic-user"},
      "subjects":[{"kind":"Group","name":"system:authenticated"}]})"},
}};

}  // namespace

void MakeFirstRoles(Registry& registry, const ResourceTable& resources) {
  for (const FirstRole& role : kFirstRoles) {
    const Resource* resource = resources.Find("rbac.authorization.k8s.io", "v1", role.plural);
    registry
        .Create(*resource, "", json::parse(role.text).as_object(), {.manager = "kube-apiserver"})
        .status()
        .IgnoreError();
  }
}

}  // namespace kgpu::apiserver
