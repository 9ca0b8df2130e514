#include "src/container/cdi/spec_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/status_matchers.h"

namespace kgpu::cdi {
namespace {

using doc::Format;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Every field there is.
Spec Full() {
  Spec spec;
  spec.version = "1.1.0";
  spec.kind = "vendor.com/class";
  spec.annotations = {{"a.b/c", "d"}};
  spec.edits.env = {"A=1"};
  spec.edits.device_nodes.push_back({.path = "/dev/x",
                                     .host_path = "/host/dev/x",
                                     .type = "c",
                                     .major = 195,
                                     .minor = 0,
                                     .file_mode = 0666,
                                     .permissions = "rw",
                                     .uid = 1,
                                     .gid = 2});
  spec.edits.net_devices = {{"eth0", "net0"}};
  spec.edits.mounts = {{"/a", "/b", {"ro", "bind"}, "tmpfs"}};
  spec.edits.hooks = {{"createContainer", "/h", {"h", "x"}, {"E=2"}, 5}};
  spec.edits.additional_gids = {44, 109};
  spec.edits.has_intel_rdt = true;
  Device& device = spec.devices.emplace_back();
  device.name = "0";
  device.annotations = {{"k", "v"}};
  device.edits.env = {"B=2"};
  return spec;
}

TEST(SpecTextTest, ReadsBackWhatItPrints) {
  for (const Format format : {Format::kJson, Format::kYaml}) {
    EXPECT_THAT(ParseSpec(PrintSpec(Full(), format), format, "x"), IsOkAndHolds(Full()));
  }
}

TEST(SpecTextTest, ReadsYamlAsPeopleWriteIt) {
  const auto spec = ParseSpec(R"(
cdiVersion: "v0.5.0"
kind: nvidia.com/gpu
devices:
- name: "0"
  containerEdits:
    deviceNodes:
    - path: /dev/nvidia0
containerEdits:
  additionalGIDs: [44]
  hooks: null
)",
                              Format::kYaml, "nvidia.yaml");
  ASSERT_OK(spec);
  EXPECT_EQ(spec->version, "0.5.0");
  EXPECT_EQ(spec->devices.at(0).edits.device_nodes.at(0).path, "/dev/nvidia0");
  EXPECT_THAT(spec->edits.additional_gids, ElementsAre(44U));
}

TEST(SpecTextTest, RefusesUnknownFieldsWithTheNearest) {
  EXPECT_THAT(
      ParseSpec(R"({"devices": [{"containerEdits": {"mounts": [{"hostPaht": "/x"}]}}]})",
                Format::kJson, "x.json"),
      StatusIs(StatusCode::kInvalidArgument,
               HasSubstr("x.json.devices[0].containerEdits.mounts[0].hostPaht: unknown field, did "
                         "you mean \"hostPath\"?")));
  EXPECT_THAT(ParseSpec(R"({"zzzzzzzz": 1})", Format::kJson, "x.json"),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("known fields are cdiVersion")));
}

TEST(SpecTextTest, RefusesWrongTypes) {
  const std::vector<std::pair<const char*, const char*>> cases = {
      {"[]", "must be a map"},
      {R"({"devices": {}})", "must be a list"},
      {R"({"cdiVersion": 1.1})", "must be a string"},
      {R"({"devices": [{"name": 0}]})", "devices[0].name: must be a string: put it in quotes"},
      {R"({"annotations": []})", "map of annotations"},
      {R"({"annotations": {"a": 1}})", "annotations.a: must be a string"},
      {R"({"containerEdits": {"deviceNodes": [{"major": "1"}]}})", "integer"},
      {R"({"containerEdits": {"deviceNodes": [{"uid": -1}]}})", "from 0 to 4294967295"},
      {R"({"containerEdits": {"additionalGids": [1.5]}})", "integer"},
      {R"({"containerEdits": {"intelRdt": {"x": 1}}})", "unknown field"},
  };
  for (const auto& [text, error] : cases) {
    EXPECT_THAT(ParseSpec(text, Format::kJson, "x.json"),
                StatusIs(StatusCode::kInvalidArgument, HasSubstr(error)));
  }
}

TEST(SpecTextTest, RefusesDuplicateKeysAndForeignText) {
  EXPECT_THAT(ParseSpec("kind: a\nkind: b\n", Format::kYaml, "x.yaml"),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("x.yaml:2:1")));
  EXPECT_THAT(ParseSpec("", Format::kJson, "x.json"), StatusIs(StatusCode::kInvalidArgument));
}

}  // namespace
}  // namespace kgpu::cdi
