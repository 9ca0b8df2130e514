#include "src/cluster/chart/chart.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <boost/json.hpp>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <vector>

#include "src/cluster/chart/chart_files.h"
#include "src/cluster/chart/template.h"
#include "src/platform/doc/doc.h"
#include "testing/status_matchers.h"

namespace kgpu::chart {
namespace {

namespace json = boost::json;
using ::testing::AllOf;
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
  names.reserve(manifests.size());
  for (const Manifest& manifest : manifests) {
    names.push_back(fmt::format("{}/{}", KindOf(manifest), NameOf(manifest)));
  }
  return names;
}

TEST(ChartTest, DefaultsInTheOrderOfInstallation) {
  EXPECT_THAT(NamesOfAll(RenderOk({})),
              ElementsAre("Namespace/kgpu", "CustomResourceDefinition/gpupolicies.kgpu.dev",
                          "ServiceAccount/kgpu-agent", "ServiceAccount/kgpu-controller",
                          "ClusterRole/kgpu-agent", "ClusterRole/kgpu-controller",
                          "ClusterRoleBinding/kgpu-agent", "ClusterRoleBinding/kgpu-controller",
                          "Role/kgpu-agent", "Role/kgpu-controller", "RoleBinding/kgpu-agent",
                          "RoleBinding/kgpu-controller", "ValidatingAdmissionPolicy/kgpu-agent",
                          "ValidatingAdmissionPolicy/kgpu-claims",
                          "ValidatingAdmissionPolicyBinding/kgpu-agent",
                          "ValidatingAdmissionPolicyBinding/kgpu-claims", "NetworkPolicy/kgpu",
                          "ConfigMap/kgpu-agent", "PodDisruptionBudget/kgpu-controller",
                          "DaemonSet/kgpu-agent", "Deployment/kgpu-controller"));
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
  EXPECT_EQ(manifests.size(), 31U);
  for (const Manifest& manifest : manifests) {
    const json::object& metadata = manifest.object.at("metadata").as_object();
    ASSERT_TRUE(metadata.contains("labels")) << manifest.text;
    const json::object& labels = metadata.at("labels").as_object();
    EXPECT_EQ(labels.at("app.kubernetes.io/part-of"), "kgpu");
    EXPECT_EQ(labels.at("app.kubernetes.io/managed-by"), "kgpu-cluster");
    const bool is_cluster_wide = cluster_wide.contains(std::string(KindOf(manifest)));
    EXPECT_EQ(metadata.contains("namespace"), !is_cluster_wide) << manifest.text;
    if (!is_cluster_wide) {
      EXPECT_EQ(metadata.at("namespace"), "gpus");
    }
    EXPECT_THAT(manifest.text, Not(HasSubstr("namespace: kgpu\n"))) << "another one was asked for";
  }
}

const std::vector<std::string> kGatewayOnSqlite = {"functions.enabled=true",
                                                   "functions.tokensSecret=tokens"};

TEST(ChartTest, FunctionsBringAGatewayAndTheirNamespaces) {
  std::vector<std::string> settings = kGatewayOnSqlite;
  settings.emplace_back("functions.namespaces=[team-a, team-b]");
  settings.emplace_back("functions.quotas={team-b: {gpus: 4, gpuSecondsPerDay: 3600}}");
  settings.emplace_back("controller.enabled=false");
  const std::vector<Manifest> manifests = RenderOk({.settings = settings});
  std::vector<std::string> found;
  for (const Manifest& manifest : manifests) {
    const json::object& metadata = manifest.object.at("metadata").as_object();
    const json::value* name =
        metadata.at("labels").as_object().if_contains("app.kubernetes.io/name");
    if (name != nullptr && *name == "kgpu-gateway") {
      const json::value* space = metadata.if_contains("namespace");
      found.push_back(fmt::format("{} {}/{}", KindOf(manifest),
                                  space == nullptr ? "" : std::string(space->as_string()),
                                  NameOf(manifest)));
    }
  }
  EXPECT_THAT(
      found,
      ElementsAre("Namespace /team-a", "Namespace /team-b", "ServiceAccount kgpu/kgpu-gateway",
                  "ClusterRole /kgpu-gateway", "ClusterRoleBinding /kgpu-gateway",
                  "Role kgpu/kgpu-gateway", "Role team-a/kgpu-gateway", "Role team-b/kgpu-gateway",
                  "RoleBinding kgpu/kgpu-gateway", "RoleBinding team-a/kgpu-gateway",
                  "RoleBinding team-b/kgpu-gateway", "NetworkPolicy team-a/kgpu-functions",
                  "NetworkPolicy team-b/kgpu-functions", "NetworkPolicy kgpu/kgpu-gateway",
                  "ResourceQuota team-b/kgpu-functions", "PersistentVolumeClaim kgpu/kgpu-gateway",
                  "Service kgpu/kgpu-gateway", "Service kgpu/kgpu-gateway-mesh",
                  "Deployment kgpu/kgpu-gateway"));
  EXPECT_THAT(manifests.back().text,
              AllOf(HasSubstr("--function-namespaces=team-a,team-b\n"),
                    HasSubstr("--gpu-seconds-per-day=team-b=3600\n"), HasSubstr("type: Recreate")));
}

struct WrongValues {
  std::vector<std::string> settings;
  const char* problem;
};

TEST(ChartTest, ValuesThatMakeNoGatewayAreErrorsWithTheFix) {
  for (const WrongValues& wrong : std::initializer_list<WrongValues>{
           {{"functions.replicas=2"},
            "functions.replicas: must be 1 with functions.queue.by: sqlite"},
           {{"functions.queue.by=redis"}, "functions.queue.redis.url: missing"},
           {{"functions.tokensSecret="}, "functions.tokensSecret: missing"},
           {{"functions.keda.enabled=true"}, "functions.keda.prometheus: missing"},
           {{"functions.namespaces=[]"}, "functions.namespaces: must name at least one"},
           {{"functions.namespaces=[kgpu]"}, "must not name the namespace of kgpu itself"}}) {
    std::vector<std::string> settings = kGatewayOnSqlite;
    settings.insert(settings.end(), wrong.settings.begin(), wrong.settings.end());
    const auto values = ReadValues({.settings = settings});
    ASSERT_OK(values) << wrong.problem;
    EXPECT_THAT(Render(*values), StatusIs(StatusCode::kInvalidArgument, HasSubstr(wrong.problem)));
  }
}

std::string ReadSourceFile(const std::string& path) {
  std::ifstream in(std::filesystem::path(KGPU_SOURCE_DIR) / path, std::ios::binary);
  EXPECT_TRUE(in) << path;
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

const Manifest* FindManifest(const std::vector<Manifest>& manifests, std::string_view kind,
                             std::string_view name) {
  const auto found = std::ranges::find_if(manifests, [&](const Manifest& manifest) {
    return KindOf(manifest) == kind && NameOf(manifest) == name;
  });
  return found == manifests.end() ? nullptr : &*found;
}

TEST(ChartTest, MonitoringIsThatOfItsOwnFolder) {
  const std::vector<Manifest> manifests =
      RenderOk({.settings = {"monitoring.podMonitor=true", "monitoring.rules=true",
                             "monitoring.dashboards=true"}});
  for (const auto& [kind, name, file] : std::initializer_list<std::array<const char*, 3>>{
           {"PodMonitor", "kgpu-agent", "podmonitor.yaml"},
           {"PodMonitor", "kgpu-controller", "podmonitor-controller.yaml"},
           {"PrometheusRule", "kgpu", "prometheusrule.yaml"}}) {
    const auto there = doc::Parse(ReadSourceFile(std::string("deploy/monitoring/") + file),
                                  doc::Format::kYaml, file);
    ASSERT_OK(there);
    const Manifest* ours = FindManifest(manifests, kind, name);
    ASSERT_NE(ours, nullptr) << kind;
    EXPECT_EQ(ours->object.at("spec"), there->at("spec")) << kind;
  }
  const Manifest* dashboards = FindManifest(manifests, "ConfigMap", "kgpu-dashboards");
  ASSERT_NE(dashboards, nullptr);
  EXPECT_EQ(dashboards->object.at("data").as_object().size(), 4U);
  for (const auto& [key, text] : dashboards->object.at("data").as_object()) {
    EXPECT_EQ(std::string(text.as_string()),
              ReadSourceFile("deploy/monitoring/grafana/" + std::string(key)));
  }
}

TEST(ChartTest, WithoutAControllerNothingScrapesIt) {
  const std::vector<Manifest> manifests =
      RenderOk({.settings = {"monitoring.podMonitor=true", "controller.enabled=false"}});
  EXPECT_NE(FindManifest(manifests, "PodMonitor", "kgpu-agent"), nullptr);
  EXPECT_EQ(FindManifest(manifests, "PodMonitor", "kgpu-controller"), nullptr);
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

TEST(ChartTest, ItsVersionIsThatOfTheProgram) {
  const auto chart =
      doc::Parse(FindChartFile("Chart.yaml")->text, doc::Format::kYaml, "Chart.yaml");
  ASSERT_OK(chart);
  EXPECT_EQ(chart->at("version").as_string(), KGPU_VERSION);
  EXPECT_EQ(chart->at("appVersion").as_string(), KGPU_VERSION);
}

TEST(ChartTest, AKustomizeBaseNamesEveryFile) {
  std::vector<std::string> settings = kGatewayOnSqlite;
  settings.emplace_back("functions.namespaces=[team-a, team-b]");
  const std::vector<OutputFile> files = KustomizeFolder(RenderOk({.settings = settings}));
  ASSERT_EQ(files.back().path, "kustomization.yaml");
  std::set<std::string> paths;
  for (const OutputFile& file : files) {
    EXPECT_TRUE(paths.insert(file.path).second) << file.path;
    EXPECT_TRUE(&file == &files.back() ||
                files.back().text.find("- " + file.path + "\n") != std::string::npos)
        << file.path;
  }
  EXPECT_TRUE(paths.contains("role-kgpu-gateway.yaml"));
  EXPECT_TRUE(paths.contains("role-team-b-kgpu-gateway.yaml"));
}

TEST(ChartTest, HelmKeepsWhatBelongsToFunctions) {
  const auto values = ReadValues({.settings = kGatewayOnSqlite});
  ASSERT_OK(values);
  for (const char* service : {"Helm", "kgpu-cluster"}) {
    std::set<std::string> kept;
    for (const char* file : {"gateway.yaml", "function-namespaces.yaml"}) {
      const json::object fields = {
          {"Values", values->tree},
          {"Release", {{"Namespace", "kgpu"}, {"Service", service}, {"Name", "kgpu"}}}};
      const auto text = RenderTemplate(FindChartFile(std::string("templates/") + file)->text, file,
                                       TemplateValue(fields));
      ASSERT_OK(text);
      const auto manifests = SplitManifests(*text, file);
      ASSERT_OK(manifests);
      for (const Manifest& manifest : *manifests) {
        if (manifest.text.find("helm.sh/resource-policy: keep") != std::string::npos) {
          kept.insert(std::string(KindOf(manifest)));
        }
      }
    }
    EXPECT_EQ(kept, service == std::string_view("Helm")
                        ? (std::set<std::string>{"Namespace", "PersistentVolumeClaim"})
                        : std::set<std::string>());
  }
}

}  // namespace
}  // namespace kgpu::chart
