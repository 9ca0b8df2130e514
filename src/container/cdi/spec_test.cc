#include "src/container/cdi/spec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "src/container/cdi/names.h"
#include "testing/status_matchers.h"

namespace kgpu::cdi {
namespace {

using ::testing::HasSubstr;

Spec Good() {
  Spec spec;
  spec.version = "1.1.0";
  spec.kind = "kgpu.dev/gpu";
  Device& device = spec.devices.emplace_back();
  device.name = "gpu0";
  device.edits.device_nodes.emplace_back().path = "/dev/nvidia0";
  return spec;
}

using Change = std::function<void(Spec&)>;

struct VersionCase {
  const char* what;
  Change change;
  const char* version;
};

TEST(MinimumVersionTest, IsWhatTheContentNeeds) {
  const std::vector<VersionCase> cases = {
      {"nothing special", [](Spec&) {}, "0.3.0"},
      {"mount type", [](Spec& s) { s.edits.mounts.push_back({"/a", "/a", {}, "tmpfs"}); }, "0.4.0"},
      {"mount without type", [](Spec& s) { s.edits.mounts.push_back({"/a", "/a", {}, ""}); },
       "0.3.0"},
      {"host path", [](Spec& s) { s.devices[0].edits.device_nodes[0].host_path = "/x"; }, "0.5.0"},
      {"same host path",
       [](Spec& s) { s.devices[0].edits.device_nodes[0].host_path = "/dev/nvidia0"; }, "0.3.0"},
      {"digit-leading name", [](Spec& s) { s.devices[0].name = "0"; }, "0.5.0"},
      {"device annotation", [](Spec& s) { s.devices[0].annotations.push_back({"a", "b"}); },
       "0.6.0"},
      {"spec annotation", [](Spec& s) { s.annotations.push_back({"a", "b"}); }, "0.6.0"},
      {"dot in class", [](Spec& s) { s.kind = "kgpu.dev/gpu.shared"; }, "0.6.0"},
      {"gids", [](Spec& s) { s.edits.additional_gids.push_back(44); }, "0.7.0"},
      {"intelRdt", [](Spec& s) { s.devices[0].edits.has_intel_rdt = true; }, "0.7.0"},
      {"net devices", [](Spec& s) { s.edits.net_devices.push_back({"eth0", "eth0"}); }, "1.1.0"},
  };
  for (const VersionCase& c : cases) {
    Spec spec = Good();
    c.change(spec);
    EXPECT_EQ(MinimumVersion(spec), c.version) << c.what;
    spec.version = c.version;
    EXPECT_OK(Validate(spec)) << c.what;
  }
}

struct InvalidCase {
  Change change;
  const char* text;
};

TEST(ValidateTest, NamesWhatIsWrong) {
  const std::vector<InvalidCase> cases = {
      {[](Spec& s) { s.version = "9.9.9"; }, "cdiVersion \"9.9.9\""},
      {[](Spec& s) {
         s.version = "0.3.0";
         s.devices[0].name = "0";
       },
       "write \"0.5.0\""},
      {[](Spec& s) { s.kind = "gpu"; }, "vendor.com/class"},
      {[](Spec& s) { s.kind = "1kgpu/gpu"; }, "vendor must begin"},
      {[](Spec& s) { s.kind = "kgpu.dev/gpu-"; }, "class must begin"},
      {[](Spec& s) { s.devices.clear(); }, "no devices"},
      {[](Spec& s) { s.devices.push_back(s.devices[0]); }, "duplicate device \"gpu0\""},
      {[](Spec& s) { s.devices[0].name = "a/b"; }, "device name \"a/b\""},
      {[](Spec& s) { s.devices[0].name.clear(); }, "device name \"\""},
      {[](Spec& s) { s.devices[0].edits = {}; }, "no containerEdits"},
      {[](Spec& s) { s.edits.env = {"NOVALUE"}; }, "containerEdits: env \"NOVALUE\""},
      {[](Spec& s) { s.edits.env = {"=x"}; }, "NAME=value"},
      {[](Spec& s) { s.devices[0].edits.device_nodes[0].path.clear(); }, "has no path"},
      {[](Spec& s) { s.devices[0].edits.device_nodes[0].type = "x"; }, "type \"x\""},
      {[](Spec& s) { s.devices[0].edits.device_nodes[0].permissions = "rx"; }, "\"rx\""},
      {[](Spec& s) { s.edits.mounts.push_back({"/a", "", {}, ""}); }, "containerPath"},
      {[](Spec& s) { s.edits.hooks.push_back({"never", "/x", {}, {}, {}}); }, "\"never\""},
      {[](Spec& s) { s.edits.hooks.push_back({"prestart", "", {}, {}, {}}); }, "no path"},
      {[](Spec& s) { s.edits.hooks.push_back({"prestart", "/x", {}, {}, 0}); }, "timeout 0"},
      {[](Spec& s) { s.edits.hooks.push_back({"prestart", "/x", {}, {"A"}, {}}); }, "env \"A\""},
      {[](Spec& s) { s.edits.net_devices = {{"eth0", ""}}; }, "hostInterfaceName"},
      {[](Spec& s) { s.edits.net_devices = {{"a", "x"}, {"b", "x"}}; },
       "duplicate network device \"x\""},
  };
  for (const InvalidCase& c : cases) {
    Spec spec = Good();
    c.change(spec);
    EXPECT_THAT(Validate(spec), StatusIs(StatusCode::kInvalidArgument, HasSubstr(c.text)));
  }
}

TEST(ValidateTest, TakesWhatDriversNeed) {
  Spec spec = Good();
  spec.devices[0].name = "GPU-5d5ba0d6-d33d-2b2c-524d-9e3d8d2b8a77";
  spec.devices.push_back(spec.devices[0]);
  spec.devices[1].name = "0:1";
  EXPECT_OK(Validate(spec));
}

TEST(NamesTest, LimitsLengths) {
  EXPECT_OK(ParseKind(std::string(253, 'v') + "/" + std::string(63, 'c')));
  EXPECT_FALSE(ParseKind(std::string(254, 'v') + "/c").ok());
  EXPECT_FALSE(ParseKind("v/" + std::string(64, 'c')).ok());
  EXPECT_FALSE(ParseKind("v/a/b").ok());
  EXPECT_EQ(QualifiedName("kgpu.dev/gpu", "0"), "kgpu.dev/gpu=0");
}

}  // namespace
}  // namespace kgpu::cdi
