#include "src/node/config/nvidia_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "src/node/sharing/mps/mps.h"
#include "src/node/sharing/time/time.h"
#include "testing/status_matchers.h"

namespace kgpu::config {
namespace {

using sharing::MultipleSlots;
using sharing::Share;

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;

// What becomes of the file; a default one when it cannot be read, which the test then shows.
Converted Convert(std::string_view text) {
  auto converted = ConvertNvidiaConfig(text, "v1.yaml");
  EXPECT_OK(converted);
  return converted.ok() ? *std::move(converted) : Converted{};
}

auto NoteIs(Fate fate, std::string_view text) {
  return AllOf(Field(&Note::fate, fate), Field(&Note::text, HasSubstr(std::string(text))));
}

constexpr Share TimeShare(unsigned replicas, MultipleSlots multiple = MultipleSlots::kAllow) {
  return {.by = &sharing::kTime, .replicas = replicas, .multiple = multiple};
}

// NVIDIA/k8s-device-plugin#1433.
TEST(NvidiaConfigTest, ManyReplicasAreTakenOverAndMisplacedKeysNamed) {
  const Converted converted = Convert(R"(version: v1
flags:
  migStrategy: none
  renameByDefault: true
  failRequestsGreaterThanOne: false
sharing:
  timeSlicing:
    resources:
      - name: nvidia.com/gpu
        replicas: 16384
)");
  ASSERT_EQ(converted.config.pools.size(), 1U);
  EXPECT_EQ(converted.config.pools[0].share, TimeShare(16'384));
  EXPECT_THAT(converted.notes,
              AllOf(Contains(NoteIs(Fate::kUnknown,
                                    "v1.yaml:4:3: flags.renameByDefault: unknown key: also ignored "
                                    "by its owner; it belongs to sharing.timeSlicing")),
                    Contains(NoteIs(Fate::kUnknown,
                                    "v1.yaml:5:3: flags.failRequestsGreaterThanOne: unknown key: "
                                    "also ignored by its owner; it belongs to "
                                    "sharing.timeSlicing"))));
}

TEST(NvidiaConfigTest, AnErrorHidesNoUnknownKey) {
  const auto converted = ConvertNvidiaConfig(
      "version: v1\nflags: {migstrategi: none}\nsharing: {timeSlicing: {resources: [{name: gpu, "
      "replicas: 99999}]}}\n",
      "v1.yaml");
  EXPECT_THAT(converted.status(),
              StatusIs(StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("v1.yaml:2:9: flags.migstrategi: unknown key: also ignored "
                                       "by its owner; did you mean \"migStrategy\"?"),
                             HasSubstr("99999 must be an integer from 2 to 32768"))));
}

TEST(NvidiaConfigTest, AVersionAloneIsTheDefault) {
  EXPECT_EQ(Convert("version: v1\n").config, DefaultNodeConfig());
}

TEST(NvidiaConfigTest, FlagsBecomePluginSettings) {
  const Converted converted = Convert(R"(version: v1
flags:
  migStrategy: mixed
  failOnInitError: false
  nvidiaDriverRoot: /run/nvidia/driver
  gdsEnabled: true
  mofedEnabled: false
  plugin:
    passDeviceSpecs: true
    deviceListStrategy: [envvar, cdi-annotations]
    deviceIDStrategy: index
    cdiAnnotationPrefix: example.com/
    sharedDevicesAllocationPolicy: packed
    nvidiaCTKPath: /usr/bin/nvidia-ctk
  gfd: {oneshot: true}
)");
  NodeConfig wanted = DefaultNodeConfig();
  wanted.mig = MigStrategy::kMixed;
  wanted.plugin.strategies = {DeviceListStrategy::kEnvvar, DeviceListStrategy::kCdiAnnotations,
                              DeviceListStrategy::kDeviceSpecs};
  wanted.plugin.device_ids = DeviceIdStrategy::kIndex;
  wanted.plugin.cdi_annotation_prefix = "example.com/";
  wanted.plugin.shared_policy = SharedPolicy::kPacked;
  EXPECT_EQ(converted.config, wanted);
  EXPECT_THAT(
      converted.notes,
      ElementsAre(NoteIs(Fate::kTranslated, "v1.yaml:3:3: flags.migStrategy: converted: "),
                  NoteIs(Fate::kNoMeaning, "failOnInitError: not needed: kgpu always"),
                  NoteIs(Fate::kNotTranslated, "nvidiaDriverRoot: not converted: the driver"),
                  NoteIs(Fate::kNotTranslated, "gdsEnabled"),
                  NoteIs(Fate::kNoMeaning, "mofedEnabled: not needed: is disabled"),
                  NoteIs(Fate::kTranslated, "passDeviceSpecs"),
                  NoteIs(Fate::kTranslated, "deviceListStrategy"),
                  NoteIs(Fate::kTranslated, "deviceIDStrategy"),
                  NoteIs(Fate::kTranslated, "cdiAnnotationPrefix"),
                  NoteIs(Fate::kTranslated, "sharedDevicesAllocationPolicy"),
                  NoteIs(Fate::kNoMeaning, "nvidiaCTKPath"),
                  NoteIs(Fate::kNoMeaning, "v1.yaml:15:3: flags.gfd")));
}

TEST(NvidiaConfigTest, DeviceSpecsAreLeftToCdiAndAuto) {
  EXPECT_THAT(Convert("flags: {plugin: {passDeviceSpecs: true}}\n").config.plugin.strategies,
              ElementsAre(DeviceListStrategy::kAuto));
  EXPECT_THAT(Convert("flags: {plugin: {passDeviceSpecs: true, deviceListStrategy: cdi-cri}}\n")
                  .config.plugin.strategies,
              ElementsAre(DeviceListStrategy::kCdiCri));
}

TEST(NvidiaConfigTest, TimeSlicingBecomesAShare) {
  const Converted converted = Convert(R"(version: v1
sharing:
  timeSlicing:
    renameByDefault: true
    failRequestsGreaterThanOne: true
    resources:
    - {name: nvidia.com/gpu, replicas: 4}
)");
  EXPECT_EQ(converted.config.pools,
            (std::vector<Pool>{{.resource = "nvidia.com/gpu.shared",
                                .share = TimeShare(4, MultipleSlots::kRefuse)}}));
  EXPECT_THAT(converted.notes,
              ElementsAre(NoteIs(Fate::kTranslated, "renameByDefault"),
                          NoteIs(Fate::kTranslated, "share.multiple: refuse"),
                          NoteIs(Fate::kTranslated,
                                 "v1.yaml:7:7: sharing.timeSlicing.resources[0]: converted: all "
                                 "its devices, 4 slots per device")));
}

TEST(NvidiaConfigTest, MpsBecomesAShareOfOneSlotEach) {
  const Converted converted = Convert(R"(version: v1
sharing:
  mps:
    renameByDefault: true
    resources:
    - {name: nvidia.com/gpu, replicas: 4}
)");
  EXPECT_EQ(
      converted.config.pools,
      (std::vector<Pool>{
          {.resource = "nvidia.com/gpu.shared",
           .share = {.by = &sharing::kMps, .replicas = 4, .multiple = MultipleSlots::kRefuse}}}));
  EXPECT_EQ(Convert("sharing: {mps: {failRequestsGreaterThanOne: false, resources: [{name: gpu, "
                    "replicas: 4}]}}\n")
                .config.pools.at(0)
                .share.multiple,
            MultipleSlots::kAllow);
}

TEST(NvidiaConfigTest, MpsWinsOverTimeSlicing) {
  const std::string time = "timeSlicing: {resources: [{name: gpu, replicas: 2}]}";
  const std::string mps = "mps: {resources: [{name: gpu, replicas: 4}]}";
  for (const std::string& text : {fmt::format("sharing: {{{}, {}}}\n", time, mps),
                                  fmt::format("sharing: {{{}, {}}}\n", mps, time)}) {
    const Converted converted = Convert(text);
    ASSERT_EQ(converted.config.pools.size(), 1U);
    EXPECT_EQ(converted.config.pools[0].share.by, &sharing::kMps) << text;
    EXPECT_EQ(converted.config.pools[0].share.replicas, 4U);
    EXPECT_THAT(converted.notes, Contains(NoteIs(Fate::kNotTranslated, "set too")));
  }
}

TEST(NvidiaConfigTest, UnderMixedEachResourceIsSharedByItself) {
  const Converted converted = Convert(R"(flags: {migStrategy: mixed}
sharing:
  timeSlicing:
    resources:
    - {name: gpu, replicas: 4}
    - {name: mig-1g.5gb.me, replicas: 2, rename: small}
)");
  EXPECT_EQ(converted.config.pools, (std::vector<Pool>{
                                        {.resource = "nvidia.com/small",
                                         .devices = {.mig_profiles = {"1g.5gb+me"}},
                                         .share = TimeShare(2)},
                                        {.devices = {.mig_profiles = {"*"}}},
                                        {.resource = "nvidia.com/gpu", .share = TimeShare(4)},
                                    }));
}

TEST(NvidiaConfigTest, NamesThatNvidiaDropsAreHonoured) {
  const Converted converted = Convert(R"(flags: {migStrategy: mixed}
resources:
  gpus:
  - {pattern: "NVIDIA A100*", name: a100}
  - {pattern: "Tesla T4", name: nvidia.com/t4}
  - {pattern: "*", name: gpu}
  mig:
  - {pattern: "1g.*", name: mig-small}
)");
  EXPECT_EQ(converted.config.pools,
            (std::vector<Pool>{
                {.resource = "nvidia.com/mig-small", .devices = {.mig_profiles = {"1g.*"}}},
                {.resource = "nvidia.com/a100", .devices = {.models = {"A100*"}}},
                {.resource = "nvidia.com/t4", .devices = {.models = {"T4"}}},
                {.resource = "nvidia.com/gpu"},
            }));
  EXPECT_THAT(converted.notes[1],
              NoteIs(Fate::kTranslated, "GPUs of model A100* are renamed nvidia.com/a100"));
}

TEST(NvidiaConfigTest, DevicesThatNvidiaDropsAreHonoured) {
  const Converted converted = Convert(R"(sharing:
  timeSlicing:
    resources:
    - name: nvidia.com/gpu
      replicas: 4
      devices: [0, "1", GPU-5d5ba0d6-d33d-2b2c-524d-9e3d8d2b8a01, "0:1"]
)");
  EXPECT_EQ(converted.config.pools,
            (std::vector<Pool>{
                {.resource = "nvidia.com/gpu.shared",
                 .devices = {.indices = {0, 1}},
                 .share = TimeShare(4)},
                {.resource = "nvidia.com/gpu.shared",
                 .devices = {.uuids = {"GPU-5d5ba0d6-d33d-2b2c-524d-9e3d8d2b8a01"}},
                 .share = TimeShare(4)},
                {.resource = "nvidia.com/gpu"},
            }));
  EXPECT_TRUE(std::ranges::any_of(converted.notes, [](const Note& note) {
    return note.fate == Fate::kNotTranslated &&
           note.text.find("use the device's UUID") != std::string::npos;
  }));
}

TEST(NvidiaConfigTest, ANumberOfDevicesMeansTheFirst) {
  const Converted converted = Convert(
      "sharing: {timeSlicing: {resources: [{name: gpu, replicas: 2, devices: 3, rename: s}]}}\n");
  EXPECT_EQ(
      converted.config.pools,
      (std::vector<Pool>{
          {.resource = "nvidia.com/s", .devices = {.indices = {0, 1, 2}}, .share = TimeShare(2)},
          {.resource = "nvidia.com/gpu"}}));
}

TEST(NvidiaConfigTest, UnknownKeysAreNotesWithTheNearestKey) {
  const Converted converted = Convert(R"(version: v1
flag: {}
Flags: {MIGSTRATEGY: single}
sharing: {timeSlicing: {resource: []}}
x: 1
)");
  EXPECT_EQ(converted.config.mig, MigStrategy::kSingle);
  EXPECT_THAT(
      converted.notes,
      ElementsAre(
          NoteIs(
              Fate::kUnknown,
              "v1.yaml:2:1: flag: unknown key: also ignored by its owner; did you mean \"flags\"?"),
          NoteIs(Fate::kTranslated, "MIGSTRATEGY"),
          NoteIs(Fate::kUnknown, "did you mean \"resources\"?"),
          NoteIs(Fate::kUnknown, "v1.yaml:5:1: x: unknown key")));
}

TEST(NvidiaConfigTest, WhatNothingIsCalledSharesNothing) {
  const Converted converted =
      Convert("sharing: {timeSlicing: {resources: [{name: mig-1g.5gb, replicas: 2}]}}\n");
  EXPECT_EQ(converted.config.pools, DefaultNodeConfig().pools);
  EXPECT_THAT(converted.notes, ElementsAre(NoteIs(Fate::kNotTranslated,
                                                  "no devices have the name nvidia.com/mig-")));
}

TEST(NvidiaConfigTest, WhatCannotBeDoneIsAnError) {
  const struct {
    const char* text;
    const char* error;
  } cases[] = {
      {"version: v2\n", "v1.yaml:1:10: version: \"v2\" must be v1"},
      {"flags: {migStrategy: all}\n", "must be one of none, single, mixed"},
      {"flags: {deviceDiscoveryStrategy: tegra}\n", "Jetson"},
      {"flags: {plugin: {deviceListStrategy: auto}}\n", "must be one of envvar"},
      {"flags: {gdsEnabled: \"yes\"}\n", "must be true or false"},
      {"sharing: {mps: {resources: [{name: gpu, replicas: 49}]}}\n",
       "an MPS server takes 48 programs"},
      {"sharing: {timeSlicing: {resources: [{name: gpu, replicas: 1}]}}\n", "from 2 to 32768"},
      {"sharing: {timeSlicing: {resources: [{name: gpu}]}}\n", "replicas: missing"},
      {"sharing: {timeSlicing: {resources: [{replicas: 2}]}}\n", "name: missing"},
      {"sharing: {timeSlicing: {resources: [{name: \"\", replicas: 2}]}}\n", "after the slash"},
      {"sharing: {timeSlicing: {resources: [{name: gpu, replicas: 2, devices: some}]}}\n",
       "must be all, a number of GPUs, or a list"},
      {"sharing: {timeSlicing: {resources: [{name: gpu, replicas: 2, devices: [\"0:0\"]}]}}\n",
       "use indices or UUIDs"},
      {"resources: {gpus: [{pattern: \"*\"}]}\n", "pattern and name are both required"},
      {"resources: {gpus: [{pattern: a, name: x}, {pattern: b, name: y}]}\n"
       "sharing: {timeSlicing: {resources: [{name: x, replicas: 2, rename: z},\n"
       "  {name: y, replicas: 3, rename: z}]}}\n",
       "v1.yaml: the result is not a valid NodeConfig"},
      {"[]\n", "must be a map"},
  };
  for (const auto& c : cases) {
    EXPECT_THAT(ConvertNvidiaConfig(c.text, "v1.yaml"),
                StatusIs(StatusCode::kInvalidArgument, HasSubstr(c.error)))
        << c.text;
  }
}

TEST(NvidiaConfigTest, MpsThatSharesNothingIsNoError) {
  EXPECT_THAT(Convert("sharing: {mps: {renameByDefault: true}}\n").notes,
              ElementsAre(NoteIs(Fate::kNoMeaning, "sharing.mps: not needed: has no effect")));
}

TEST(DetectDialectTest, LooksAtTheKeysAtTheTop) {
  EXPECT_THAT(DetectDialect("apiVersion: x\n", "f"), IsOkAndHolds(Dialect::kNodeConfig));
  EXPECT_THAT(DetectDialect("version: v1\n", "f"), IsOkAndHolds(Dialect::kNvidia));
  EXPECT_THAT(DetectDialect("{\"gpuPartitionSize\": \"1g.5gb\"}", "f.json"),
              IsOkAndHolds(Dialect::kGke));
  EXPECT_THAT(
      DetectDialect("a: 1\n", "f"),
      StatusIs(
          StatusCode::kInvalidArgument,
          HasSubstr(": neither a NodeConfig (apiVersion, kind), nor NVIDIA's (version: v1, flags, "
                    "sharing), nor GKE's (GPUPartitionSize, GPUSharingConfig): set --from")));
}

TEST(NodeConfigTest, AForeignConfigurationIsNamed) {
  EXPECT_THAT(
      ParseNodeConfig("version: v1\nsharing: {}\n", "c.yaml"),
      StatusIs(StatusCode::kInvalidArgument, AllOf(HasSubstr("NVIDIA's device plugin"),
                                                   HasSubstr("\"kgpu config convert c.yaml\""))));
}

}  // namespace
}  // namespace kgpu::config
