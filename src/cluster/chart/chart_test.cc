#include "src/cluster/chart/chart.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "src/cluster/chart/chart_files.h"
#include "testing/golden.h"
#include "testing/status_matchers.h"

namespace kgpu::chart {
namespace {

namespace json = boost::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

std::vector<Manifest> RenderOk(const ValuesRequest& request) {
  const auto values = ReadValues(request);
  EXPECT_OK(values);
  auto manifests = values.ok() ? Render(*values) : StatusOr<std::vector<Manifest>>(values.status());
  EXPECT_OK(manifests);
  return manifests.ok() ? *std::move(manifests) : std::vector<Manifest>();
}

std::vector<std::string> NamesOfAll(const std::vector<Manifest>& manifests) {
  std::vector<std::string> names;
  for (const Manifest& manifest : manifests) {
    names.push_back(fmt::format("{}/{}", KindOf(manifest), NameOf(manifest)));
  }
  return names;
}

TEST(ChartTest, DefaultsInTheOrderOfInstallation) {
  EXPECT_THAT(NamesOfAll(RenderOk({})),
              ElementsAre("Namespace/kgpu", "ServiceAccount/kgpu-agent", "ClusterRole/kgpu-agent",
                          "ClusterRoleBinding/kgpu-agent", "Role/kgpu-agent",
                          "RoleBinding/kgpu-agent", "ValidatingAdmissionPolicy/kgpu-agent",
                          "ValidatingAdmissionPolicyBinding/kgpu-agent", "NetworkPolicy/kgpu",
                          "ConfigMap/kgpu-agent", "DaemonSet/kgpu-agent"));
}

TEST(ChartTest, EverythingIsLabelledAndInItsNamespace) {
  const std::set<std::string> cluster_wide = {"Namespace",
                                              "PriorityClass",
                                              "ClusterRole",
                                              "ClusterRoleBinding",
                                              "CustomResourceDefinition",
                                              "ValidatingAdmissionPolicy",
                                              "ValidatingAdmissionPolicyBinding",
                                              "SecurityContextConstraints"};
  const std::vector<Manifest> manifests =
      RenderOk({.name_space = "gpus",
                .distribution = "openshift",
                .settings = {"controller.enabled=true", "priorityClass.create=true",
                             "priorityClass.name=gpus", "configs.a=x", "monitoring.dashboards=true",
                             "monitoring.readers=[{kind: User, name: a}]"}});
  EXPECT_EQ(manifests.size(), 27U);
  for (const Manifest& manifest : manifests) {
    const json::object& metadata = manifest.object.at("metadata").as_object();
    if (manifest.source.starts_with("templates/")) {
      ASSERT_TRUE(metadata.contains("labels")) << manifest.text;
      const json::object& labels = metadata.at("labels").as_object();
      EXPECT_EQ(labels.at("app.kubernetes.io/part-of"), "kgpu");
      EXPECT_EQ(labels.at("app.kubernetes.io/managed-by"), "kgpu-cluster");
    }
    const bool is_cluster_wide = cluster_wide.contains(std::string(KindOf(manifest)));
    EXPECT_EQ(metadata.contains("namespace"), !is_cluster_wide) << manifest.text;
    if (!is_cluster_wide) {
      EXPECT_EQ(metadata.at("namespace"), "gpus");
    }
    EXPECT_THAT(manifest.text, Not(HasSubstr("namespace: kgpu\n"))) << "another one was asked for";
  }
}

TEST(ChartTest, TheChartIsComplete) {
  std::set<std::string> paths;
  for (const OutputFile& file : ChartFolder()) {
    paths.insert(file.path);
    EXPECT_FALSE(file.text.empty()) << file.path;
  }
  for (const char* path : {"Chart.yaml", "values.yaml", "values.schema.json", "values-k3s.yaml",
                           "templates/agent.yaml", "files/rules.yaml", "files/kgpu-node.json"}) {
    EXPECT_TRUE(paths.contains(path)) << path;
  }
}

TEST(ChartTest, AKustomizeBaseNamesEveryFile) {
  const std::vector<OutputFile> files = KustomizeFolder(RenderOk({}));
  ASSERT_EQ(files.back().path, "kustomization.yaml");
  std::set<std::string> paths;
  for (const OutputFile& file : files) {
    EXPECT_TRUE(paths.insert(file.path).second) << file.path;
    EXPECT_TRUE(&file == &files.back() ||
                files.back().text.find("- " + file.path + "\n") != std::string::npos)
        << file.path;
  }
}

}  // namespace
}  // namespace kgpu::chart
