#include "src/cluster/adopt/settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <string>

#include "src/cluster/adopt/test_cluster.h"
#include "testing/status_matchers.h"

namespace kgpu::adopt {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

TEST(PluginSettingsTest, AreThoseOfTheEnvironment) {
  const PluginSettings settings = ReadPluginSettings(OperandPlugin());
  EXPECT_EQ(settings.where, "gpu-operator/nvidia-device-plugin-daemonset");
  EXPECT_THAT(
      settings.flags,
      UnorderedElementsAre(Pair("passDeviceSpecs", "true"), Pair("deviceListStrategy", "envvar"),
                           Pair("deviceIDStrategy", "uuid"), Pair("migStrategy", "single")));
  EXPECT_EQ(settings.config, std::nullopt);
}

TEST(PluginSettingsTest, TheCommandLineWins) {
  const PluginSettings settings = ReadPluginSettings(
      DaemonSet({.name = "p",
                 .container = "nvidia-device-plugin-ctr",
                 .more = R"(,"command":["nvidia-device-plugin","--mig-strategy=mixed"],
                   "args":["--pass-device-specs","--device-id-strategy","index"],
                   "env":[{"name":"MIG_STRATEGY","value":"single"}])"}));
  EXPECT_THAT(settings.flags,
              UnorderedElementsAre(Pair("migStrategy", "mixed"), Pair("passDeviceSpecs", "true"),
                                   Pair("deviceIDStrategy", "index")));
}

TEST(PluginSettingsTest, NameTheConfigMapOfAllNodes) {
  const PluginSettings settings = ReadPluginSettings(
      OperandPlugin(R"(,{"name":"CONFIG_FILE_SRCDIR","value":"/available-configs"},
                        {"name":"DEFAULT_CONFIG","value":"any"},
                        {"name":"CONFIG_FILE","value":"/config/config.yaml"})",
                    R"(,"volumes":[{"name":"plugin-config",
                        "configMap":{"name":"time-slicing-config"}}])"));
  EXPECT_EQ(settings.config, (MapKey{.space = "gpu-operator", .name = "time-slicing-config"}));
  EXPECT_EQ(settings.default_config, "any");
}

TEST(PluginSettingsTest, NameTheFileOfTheCommandLine) {
  const PluginSettings settings = ReadPluginSettings(
      DaemonSet({.name = "p",
                 .container = "nvidia-device-plugin-ctr",
                 .more = R"(,"args":["--config-file=/etc/plugin/config.yaml"],
                   "volumeMounts":[{"name":"c","mountPath":"/etc/plugin"}])",
                 .pod_spec = R"(,"volumes":[{"name":"c","configMap":{"name":"nvdp"}}])"}));
  EXPECT_EQ(settings.config, (MapKey{.space = "kube-system", .name = "nvdp"}));
  EXPECT_EQ(settings.default_config, "config.yaml");
}

TEST(ExporterSettingsTest, HaveDefaults) {
  const ExporterSettings settings =
      ReadExporterSettings(PlainExporter(), "3.3.5-3.4.1-ubuntu22.04");
  EXPECT_EQ(settings.listen, ":9400");
  EXPECT_EQ(settings.every, std::nullopt);
  EXPECT_EQ(settings.fields, std::nullopt);
  EXPECT_FALSE(settings.has_hostname);
  EXPECT_THAT(settings.unsupported, ElementsAre());
}

TEST(ExporterSettingsTest, AreRead) {
  const ExporterSettings settings = ReadExporterSettings(
      PlainExporter(R"(,{"name":"DCGM_EXPORTER_LISTEN","value":":9500"},
                        {"name":"DCGM_EXPORTER_INTERVAL","value":"5000"},
                        {"name":"DCGM_EXPORTER_KUBERNETES_ENABLE_POD_UID","value":"true"},
                        {"name":"DCGM_EXPORTER_KUBERNETES_ENABLE_POD_LABELS","value":"true"})",
                    R"("-f","/etc/dcgm-exporter/my.csv","-o")",
                    R"(,"volumes":[{"name":"fields","configMap":{"name":"fields"}}])"),
      "4.6.0-4.8.3-ubuntu22.04");
  EXPECT_EQ(settings.listen, ":9500");
  EXPECT_EQ(settings.every, std::chrono::milliseconds(5'000));
  EXPECT_EQ(settings.fields, (MapKey{.space = "monitoring", .name = "fields", .key = "counters"}));
  EXPECT_TRUE(settings.has_hostname);
  EXPECT_TRUE(settings.has_pod_uid);
  EXPECT_THAT(settings.unsupported, ElementsAre("labels of pods on series",
                                                "labels pod_name, pod_namespace, container_name"));
}

TEST(ExporterSettingsTest, MayNameAConfigMap) {
  const ExporterSettings settings =
      ReadExporterSettings(PlainExporter("", R"("-m","monitoring:metrics")"), "");
  EXPECT_EQ(settings.fields, (MapKey{.space = "monitoring", .name = "metrics", .key = "metrics"}));
  EXPECT_EQ(ReadExporterSettings(PlainExporter("", R"("-m","none")"), "").fields, std::nullopt);
  EXPECT_EQ(ReadExporterSettings(PlainExporter("", R"("-f","/opt/list.csv")"), "").fields_file,
            "/opt/list.csv");
}

TEST(ExporterSettingsTest, TheListsOfItsImageAreNoLoss) {
  const ExporterSettings settings = ReadExporterSettings(
      PlainExporter("", R"("-f","/etc/dcgm-exporter/dcp-metrics-included.csv")"), "");
  EXPECT_EQ(settings.fields, std::nullopt);
  EXPECT_EQ(settings.fields_file, std::nullopt);
}

TEST(FieldListTest, HasNamesAndComments) {
  const auto fields = ReadFieldList(
      "# Format\n\nDCGM_FI_DEV_GPU_TEMP, gauge, in C.\n # DCGM_FI_DEV_SM_CLOCK, gauge, x\n"
      "DCGM_FI_DEV_FB_USED,gauge,x\r\nnot a name, gauge, x\n");
  ASSERT_OK(fields);
  EXPECT_THAT(*fields, ElementsAre("DCGM_FI_DEV_FB_USED", "DCGM_FI_DEV_GPU_TEMP"));
}

TEST(FieldListTest, IsLimited) {
  std::string text;
  for (int i = 0; i < 5'000; ++i) {
    text += fmt::format("DCGM_FI_{}, gauge, x\n", i);
  }
  EXPECT_THAT(ReadFieldList(text),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("more than 4096 fields")));
}

TEST(PolicySettingsTest, AreRead) {
  const PolicySettings settings = ReadPolicy(Json(
      R"({"metadata":{"name":"cluster-policy"},"spec":{"mig":{"strategy":"mixed"},
        "driver":{"enabled":true},"hostPaths":{"driverInstallDir":"/opt/driver"},
        "devicePlugin":{"config":{"name":"time-slicing-config","default":"any"}},
        "gds":{"enabled":true},"gdrcopy":{"enabled":false},
        "sandboxWorkloads":{"enabled":true}}})"));
  EXPECT_EQ(settings.mig_strategy, "mixed");
  EXPECT_EQ(settings.driver_root, "/opt/driver");
  EXPECT_EQ(settings.plugin_config, "time-slicing-config");
  EXPECT_EQ(settings.default_config, "any");
  EXPECT_TRUE(settings.has_sandbox);
  EXPECT_THAT(settings.unsupported, ElementsAre(HasSubstr("GPUDirect Storage")));
}

TEST(PolicySettingsTest, HaveDefaults) {
  EXPECT_EQ(ReadPolicy(Json("{}")).driver_root, "/run/nvidia/driver");
  EXPECT_EQ(ReadPolicy(Json(R"({"spec":{"driver":{"enabled":false}}})")).driver_root, "");
}

}  // namespace
}  // namespace kgpu::adopt
