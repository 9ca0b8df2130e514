#include "testing/apiserver/rbac.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <string>

#include "testing/apiserver/api.h"
#include "testing/apiserver/api_fixture.h"
#include "testing/status_matchers.h"

namespace kgpu::apiserver {
namespace {

namespace json = boost::json;
using ::testing::HasSubstr;

constexpr const char* kGroup = "/apis/rbac.authorization.k8s.io/v1";

class RbacTest : public ::testing::Test {
 protected:
  RbacTest() : api_(loop_, {.has_rbac = true}) {
    api_.access().AddToken("root", {.name = "admin", .groups = {"system:masters"}});
    api_.access().AddToken("agent", {.name = "system:serviceaccount:kgpu:agent",
                                     .groups = {"system:serviceaccounts"}});
    Make(fmt::format("{}/clusterroles", kGroup), R"({"metadata":{"name":"agent"},"rules":[
        {"apiGroups":[""],"resources":["nodes"],"verbs":["get","list"]},
        {"apiGroups":[""],"resources":["nodes/status"],"verbs":["patch"],"resourceNames":["n1"]},
        {"nonResourceURLs":["/metrics","/logs/*"],"verbs":["get"]}]})");
    Make(fmt::format("{}/clusterrolebindings", kGroup),
         R"({"metadata":{"name":"agent"},"roleRef":{"kind":"ClusterRole","name":"agent"},
        "subjects":[{"kind":"ServiceAccount","name":"agent","namespace":"kgpu"}]})");
    Make(fmt::format("{}/namespaces/default/roles", kGroup), R"({"metadata":{"name":"local"},
        "rules":[{"apiGroups":["*"],"resources":["configmaps"],"verbs":["*"]}]})");
    Make(fmt::format("{}/namespaces/default/rolebindings", kGroup),
         R"({"metadata":{"name":"local"},"roleRef":{"kind":"Role","name":"local"},
        "subjects":[{"kind":"Group","name":"system:serviceaccounts"}]})");
    Make("/api/v1/nodes", R"({"metadata":{"name":"n1"}})");
  }

  void Make(const std::string& target, const std::string& body) {
    EXPECT_OK(api_.Do("POST", target, json::parse(body)));
  }
  int Code(const std::string& token, const std::string& method, const std::string& target,
           const std::string& body = "") {
    http::Request request{.method = method, .target = target, .body = body};
    request.headers.Add("Authorization", "Bearer " + token);
    request.headers.Add("Content-Type",
                        method == "PATCH" ? "application/merge-patch+json" : "application/json");
    const auto seen = std::make_shared<Seen>();
    api_.Handle(request, std::make_shared<SeenSink>(seen));
    body_ = seen->body;
    return seen->code;
  }
  std::string Lines(const char* which) { return json::serialize(api_.rbac().ToJson().at(which)); }

  FakeLoop loop_;
  Api api_;
  std::string body_;
};

TEST_F(RbacTest, AllowsWhatARuleNames) {
  EXPECT_EQ(Code("agent", "GET", "/api/v1/nodes"), 200);
  EXPECT_EQ(Code("agent", "GET", "/api/v1/nodes/n1"), 200);
  EXPECT_EQ(Code("agent", "PATCH", "/api/v1/nodes/n1/status", R"({"status":{}})"), 200);
  EXPECT_EQ(Code("agent", "POST", "/api/v1/namespaces/default/configmaps",
                 R"({"metadata":{"name":"m"}})"),
            201);
  EXPECT_EQ(Code("root", "GET", "/api/v1/secrets"), 200);
  EXPECT_EQ(Lines("denied"), "[]");
}

TEST_F(RbacTest, RefusesTheRestAsARealServer) {
  EXPECT_EQ(Code("agent", "PATCH", "/api/v1/nodes/n1", "{}"), 403);
  EXPECT_THAT(
      body_,
      HasSubstr(
          R"(nodes \"n1\" is forbidden: User \"system:serviceaccount:kgpu:agent\" cannot patch resource \"nodes\" in API group \"\" at the cluster scope)"));
  EXPECT_EQ(Code("agent", "GET", "/api/v1/nodes?watch=1"), 403);
  EXPECT_EQ(Code("agent", "PATCH", "/api/v1/nodes/n2/status", "{}"), 403) << "of another name";
  EXPECT_EQ(Code("agent", "GET", "/api/v1/configmaps"), 403) << "in all namespaces";
  EXPECT_EQ(Code("agent", "GET", "/api/v1/namespaces/kube-system/configmaps"), 403);
  EXPECT_THAT(body_, HasSubstr(R"(in the namespace \"kube-system\")"));
  EXPECT_THAT(Lines("denied"), HasSubstr("system:serviceaccount:kgpu:agent watch nodes"));
  EXPECT_EQ(Code("nobody", "GET", "/api/v1/nodes"), 401);
  EXPECT_EQ(Code("agent", "GET", "/version"), 200) << "open to all";
}

TEST_F(RbacTest, AnApplyThatCreatesNeedsBothVerbs) {
  Make(fmt::format("{}/namespaces/default/roles", kGroup), R"({"metadata":{"name":"patcher"},
      "rules":[{"apiGroups":[""],"resources":["secrets"],"verbs":["patch"]}]})");
  Make(fmt::format("{}/namespaces/default/rolebindings", kGroup),
       R"({"metadata":{"name":"patcher"},"roleRef":{"kind":"Role","name":"patcher"},
      "subjects":[{"kind":"User","name":"system:serviceaccount:kgpu:agent"}]})");
  http::Request request{.method = "PATCH",
                        .target = "/api/v1/namespaces/default/secrets/s?fieldManager=a",
                        .body = R"({"apiVersion":"v1","kind":"Secret","metadata":{"name":"s"}})"};
  request.headers.Add("Authorization", "Bearer agent");
  request.headers.Add("Content-Type", "application/apply-patch+yaml");
  const auto apply = [&] {
    const auto seen = std::make_shared<Seen>();
    api_.Handle(request, std::make_shared<SeenSink>(seen));
    return seen->code;
  };
  EXPECT_EQ(apply(), 403);
  Make("/api/v1/namespaces/default/secrets", R"({"metadata":{"name":"s"}})");
  EXPECT_EQ(apply(), 200);
}

TEST_F(RbacTest, SaysWhichRulesNobodyNeeded) {
  Code("agent", "GET", "/api/v1/nodes");
  EXPECT_EQ(Lines("allowed"), R"(["ClusterRole/agent list nodes"])");
  EXPECT_THAT(Lines("unused"), HasSubstr("ClusterRole/agent get nodes\""));
  EXPECT_THAT(Lines("unused"), HasSubstr("ClusterRole/agent patch nodes/status"));
  EXPECT_THAT(Lines("unused"), HasSubstr("ClusterRole/agent get /metrics"));
  api_.rbac().Forget();
  EXPECT_THAT(Lines("unused"), HasSubstr("ClusterRole/agent list nodes"));
}

TEST_F(RbacTest, ReviewsAreDecidedByTheSameRules) {
  const auto ask = [&](const char* attributes) {
    Code("root", "POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews",
         fmt::format(R"({{"spec":{{"user":"system:serviceaccount:kgpu:agent",{}}}}})", attributes));
    return body_.find("\"allowed\":true") != std::string::npos;
  };
  EXPECT_TRUE(ask(R"("nonResourceAttributes":{"path":"/metrics","verb":"get"})"));
  EXPECT_TRUE(ask(R"("nonResourceAttributes":{"path":"/logs/a","verb":"get"})"));
  EXPECT_FALSE(ask(R"("nonResourceAttributes":{"path":"/other","verb":"get"})"));
  EXPECT_TRUE(ask(R"("resourceAttributes":{"verb":"list","resource":"nodes"})"));
  EXPECT_FALSE(ask(R"("resourceAttributes":{"verb":"list","resource":"pods"})"));
}

TEST_F(RbacTest, AReviewOfOneselfIsAboutWhoAsks) {
  const auto ask = [&](const char* token, const char* resource) {
    Code(token, "POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
         fmt::format(R"({{"spec":{{"resourceAttributes":{{"verb":"list","resource":"{}"}}}}}})",
                     resource));
    return body_.find("\"allowed\":true") != std::string::npos;
  };
  Make(fmt::format("{}/clusterroles", kGroup), R"({"metadata":{"name":"ask"},"rules":[
      {"apiGroups":["authorization.k8s.io"],"resources":["selfsubjectaccessreviews"],
       "verbs":["create"]}]})");
  Make(fmt::format("{}/clusterrolebindings", kGroup),
       R"({"metadata":{"name":"ask"},"roleRef":{"kind":"ClusterRole","name":"ask"},
      "subjects":[{"kind":"Group","name":"system:serviceaccounts"}]})");
  EXPECT_TRUE(ask("root", "pods"));
  EXPECT_FALSE(ask("agent", "pods"));
  EXPECT_TRUE(ask("agent", "nodes"));
}

}  // namespace
}  // namespace kgpu::apiserver
