#include "src/kube/api/find_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "src/platform/sys/root.h"
#include "testing/status_matchers.h"
#include "testing/temp_dir.h"

namespace kgpu::kube {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class FindConfigTest : public ::testing::Test {
 protected:
  void Write(std::string_view path, std::string_view server, std::string_view extra = "") {
    dir_.WriteFile(path, fmt::format(R"(
clusters: [{{name: c-{0}, cluster: {{server: "https://{0}", certificate-authority: ca.crt}}}}]
contexts: [{{name: x-{0}, context: {{cluster: c-{0}}}}}]
{1}
)",
                                     server, extra));
  }
  StatusOr<FoundConfig> Find(ConfigSources sources) const { return FindConfig(root_, sources); }

  TempDir dir_;
  sys::Root root_ = sys::Root::Open(dir_.path()).value();
};

TEST_F(FindConfigTest, TheFileThatWasNamedIsTheOne) {
  Write("home/.kube/config", "home", "current-context: x-home");
  Write("etc/site/k.yaml", "named", "current-context: x-named");
  const auto found = Find({.kubeconfig = "k.yaml",
                           .environment = {"HOME=/home", "KUBECONFIG=/home/.kube/config"},
                           .working_folder = "/etc/site"});
  ASSERT_OK(found);
  EXPECT_EQ(found->selected.cluster.server, "https://named");
  EXPECT_EQ(found->selected.cluster.ca_file, "/etc/site/ca.crt");
  EXPECT_EQ(found->source, "/etc/site/k.yaml");
  EXPECT_THAT(Find({.kubeconfig = "/none", .environment = {"HOME=/home"}}),
              StatusIs(StatusCode::kNotFound, HasSubstr("/none")));
}

TEST_F(FindConfigTest, TheVariableNamesSeveral) {
  Write("a/one", "a");
  Write("b/two", "b", "current-context: x-b");
  Write("home/.kube/config", "home", "current-context: x-home");
  const auto found = Find({.environment = {"HOME=/home", "KUBECONFIG=/none:/a/one::/b/two"}});
  ASSERT_OK(found);
  EXPECT_EQ(found->selected.cluster.server, "https://b");
  EXPECT_EQ(found->selected.cluster.ca_file, "/b/ca.crt");
  EXPECT_EQ(found->source, "/a/one:/b/two");
  const auto other = Find({.context = "x-a", .environment = {"KUBECONFIG=/none:/a/one::/b/two"}});
  ASSERT_OK(other);
  EXPECT_EQ(other->selected.cluster.ca_file, "/a/ca.crt");
  EXPECT_THAT(Find({.environment = {"HOME=/home", "KUBECONFIG=/none"}}),
              StatusIs(StatusCode::kNotFound, HasSubstr("KUBECONFIG")));
  dir_.WriteFile("bad", "clusters: 7");
  EXPECT_THAT(Find({.environment = {"KUBECONFIG=/bad:/a/one"}}),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("/bad")));
}

TEST_F(FindConfigTest, HomeComesBeforeThePod) {
  Write("home/.kube/config", "home", "current-context: x-home");
  const auto found = Find({.environment = {"HOME=/home", "KUBERNETES_SERVICE_HOST=10.0.0.1",
                                           "KUBERNETES_SERVICE_PORT=443"}});
  ASSERT_OK(found);
  EXPECT_EQ(found->selected.cluster.server, "https://home");
}

TEST_F(FindConfigTest, ADaemonPassesOverWhatIsAtHome) {
  Write("home/.kube/config", "home", "current-context: x-home");
  ConfigSources sources{.environment = {"HOME=/home", "KUBERNETES_SERVICE_HOST=10.0.0.1",
                                        "KUBERNETES_SERVICE_PORT=443"},
                        .ignores_home_kubeconfig = true};
  const auto found = Find(sources);
  ASSERT_OK(found);
  EXPECT_EQ(found->source, "in-cluster");
  sources.environment = {"HOME=/home"};
  EXPECT_THAT(Find(sources), StatusIs(StatusCode::kNotFound,
                                      AllOf(HasSubstr("KUBECONFIG"), Not(HasSubstr("/.kube")))));
  sources.environment = {"HOME=/home", "KUBECONFIG=/home/.kube/config"};
  EXPECT_EQ(Find(sources).value().selected.cluster.server, "https://home");
}

TEST_F(FindConfigTest, InAPodItsServiceAccountIsUsed) {
  dir_.WriteFile("var/run/secrets/kubernetes.io/serviceaccount/namespace", "gpu-system");
  for (const auto& [host, server] : {std::pair("10.96.0.1", "https://10.96.0.1:443"),
                                     std::pair("fd00::1", "https://[fd00::1]:443")}) {
    const auto found =
        Find({.environment = {"HOME=/home", fmt::format("KUBERNETES_SERVICE_HOST={}", host),
                              "KUBERNETES_SERVICE_PORT=443"}});
    ASSERT_OK(found);
    EXPECT_EQ(found->source, "in-cluster");
    EXPECT_EQ(found->selected.cluster.server, server);
    EXPECT_EQ(found->selected.cluster.ca_file,
              "/var/run/secrets/kubernetes.io/serviceaccount/ca.crt");
    EXPECT_EQ(found->selected.user.token_file,
              "/var/run/secrets/kubernetes.io/serviceaccount/token");
    EXPECT_EQ(found->selected.space, "gpu-system");
  }
  EXPECT_THAT(Find({.environment = {"KUBERNETES_SERVICE_HOST=h", "KUBERNETES_SERVICE_PORT=x"}}),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("KUBERNETES_SERVICE_PORT")));
}

TEST_F(FindConfigTest, SaysWhereItLooked) {
  EXPECT_THAT(Find({.environment = {"HOME=/home"}}),
              StatusIs(StatusCode::kNotFound,
                       AllOf(HasSubstr("/home/.kube/config"), HasSubstr("KUBECONFIG"),
                             HasSubstr("not running in a pod"))));
}

}  // namespace
}  // namespace kgpu::kube
