#include "src/node/config/node_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "src/node/config/selector_text.h"
#include "src/node/sharing/time/time.h"
#include "src/platform/base/strings.h"
#include "testing/status_matchers.h"

namespace kgpu::config {
namespace {

using sharing::MultipleSlots;

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

constexpr std::string_view kHead = "apiVersion: kgpu.dev/v1\nkind: NodeConfig\n";

// A configuration of which only the interesting lines are given; they begin at line 3.
StatusOr<NodeConfig> ParseBody(std::string_view body) {
  return ParseNodeConfig(fmt::format("{}{}", kHead, body), "n.yaml");
}

TEST(NodeConfigTest, NothingIsTheDefault) {
  for (const char* text : {"", " \n", "# nothing\n"}) {
    EXPECT_THAT(ParseNodeConfig(text, "n.yaml"), IsOkAndHolds(DefaultNodeConfig())) << text;
  }
  EXPECT_THAT(ParseBody(""), IsOkAndHolds(DefaultNodeConfig()));
  EXPECT_THAT(DefaultNodeConfig().pools, SizeIs(1));
}

TEST(NodeConfigTest, ReadsEveryKey) {
  const auto config = ParseBody(R"(exclude:
- uuid: GPU-5d5ba0d6
- {pci: 07:00.0}
pools:
- resource: nvidia.com/gpu
  devices:
    model: [A100-SXM4-80GB, A100-PCIE-80GB]
    index: [0, 1, "4-6"]
    memory: ">= 40Gi"
    compute: [">= 8.0", "< 9.0"]
    numa: 0
- resource: nvidia.com/gpu.shared
  devices: all
  mig: single
  share: {by: time, replicas: 8, multiple: refuse}
- devices: {mig: 1g.10gb}
migStrategy: mixed
plugin:
  deviceListStrategy: [cdi-cri, envvar]
  deviceIds: index
  sharedPolicy: packed
  registration: plugin-watcher
  cdiAnnotationPrefix: example.com/
  capabilities: compute,utility,video
health: {holdDown: 5m}
http: {address: ":9401"}
metrics:
  names: [dcgm, gke]
  every: 5s
  exclude: ["kgpu_process_*"]
  dcgmLabels: [hostname, pod_uid]
  listen: {dcgm: "[::1]:9400", gke: ""}
  tls: {certificate: /c.pem, key: /k.pem, clientCA: /ca.pem}
  auth: {by: cluster, audiences: [kgpu]}
usage: {enabled: false, retention: 90d}
labels:
  features: false
  gpus: false
  to: [nodeFeature, file]
  file: /var/lib/labels/kgpu
  rules: /etc/rules
  ruleObjects: false
  featureFiles: ""
  nfdWorker: /etc/w.conf
  nfdMaster: /etc/m.conf
  every: 10m
gate: {condition: false, taint: true}
)");
  ASSERT_OK(config);
  NodeConfig wanted;
  wanted.exclude = {{.uuids = {"GPU-5d5ba0d6"}}, {.pci = {*ParsePci("07:00.0")}}};
  wanted.pools = {
      {.resource = "nvidia.com/gpu",
       .devices = {.models = {"A100-SXM4-80GB", "A100-PCIE-80GB"},
                   .indices = {0, 1, 4, 5, 6},
                   .numa_nodes = {0},
                   .memory = {*ParseMemoryBound(">= 40Gi")},
                   .compute = {*ParseComputeBound(">= 8.0"), *ParseComputeBound("< 9.0")}}},
      {.resource = "nvidia.com/gpu.shared",
       .mig = MigStrategy::kSingle,
       .share = {.by = &sharing::kTime, .replicas = 8, .multiple = MultipleSlots::kRefuse}},
      {.devices = {.mig_profiles = {"1g.10gb"}}}};
  wanted.mig = MigStrategy::kMixed;
  wanted.plugin = {.strategies = {DeviceListStrategy::kCdiCri, DeviceListStrategy::kEnvvar},
                   .device_ids = DeviceIdStrategy::kIndex,
                   .shared_policy = SharedPolicy::kPacked,
                   .registration = Registration::kPluginWatcher,
                   .cdi_annotation_prefix = "example.com/",
                   .capabilities = "compute,utility,video"};
  wanted.health.hold_down = std::chrono::minutes(5);
  wanted.http.address = ":9401";
  wanted.metrics.names = {NameSet::kDcgm, NameSet::kGke};
  wanted.metrics.every = std::chrono::seconds(5);
  wanted.metrics.exclude = {"kgpu_process_*"};
  wanted.metrics.dcgm_labels = {DcgmLabel::kHostname, DcgmLabel::kPodUid};
  wanted.metrics.listen = {.dcgm = "[::1]:9400", .gke = ""};
  wanted.metrics.tls = {.certificate = "/c.pem", .key = "/k.pem", .client_ca = "/ca.pem"};
  wanted.metrics.auth = {.by = TokenBy::kCluster, .audiences = {"kgpu"}};
  wanted.usage = {.enabled = false, .retention = std::chrono::days(90)};
  wanted.labels = {.features = false,
                   .gpus = false,
                   .outputs = {LabelOutput::kNodeFeature, LabelOutput::kFile},
                   .file = "/var/lib/labels/kgpu",
                   .rules = {"/etc/rules"},
                   .feature_files = "",
                   .nfd_worker = "/etc/w.conf",
                   .nfd_master = "/etc/m.conf",
                   .rule_objects = false,
                   .every = std::chrono::minutes(10)};
  wanted.gate = {.condition = false, .taint = true};
  EXPECT_EQ(*config, wanted);
  for (const doc::Format format : {doc::Format::kYaml, doc::Format::kJson}) {
    EXPECT_THAT(ParseNodeConfig(PrintNodeConfig(*config, format),
                                format == doc::Format::kJson ? "n.json" : "n.yaml"),
                IsOkAndHolds(wanted));
  }
}

TEST(NodeConfigTest, PrintsEveryDefault) {
  EXPECT_EQ(PrintNodeConfig(DefaultNodeConfig()), R"(apiVersion: kgpu.dev/v1
kind: NodeConfig
pools:
- resource: nvidia.com/gpu
  devices: all
migStrategy: none
plugin:
  deviceListStrategy: auto
  deviceIds: uuid
  sharedPolicy: distributed
  registration: kubelet-socket
  cdiAnnotationPrefix: cdi.k8s.io/
  capabilities: compute,utility
health:
  holdDown: 1m
  flapLimit:
    times: 3
    within: 1h
  kernelLog: true
  every: 30s
http:
  address: "127.0.0.1:9401"
metrics:
  names:
  - kgpu
  every: 15s
usage:
  enabled: true
  retention: 35d
labels:
  features: true
  gpus: true
  to:
  - node
  file: /etc/kubernetes/node-feature-discovery/features.d/kgpu
  rules:
  - /etc/kgpu/rules.d
  - /etc/kubernetes/node-feature-discovery/custom.d
  ruleObjects: true
  featureFiles: /etc/kubernetes/node-feature-discovery/features.d
  nfdWorker: /etc/kubernetes/node-feature-discovery/nfd-worker.conf
  nfdMaster: /etc/kubernetes/node-feature-discovery/nfd-master.conf
  every: 1m
gate:
  condition: true
  taint: false
)");
}

struct BadCase {
  const char* body;
  const char* text;
};

class BadNodeConfigTest : public ::testing::TestWithParam<BadCase> {};

TEST_P(BadNodeConfigTest, IsAnErrorWithPlaceAndFix) {
  EXPECT_THAT(ParseBody(GetParam().body),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr(GetParam().text)));
}

INSTANTIATE_TEST_SUITE_P(
    Keys, BadNodeConfigTest,
    ::testing::Values(
        BadCase{"pool: []\n", "n.yaml:3:1: pool: unknown key, did you mean \"pools\"?"},
        BadCase{"pools:\n- devices: all\n  share: {by: time, replica: 4, replicas: 4}\n",
                "n.yaml:5:21: pools[0].share.replica: unknown key, did you mean \"replicas\"?"},
        BadCase{"metadata: {}\n",
                "metadata: unknown key, known keys are apiVersion, kind, exclude"},
        BadCase{"pools:\n", "n.yaml:3:1: pools: has no value: set one"},
        BadCase{"pools:\n- devices:\n", "n.yaml:4:3: pools[0].devices: has no value"},
        BadCase{"pools: []\n", "n.yaml:3:8: pools: is empty"},
        BadCase{"pools: {}\n", "pools: {} must be a list"},
        BadCase{"pools: [nvidia.com/gpu]\n",
                "n.yaml:3:9: pools[0]: \"nvidia.com/gpu\" must be a map"},
        BadCase{"exclude: all\n", "exclude: \"all\" must be a list"}));

INSTANTIATE_TEST_SUITE_P(
    Resources, BadNodeConfigTest,
    ::testing::Values(
        BadCase{"pools: [{resource: gpu}]\n",
                "n.yaml:3:20: pools[0].resource: \"gpu\" must be a domain, one slash and a name"},
        BadCase{"pools: [{resource: nvidia.com/"
                "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa}]\n",
                "has 64 characters after the slash, limit 63"},
        BadCase{"pools: [{resource: kubernetes.io/gpu}]\n", "Kubernetes"},
        BadCase{"pools: [{resource: 7}]\n", "pools[0].resource: 7 must be a string"},
        BadCase{
            "pools:\n"
            "- {resource: x/a, devices: {index: 0}}\n"
            "- {resource: x/a, devices: {index: 1}, share: {by: time, replicas: 2}}\n",
            "n.yaml:5:40: pools[1].share: pools[0] also adds devices to x/a, with other settings"},
        BadCase{"pools:\n- devices: {index: 0}\n- share: {by: time, replicas: 2}\n",
                "n.yaml:5:3: pools[1].share: pools[0] also adds devices to nvidia.com/gpu"}));

INSTANTIATE_TEST_SUITE_P(
    Shares, BadNodeConfigTest,
    ::testing::Values(
        BadCase{"pools: [{share: {by: time, replicas: 1}}]\n",
                "n.yaml:3:38: pools[0].share.replicas: 1 must be an integer from 2 to 32768"},
        BadCase{"pools: [{share: {by: time, replicas: 32769}}]\n", "from 2 to 32768"},
        BadCase{"pools: [{share: {by: time, replicas: -2}}]\n", "-2 must be an integer"},
        BadCase{"pools: [{share: {by: time, replicas: \"4\"}}]\n", "\"4\" must be an integer"},
        BadCase{"pools: [{share: {by: time, replicas: 2.5}}]\n", "must be an integer"},
        BadCase{"pools: [{share: {by: time}}]\n", "replicas: missing"},
        BadCase{"pools: [{share: {replicas: 4}}]\n", "by: missing: set by: time"},
        BadCase{"pools: [{share: time}]\n", "must be a map"},
        BadCase{"pools: [{share: {by: memory, replicas: 4}}]\n", "replicas is for by: time"},
        BadCase{"pools: [{share: {by: mig, replicas: 4}}]\n", "by: mig takes layout alone"},
        BadCase{"pools: [{share: {by: luck, replicas: 4}}]\n", "\"luck\" must be time"},
        BadCase{"pools: [{share: {by: time, replicas: 4, multiple: refused}}]\n",
                "must be one of allow, refuse, spread; did you mean \"refuse\"?"}));

INSTANTIATE_TEST_SUITE_P(
    Selectors, BadNodeConfigTest,
    ::testing::Values(
        BadCase{"pools: [{devices: {modell: T4}}]\n", "did you mean \"model\"?"},
        BadCase{"pools: [{devices: {}}]\n", "pools[0].devices: is empty: write all"},
        BadCase{"pools: [{devices: everything}]\n", "\"everything\" must be all, or a map"},
        BadCase{"pools: [{devices: {model: []}}]\n", "pools[0].devices.model: is empty"},
        BadCase{"pools: [{devices: {index: []}}]\n", "pools[0].devices.index: is empty"},
        BadCase{"pools: [{devices: {model: [T4, 4]}}]\n",
                "n.yaml:3:32: pools[0].devices.model[1]: 4 must be a string: put it in quotes"},
        BadCase{"pools: [{devices: {index: -1}}]\n", "-1 must be an integer from 0"},
        BadCase{"pools: [{devices: {index: 3-1}}]\n", "is in reverse order"},
        BadCase{"pools: [{devices: {uuid: 5d5b}}]\n", "must be a UUID"},
        BadCase{"pools: [{devices: {mig: 1g10gb}}]\n", "must be a MIG profile"},
        BadCase{"pools: [{devices: {memory: 40Gi}}]\n", "must begin with <"},
        BadCase{"pools: [{devices: {compute: 8.0}}]\n",
                "pools[0].devices.compute: 8.0 must be a string"},
        BadCase{"pools:\n- devices:\n    memory: >= 40Gi\n",
                "; quote a text that begins with >: \">= 40Gi\""}));

INSTANTIATE_TEST_SUITE_P(
    Others, BadNodeConfigTest,
    ::testing::Values(
        BadCase{"migStrategy: Mixed\n", "did you mean \"mixed\"?"},
        BadCase{"migStrategy: true\n", "true must be a string"},
        BadCase{"migStrategy: dynamic\n", "must be one of none, single, mixed"},
        BadCase{"pools: [{mig: dynamic}]\n",
                "pools[0].mig: dynamic makes MIG devices for claims of DRA: set provider: dra"},
        BadCase{"serve: {by: dra}\npools: [{mig: dynamic, share: {by: time, replicas: 2}}]\n",
                "pools[0].share: with mig: dynamic, claims get whole GPUs and MIG devices"},
        BadCase{"serve: {by: dra}\npools: [{mig: mixed, removeUnclaimed: true}]\n",
                "pools[0].removeUnclaimed: is for MIG devices that are made for claims"},
        BadCase{"serve: {by: dra}\npools: [{mig: dynamic, devices: {mig: 1g.10gb}}]\n",
                "pools[0].devices: with mig: dynamic, a pool has whole GPUs"},
        BadCase{"plugin: {deviceListStrategy: []}\n", "is empty: name a strategy"},
        BadCase{"plugin: {deviceListStrategy: [auto, envvar]}\n",
                "auto selects the strategy itself"},
        BadCase{"plugin: {deviceListStrategy: [envvar, envvar]}\n", "is a duplicate"},
        BadCase{"plugin: {deviceListStrategy: cdi}\n", "must be one of auto, cdi-cri"},
        BadCase{"plugin: {capabilities: gpu}\n", "must be one of compute"},
        BadCase{"plugin: {cdiAnnotationPrefix: x}\n", "cdi.k8s.io/"},
        BadCase{"health: {holdDown: 60}\n", "health.holdDown: 60 must be a string"},
        BadCase{"health: {holdDown: \"60\"}\n", "n.yaml:3:20: health.holdDown: \"60\" must be"},
        BadCase{"http: {address: localhost:80}\n", "must be an IP address and a port"},
        BadCase{"metrics: {names: [dcgm, dcgm]}\n", "metrics.names[1]: \"dcgm\" is a duplicate"},
        BadCase{"metrics: {names: dgcm}\n",
                "metrics.names: \"dgcm\" must be one of kgpu, dcgm, gke"},
        BadCase{"usage: {retention: 36h}\n", "usage.retention: \"36h\" must be 1d to 400d"},
        BadCase{"usage: {retention: 0d}\n", "usage.retention: \"0d\" must be 1d to 400d"},
        BadCase{"usage: {keep: 1d}\n", "keep"},
        BadCase{"metrics: {every: 100ms}\n", "metrics.every: \"100ms\" is too short"},
        BadCase{"metrics: {dcgmLabels: [podUid]}\n",
                "metrics.dcgmLabels[0]: \"podUid\" must be one of hostname, pod_uid"},
        BadCase{"metrics: {exclude: [a b]}\n",
                "metrics.exclude[0]: \"a b\" must be the name of a series"},
        BadCase{"metrics: {listen: {dcgm: 9400}}\n", "metrics.listen.dcgm: 9400 must be a string"},
        BadCase{"metrics: {listen: {dcgm: host:1}}\n", "must be an IP address and a port"},
        BadCase{"metrics: {tls: {certificate: /c}}\n", "metrics.tls: key: missing"},
        BadCase{"metrics: {tls: {}}\n", "metrics.tls: certificate: missing"},
        BadCase{"metrics: {tls: {certificate: c, key: /k}}\n", "\"c\" must be an absolute path"},
        BadCase{"metrics: {auth: {by: token}}\n", "must be one of nobody, cluster, file"},
        BadCase{"metrics: {auth: {by: file}}\n", "metrics.auth: file: missing"},
        BadCase{"metrics: {auth: {by: cluster, file: /t}}\n", "file: requires"},
        BadCase{"metrics: {auth: {by: file, file: /t, audiences: [a]}}\n", "audiences: require"},
        BadCase{"metrics: {auth: {by: cluster, audiences: [\"\"]}}\n", "name an audience"},
        BadCase{"labels: {to: [node, node]}\n",
                "n.yaml:3:21: labels.to[1]: \"node\" is a duplicate"},
        BadCase{"labels: {to: api}\n", "must be one of node, nodeFeature, file"},
        BadCase{"labels: {file: kgpu}\n", "labels.file: \"kgpu\" must be an absolute path"},
        BadCase{"labels: {rules: [etc]}\n", "labels.rules[0]: \"etc\" must be an absolute path"},
        BadCase{"labels: {every: 10ms}\n", "labels.every: \"10ms\" is too short"},
        BadCase{"labels: {gpu: true}\n", "gpus"}, BadCase{"gate: {taint: yes}\n", "gate.taint"}));

TEST(NodeConfigTest, VersionAndKindAreRequiredAndMustBeOurs) {
  EXPECT_THAT(ParseNodeConfig("migStrategy: none\n", "n.yaml"),
              StatusIs(StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("n.yaml:1:1: apiVersion: missing: set it to kgpu.dev/v1"),
                             HasSubstr("kind: missing: set it to NodeConfig"))));
  EXPECT_THAT(ParseNodeConfig("{\"apiVersion\": \"v1\",\n \"kind\": \"NodeConfig\"}", "n.json"),
              StatusIs(StatusCode::kInvalidArgument,
                       HasSubstr("n.json:1:16: apiVersion: \"v1\" must be kgpu.dev/v1")));
  EXPECT_THAT(ParseNodeConfig("[]", "n.yaml"),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("[] must be a map")));
}

TEST(NodeConfigTest, PoolsWithEqualSharesMayFeedOneResource) {
  EXPECT_OK(
      ParseBody("pools:\n"
                "- {resource: x/a, devices: {index: 0}, share: {by: time, replicas: 2}}\n"
                "- {resource: x/a, devices: {index: 1}, share: {by: time, replicas: 2}}\n"));
  // Their names come from the profiles, not from the default.
  EXPECT_OK(
      ParseBody("pools:\n"
                "- {devices: {mig: 1g.10gb}, share: {by: time, replicas: 2}}\n"
                "- {devices: all}\n"));
}

TEST(NodeConfigTest, ErrorsAreSortedAndTwentyAtMost) {
  std::string body = "http: {address: x}\nhealth: {x: 1}\npools:\n";
  for (int i = 0; i < 30; ++i) {
    body += "- {resource: gpu}\n";
  }
  const auto config = ParseBody(body);
  ASSERT_THAT(config, StatusIs(StatusCode::kInvalidArgument));
  const std::string text(Message(config.status()));
  EXPECT_THAT(Split(text, '\n'), SizeIs(21));
  EXPECT_THAT(text, AllOf(HasSubstr("n.yaml:3:17: http.address"), HasSubstr("pools[17]"),
                          Not(HasSubstr("pools[18]")), HasSubstr("n.yaml: and 12 more")));
}

TEST(NodeConfigTest, ManyPoolsAreRefused) {
  std::string body = "pools:\n";
  for (int i = 0; i < 257; ++i) {
    body += "- {devices: all}\n";
  }
  EXPECT_THAT(ParseBody(body), StatusIs(StatusCode::kInvalidArgument,
                                        HasSubstr("257 pools exceed the limit of 256")));
}

TEST(NodeConfigTest, TextsThatAreTooLongAreRefused) {
  EXPECT_THAT(ParseNodeConfig(std::string(kMaxConfigBytes + 1, '#'), "n.yaml"),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("bytes exceed")));
}

}  // namespace
}  // namespace kgpu::config
