#include "src/kube/api/kubeconfig.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "testing/status_matchers.h"

namespace kgpu::kube {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::Pair;

constexpr std::string_view kWhole = R"(
apiVersion: v1
kind: Config
preferences: {}
current-context: work
future-field: {a: b}
clusters:
- name: c1
  cluster:
    server: https://10.0.0.1:6443
    certificate-authority: pki/ca.crt
    tls-server-name: api.test
    proxy-url: http://proxy:3128
    disable-compression: true
- name: c2
  cluster: {server: "https://h", certificate-authority-data: Y2E=, extensions: [{name: x}]}
users:
- name: u1
  user:
    client-certificate: /abs/c.crt
    client-key: c.key
    as: jane
    as-uid: "7"
    as-groups: [a, b]
    as-user-extra: {Scopes.Test/x: [view, edit]}
- name: u2
  user: {client-certificate-data: Y2VydA==, client-key-data: a2V5, token: t, tokenFile: tok}
- name: u3
  user:
    exec:
      apiVersion: client.authentication.k8s.io/v1
      command: ./login
      args: [--region, eu]
      env: [{name: A, value: b}]
      interactiveMode: IfAvailable
      provideClusterInfo: true
      installHint: get it
- name: u4
  user: {username: jane, password: secret}
- name: u5
contexts:
- name: work
  context: {cluster: c1, user: u1, namespace: gpu}
- name: home
  context: {cluster: c2, user: u2}
- name: nobody
  context: {cluster: c2}
- name: torn
  context: {cluster: c9, user: u1}
- name: stranger
  context: {cluster: c1, user: u9}
)";

StatusOr<Kubeconfig> Parse(std::string_view text) {
  return ParseKubeconfig(text, "/etc/kube/config", "/etc/kube");
}

TEST(KubeconfigTest, ReadsAll) {
  const auto config = Parse(kWhole);
  ASSERT_OK(config);
  EXPECT_EQ(config->current_context, "work");
  const ClusterSpec& c1 = config->clusters.at("c1");
  EXPECT_EQ(c1.server, "https://10.0.0.1:6443");
  EXPECT_EQ(c1.ca_file, "/etc/kube/pki/ca.crt");
  EXPECT_EQ(c1.tls_server_name, "api.test");
  EXPECT_EQ(c1.proxy_url, "http://proxy:3128");
  EXPECT_EQ(config->clusters.at("c2").ca_pem, "ca");
  const UserSpec& u1 = config->users.at("u1");
  EXPECT_EQ(u1.certificate_file, "/abs/c.crt");
  EXPECT_EQ(u1.key_file, "/etc/kube/c.key");
  EXPECT_EQ(u1.as_user, "jane");
  EXPECT_EQ(u1.as_uid, "7");
  EXPECT_THAT(u1.as_groups, ElementsAre("a", "b"));
  EXPECT_THAT(u1.as_extra, ElementsAre(Pair("Scopes.Test/x", ElementsAre("view", "edit"))));
  const UserSpec& u2 = config->users.at("u2");
  EXPECT_EQ(u2.certificate_pem, "cert");
  EXPECT_EQ(u2.key_pem, "key");
  EXPECT_EQ(u2.token, "t");
  EXPECT_EQ(u2.token_file, "/etc/kube/tok");
  const auto& exec = config->users.at("u3").exec;
  ASSERT_TRUE(exec.has_value());
  EXPECT_EQ(exec->command, "/etc/kube/./login");
  EXPECT_THAT(exec->args, ElementsAre("--region", "eu"));
  EXPECT_THAT(exec->environment, ElementsAre(Pair("A", "b")));
  EXPECT_FALSE(exec->needs_terminal);
  EXPECT_TRUE(exec->wants_cluster);
  EXPECT_EQ(exec->install_hint, "get it");
  EXPECT_EQ(config->users.at("u4").username, "jane");
}

TEST(KubeconfigTest, ReadsJsonAndNothing) {
  const auto config =
      Parse("{\n\t\"clusters\": [{\"name\": \"c\", \"cluster\": {\"server\": \"https://h\"}}]\n}");
  ASSERT_OK(config);
  EXPECT_EQ(config->clusters.at("c").server, "https://h");
  EXPECT_OK(Parse("\n"));
  EXPECT_OK(Parse("clusters: null\nusers:\n"));
}

TEST(KubeconfigTest, AProgramOfPathStaysOne) {
  const auto config = Parse(R"(users: [{name: u, user: {exec: {
      apiVersion: client.authentication.k8s.io/v1beta1, command: aws}}}])");
  ASSERT_OK(config);
  EXPECT_EQ(config->users.at("u").exec.value_or(ExecSpec{}).command, "aws");
}

TEST(KubeconfigTest, SaysWhatIsWrongAndWhere) {
  const struct {
    std::string text;
    std::string wanted;
  } kCases[] = {
      {"a: [", "/etc/kube/config"},
      {"[]", "must be a map"},
      {"kind: Pod", "kind: must be Config, not Pod"},
      {"clusters: {}", "clusters: must be a list"},
      {"clusters: [{cluster: {}}]", "clusters[0]: has no name"},
      {"clusters: [{name: c, cluster: {server: 7}}]",
       "clusters[0].cluster.server: must be a string"},
      {"clusters: [{name: c, cluster: [1]}]", "clusters[0].cluster: must be a map"},
      {"clusters: [{name: c, cluster: {insecure-skip-tls-verify: \"yes\"}}]",
       "must be true or false"},
      {"users: [{name: u, user: {client-key-data: secret!}}]",
       "users[0].user.client-key-data: is not base64"},
      {"users: [{name: u, user: {token: 123456}}]", "users[0].user.token: must be a string"},
      {"users: [{name: u, user: {exec: {command: x}}}]", "users[0].user.exec: its apiVersion"},
      {"users: [{name: u, user: {exec: {apiVersion: client.authentication.k8s.io/v1, "
       "interactiveMode: Never}}}]",
       "has no command"},
      {"users: [{name: u, user: {exec: {apiVersion: client.authentication.k8s.io/v1, command: "
       "x}}}]",
       "interactiveMode"}};
  for (const auto& c : kCases) {
    EXPECT_THAT(Parse(c.text), StatusIs(StatusCode::kInvalidArgument,
                                        AllOf(HasSubstr("/etc/kube/config"), HasSubstr(c.wanted),
                                              Not(HasSubstr("secret")), Not(HasSubstr("123456")))))
        << c.text;
  }
}

TEST(KubeconfigTest, TheFirstFileWins) {
  auto first = Parse("current-context: ''\nclusters: [{name: c, cluster: {server: https://a}}]");
  auto second = Parse(
      "current-context: x\nclusters: [{name: c, cluster: {server: https://b}}, "
      "{name: d, cluster: {server: https://d}}]");
  ASSERT_OK(first);
  ASSERT_OK(second);
  MergeKubeconfig(*first, *std::move(second));
  EXPECT_EQ(first->clusters.at("c").server, "https://a");
  EXPECT_EQ(first->clusters.at("d").server, "https://d");
  EXPECT_EQ(first->current_context, "x");
}

TEST(KubeconfigTest, SelectsAContext) {
  const auto config = Parse(kWhole);
  ASSERT_OK(config);
  const auto work = SelectContext(*config, "");
  ASSERT_OK(work);
  EXPECT_EQ(work->cluster.server, "https://10.0.0.1:6443");
  EXPECT_EQ(work->user.as_user, "jane");
  EXPECT_EQ(work->space, "gpu");
  const auto home = SelectContext(*config, "home");
  ASSERT_OK(home);
  EXPECT_EQ(home->space, "default");
  EXPECT_OK(SelectContext(*config, "nobody"));
}

TEST(KubeconfigTest, SaysWhatThereIsInstead) {
  const auto config = Parse(kWhole);
  ASSERT_OK(config);
  EXPECT_THAT(
      SelectContext(*config, "wrong"),
      StatusIs(StatusCode::kNotFound, HasSubstr("no context \"wrong\"; there are: home, nobody")));
  EXPECT_THAT(SelectContext(*config, "torn"),
              StatusIs(StatusCode::kNotFound, HasSubstr("context torn: no cluster \"c9\"")));
  EXPECT_THAT(SelectContext(*config, "stranger"),
              StatusIs(StatusCode::kNotFound, HasSubstr("no user \"u9\"; there are: u1")));
  EXPECT_THAT(SelectContext({}, ""), StatusIs(StatusCode::kNotFound, HasSubstr("current-context")));
}

TEST(KubeconfigTest, NeverTalksToAServerItDoesNotKnow) {
  const auto config = Parse(R"(
clusters: [{name: c, cluster: {server: "https://h", insecure-skip-tls-verify: true}}]
contexts: [{name: x, context: {cluster: c}}])");
  ASSERT_OK(config);
  EXPECT_THAT(
      SelectContext(*config, "x"),
      StatusIs(StatusCode::kFailedPrecondition, AllOf(HasSubstr("insecure-skip-tls-verify is not"),
                                                      HasSubstr("certificate-authority"))));
}

TEST(KubeconfigTest, RefusesWhatIsGone) {
  const auto config = Parse(R"(
clusters: [{name: c, cluster: {server: "https://h"}}]
users: [{name: u, user: {auth-provider: {name: gcp}}}]
contexts: [{name: x, context: {cluster: c, user: u}}])");
  ASSERT_OK(config);
  EXPECT_THAT(SelectContext(*config, "x"),
              StatusIs(StatusCode::kUnimplemented, HasSubstr("use exec")));
}

}  // namespace
}  // namespace kgpu::kube
