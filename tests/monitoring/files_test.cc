// What is shipped for Prometheus and Grafana: it asks only for what exists, and says one thing in
// both of its forms.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>

#include <algorithm>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "src/node/telemetry/series.h"
#include "src/platform/base/strings.h"
#include "src/platform/doc/doc.h"
#include "src/platform/sys/root.h"
#include "testing/status_matchers.h"
#include "tests/monitoring/promql_names.h"

namespace kgpu::monitoring {
namespace {

namespace json = boost::json;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;
using ::testing::StartsWith;

json::value Read(const std::string& name) {
  const auto root = sys::Root::Open(KGPU_SOURCE_DIR "/deploy/monitoring");
  EXPECT_OK(root.status());
  const auto text = root->ReadFile(name);
  EXPECT_OK(text.status());
  const auto tree = doc::Parse(
      text.value_or(""), name.ends_with(".json") ? doc::Format::kJson : doc::Format::kYaml, name);
  EXPECT_OK(tree.status());
  return tree.ok() ? *tree : json::value();
}

// The documents of the node agent's manifest.
json::value ReadManifest() {
  const auto root = sys::Root::Open(KGPU_SOURCE_DIR "/deploy/manifests");
  EXPECT_OK(root.status());
  const std::string text = root->ReadFile("kgpu.yaml").value_or("");
  json::array documents;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find("\n---\n", at), text.size());
    const auto tree = doc::Parse(text.substr(at, end - at), doc::Format::kYaml, "manifest");
    EXPECT_OK(tree.status());
    documents.push_back(tree.ok() ? *tree : json::value());
    at = end + 5;
  }
  return documents;
}

std::string TextOf(const json::value& value) {
  return value.is_string() ? std::string(value.get_string()) : json::serialize(value);
}

// Calls `found` with each value below `value` that has one of those keys.
void ForEach(const json::value& value, const std::set<std::string_view>& keys,
             const std::function<void(const json::value&)>& found) {
  if (value.is_array()) {
    for (const json::value& item : value.get_array()) {
      ForEach(item, keys, found);
    }
  } else if (value.is_object()) {
    for (const auto& [key, item] : value.get_object()) {
      if (keys.contains(std::string_view(key.data(), key.size()))) {
        found(item);
      }
      ForEach(item, keys, found);
    }
  }
}

std::set<std::string> TextsOf(const json::value& value, std::string_view key) {
  std::set<std::string> texts;
  ForEach(value, {key}, [&](const json::value& item) { texts.insert(TextOf(item)); });
  return texts;
}

// All that can be asked for: what we serve, what the rules record, what Prometheus adds.
class Known {
 public:
  Known() : series_{"up"} {
    for (const telemetry::SeriesGroup& group : telemetry::AllSeries()) {
      for (const telemetry::Series& series : group.series) {
        series_.insert(std::string(series.name));
        if (series.type == metrics::Type::kHistogram) {
          series_.insert(fmt::format("{}_bucket", series.name));
          series_.insert(fmt::format("{}_count", series.name));
          series_.insert(fmt::format("{}_sum", series.name));
        }
        for (const std::string_view label : Split(series.labels, ',')) {
          labels_.insert(std::string(Trim(label)));
        }
      }
    }
    AddPage("functions.md");
    AddPage("gateway.md");
    series_.merge(TextsOf(Read("rules.yaml"), "record"));
  }
  const std::set<std::string>& series() const { return series_; }
  const std::set<std::string>& labels() const { return labels_; }

 private:
  // What the table of a page says under "Metrics", of functions: `name{label,label}` or `name`.
  void AddPage(const std::string& name) {
    const auto root = sys::Root::Open(KGPU_SOURCE_DIR "/docs/reference");
    EXPECT_OK(root.status());
    const std::string page = root->ReadFile(name).value_or("");
    const size_t begin = page.find("## Metrics");
    EXPECT_NE(begin, std::string::npos) << name;
    const std::string_view rest = std::string_view(page).substr(begin + 2);
    for (const std::string_view line : Split(rest.substr(0, rest.find("## ")), '\n')) {
      if (line.starts_with("| `")) {
        AddRow(line);
      }
    }
  }
  void AddRow(std::string_view line) {
    const bool is_histogram = line.find("histogram") != line.npos;
    const std::vector<std::string_view> pieces = Split(line, '`');
    for (size_t i = 1; i + 1 < pieces.size(); i += 2) {
      const std::string_view name = pieces[i].substr(0, pieces[i].find('{'));
      series_.emplace(name);
      if (is_histogram) {
        series_.insert(fmt::format("{}_bucket", name));
      }
      if (name.size() < pieces[i].size()) {
        const std::string_view labels = pieces[i].substr(name.size() + 1);
        for (const std::string_view label : Split(labels.substr(0, labels.find('}')), ',')) {
          labels_.emplace(label);
        }
      }
    }
  }

  std::set<std::string> series_;
  std::set<std::string> labels_{
      "gpu",         "uuid",      "model",     "pci_bus_id",       "mig_uuid",
      "mig_profile", "node",      "namespace", "gpu_instance",     "pod",
      "instance",    "container", "job",       "compute_instance", "route",
      "protocol"};
};

void ExpectKnown(const Known& known, const std::string& expression) {
  const PromqlNames names = NamesOfExpression(expression);
  EXPECT_THAT(known.series(), IsSupersetOf(names.series)) << expression;
  EXPECT_THAT(known.labels(), IsSupersetOf(names.labels)) << expression;
}

TEST(MonitoringRulesTest, AskForWhatExists) {
  const Known known;
  const std::set<std::string> expressions = TextsOf(Read("rules.yaml"), "expr");
  EXPECT_GT(expressions.size(), 20U);
  for (const std::string& expression : expressions) {
    ExpectKnown(known, expression);
  }
}

TEST(MonitoringRulesTest, TheOperatorsAreTheSame) {
  EXPECT_EQ(Read("prometheusrule.yaml").at("spec").at("groups"), Read("rules.yaml").at("groups"));
}

TEST(MonitoringRulesTest, EveryAlertIsTestedAndSaysWhatToDo) {
  const std::set<std::string> tested = TextsOf(Read("rules_test.yaml"), "alertname");
  const auto root = sys::Root::Open(KGPU_SOURCE_DIR "/docs");
  ASSERT_OK(root.status());
  const std::string page = root->ReadFile("reference/monitoring.md").value_or("");
  const json::value rules = Read("rules.yaml");
  for (const json::value& group : rules.at("groups").as_array()) {
    for (const json::value& rule : group.at("rules").as_array()) {
      if (!rule.as_object().contains("alert")) {
        continue;
      }
      const std::string name = TextOf(rule.at("alert"));
      EXPECT_THAT(tested, Contains(name));
      EXPECT_THAT(page, HasSubstr(fmt::format("`{}`", name)));
      EXPECT_THAT((std::set<std::string>{"critical", "warning", "info"}),
                  Contains(TextOf(rule.at("labels").at("severity"))))
          << name;
      EXPECT_NE(TextOf(rule.at("annotations").at("summary")), "") << name;
      EXPECT_NE(TextOf(rule.at("annotations").at("description")), "") << name;
    }
  }
}

class MonitoringDashboardTest : public ::testing::TestWithParam<const char*> {
 protected:
  const json::value dashboard_ = Read(fmt::format("grafana/{}.json", GetParam()));
};

TEST_P(MonitoringDashboardTest, AsksForWhatExists) {
  // Queries of panels, and those of variables ("definition").
  const Known known;
  size_t count = 0;
  ForEach(dashboard_, {"expr", "definition"}, [&](const json::value& expression) {
    ++count;
    ExpectKnown(known, TextOf(expression));
  });
  EXPECT_GT(count, 8U);
}

TEST_P(MonitoringDashboardTest, UsesVariablesThatItHas) {
  std::set<std::string> variables = {"__range", "__rate_interval"};
  for (const json::value& variable : dashboard_.at("templating").at("list").as_array()) {
    variables.insert(TextOf(variable.at("name")));
  }
  ForEach(dashboard_, {"expr", "definition"}, [&](const json::value& expression) {
    const std::string text = TextOf(expression);
    for (size_t at = text.find('$'); at != std::string::npos; at = text.find('$', at + 1)) {
      const size_t end = text.find_first_not_of("abcdefghijklmnopqrstuvwxyz_", at + 1);
      EXPECT_THAT(variables, Contains(text.substr(at + 1, end - at - 1))) << text;
    }
  });
  ForEach(dashboard_, {"uid"}, [&](const json::value& uid) {
    EXPECT_THAT((std::set<std::string>{GetParam(), "${datasource}"}), Contains(TextOf(uid)));
  });
}

TEST_P(MonitoringDashboardTest, ItsPanelsDoNotOverlap) {
  std::set<std::string> ids;
  std::set<std::pair<int64_t, int64_t>> taken;
  for (const json::value& panel : dashboard_.at("panels").as_array()) {
    EXPECT_TRUE(ids.insert(TextOf(panel.at("id"))).second);
    const json::value& place = panel.at("gridPos");
    for (int64_t x = 0; x < place.at("w").as_int64(); ++x) {
      for (int64_t y = 0; y < place.at("h").as_int64(); ++y) {
        EXPECT_TRUE(
            taken.emplace(place.at("x").as_int64() + x, place.at("y").as_int64() + y).second)
            << TextOf(panel.at("title"));
      }
    }
  }
}

std::vector<json::value> PanelsOf(const json::value& dashboard, std::string_view type) {
  std::vector<json::value> found;
  for (const json::value& panel : dashboard.at("panels").as_array()) {
    if (TextOf(panel.at("type")) == type) {
      found.push_back(panel);
    }
  }
  return found;
}

// A number without colors of its own is green, and from 80 on red.
TEST_P(MonitoringDashboardTest, ItsNumbersSayTheirColors) {
  for (const json::value& panel : PanelsOf(dashboard_, "stat")) {
    const json::object& defaults = panel.at("fieldConfig").at("defaults").as_object();
    ASSERT_TRUE(defaults.contains("color")) << TextOf(panel.at("title"));
    EXPECT_EQ(TextOf(defaults.at("color").at("mode")) == "thresholds",
              defaults.contains("thresholds"))
        << TextOf(panel.at("title"));
  }
}

// A table shows the answer to one query only, and heads its columns with the names of labels, and
// "Value".
TEST_P(MonitoringDashboardTest, ItsTablesHaveOneQueryAndColumnsWithNames) {
  for (const json::value& panel : PanelsOf(dashboard_, "table")) {
    const std::string title = TextOf(panel.at("title"));
    EXPECT_EQ(panel.at("targets").as_array().size(), 1U) << title;
    const json::value& options = panel.at("transformations").at(0).at("options");
    const json::object& names = options.at("renameByName").as_object();
    const json::object& hidden = options.at("excludeByName").as_object();
    EXPECT_NE(names.contains("Value"), hidden.contains("Value")) << title;
  }
}

// A query for problems finds none on most days: its panel says so instead of "No data".
TEST_P(MonitoringDashboardTest, PanelsThatMayBeEmptySayWhatThatMeans) {
  for (const json::value& panel : dashboard_.at("panels").as_array()) {
    ForEach(panel, {"expr"}, [&](const json::value& expression) {
      const std::string text = TextOf(expression);
      if (text.ends_with(" > 0") || text.ends_with(" == 1") || text.ends_with(" == 0")) {
        EXPECT_TRUE(panel.at("fieldConfig").at("defaults").as_object().contains("noValue"))
            << TextOf(panel.at("title"));
      }
    });
  }
}

INSTANTIATE_TEST_SUITE_P(All, MonitoringDashboardTest,
                         ::testing::Values("kgpu-cluster", "kgpu-functions", "kgpu-node",
                                           "kgpu-use"),
                         [](const auto& name) {
                           std::string text = name.param;
                           std::erase(text, '-');
                           return text;
                         });

// Grafana's dashboard 12239, which most who run DCGM's exporter have.
TEST(MonitoringForeignTest, DashboardsOfDcgmFindTheirSeries) {
  const Known known;
  EXPECT_THAT(known.series(),
              IsSupersetOf({"DCGM_FI_DEV_GPU_TEMP", "DCGM_FI_DEV_POWER_USAGE",
                            "DCGM_FI_DEV_SM_CLOCK", "DCGM_FI_DEV_GPU_UTIL", "DCGM_FI_DEV_FB_USED",
                            "DCGM_FI_PROF_PIPE_TENSOR_ACTIVE"}));
}

// Series without a pod must not get the agent's: every scrape takes the agent's labels away.
TEST(MonitoringScrapeTest, NoMonitorGivesSeriesTheAgentsOwnPod) {
  const json::value pods = Read("podmonitor.yaml").at("spec").at("podMetricsEndpoints").at(0);
  const json::value service = Read("servicemonitor.yaml").at("spec").at("endpoints").at(0);
  for (const json::value& monitor : {pods, service}) {
    EXPECT_EQ(monitor.at("honorLabels"), true);
    const json::value& drop = monitor.at("relabelings").at(2);
    EXPECT_EQ(TextOf(drop.at("action")), "labeldrop");
    EXPECT_THAT(TextOf(drop.at("regex")), StartsWith("namespace|pod|container|endpoint"));
    EXPECT_EQ(TextOf(monitor.at("relabelings").at(0).at("targetLabel")), "node");
  }
}

TEST(MonitoringScrapeTest, PortsHaveTheNamesOfTheManifest) {
  std::set<std::string> ports;
  ForEach(ReadManifest(), {"ports"},
          [&](const json::value& list) { ports.merge(TextsOf(list, "name")); });
  EXPECT_THAT(ports, IsSupersetOf({"metrics", "dcgm", "gke"}));
  EXPECT_EQ(TextsOf(Read("service.yaml"), "targetPort"), ports);
  EXPECT_EQ(TextsOf(Read("podmonitor.yaml"), "port"), std::set<std::string>{"metrics"});
  EXPECT_EQ(TextsOf(Read("servicemonitor.yaml"), "port"), std::set<std::string>{"metrics"});
}

}  // namespace
}  // namespace kgpu::monitoring
