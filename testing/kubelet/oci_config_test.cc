// What real containers are made of: CDI names resolved, config.json written.
#include "testing/kubelet/oci_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "src/platform/doc/doc.h"
#include "testing/kubelet/cdi_resolver.h"
#include "testing/status_matchers.h"
#include "testing/temp_dir.h"

namespace kgpu::kubelet {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::SizeIs;

namespace json = boost::json;

class OciConfigTest : public ::testing::Test {
 protected:
  // The tree of the file for `request`, where one can be written.
  json::value Config(const OciRequest& request) const {
    const StatusOr<std::string> text = OciConfigText(request, host_);
    EXPECT_OK(text);
    const auto tree = doc::Parse(text.value_or("{}"), doc::Format::kJson, "config.json");
    EXPECT_OK(tree);
    return tree.value_or(json::value());
  }
  // A part of it as one line.
  std::string Part(const OciRequest& request, const char* pointer) const {
    return doc::PrintLine(Config(request).at_pointer(pointer));
  }

  sys::Root host_ = sys::Root::Open("/").value();
  OciRequest request_{.cgroup = "/kubepods/box",
                      .hostname = "pod",
                      .args = {"/bin/true"},
                      .env = {},
                      .options = {},
                      .cdi_edits = {}};
};

TEST_F(OciConfigTest, ThePodsEnvironmentWinsOverThePluginsAndCdisOverBoth) {
  request_.options.envs = {{"A", "plugin"}, {"B", "plugin"}, {"C", "plugin"}};
  request_.env = {"B=pod", "C=pod"};
  request_.cdi_edits.emplace_back().env = {"C=cdi"};
  EXPECT_THAT(Part(request_, "/process/env"),
              HasSubstr("\"HOSTNAME=pod\",\"A=plugin\",\"B=pod\",\"C=cdi\"]"));
}

TEST_F(OciConfigTest, DevicesAreMadeAndAllowedAsTheHostHasThem) {
  request_.options.devices = {{"/dev/widget", "/dev/null", "r"}};
  EXPECT_THAT(Part(request_, "/linux/devices"),
              AllOf(HasSubstr("\"path\":\"/dev/widget\""), HasSubstr("\"major\":1,\"minor\":3")));
  EXPECT_EQ(Part(request_, "/linux/resources/devices"),
            "[{\"allow\":false,\"access\":\"rwm\"},{\"allow\":true,\"type\":\"c\",\"major\":1,"
            "\"minor\":3,\"access\":\"r\"}]");
}

TEST_F(OciConfigTest, AHostPathThatIsNoDeviceIsAnError) {
  request_.options.devices = {{"/dev/widget", "/dev/not-there", "rw"}};
  EXPECT_THAT(OciConfigText(request_, host_),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("/dev/not-there")));
  request_.options.devices = {{"/dev/widget", "/etc/passwd", "rw"}};
  EXPECT_THAT(OciConfigText(request_, host_),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("not a device node")));
}

TEST_F(OciConfigTest, FoldersAreMountedBeforeWhatLiesInThem) {
  request_.options.mounts = {{"/a/b/c", "/from/c", true}, {"/a", "/from/a", false}};
  const std::string mounts = Part(request_, "/mounts");
  EXPECT_LT(mounts.find("\"/from/a\""), mounts.find("\"/from/c\""));
  EXPECT_THAT(mounts, HasSubstr("\"source\":\"/from/c\",\"options\":[\"rbind\",\"rprivate\","
                                "\"ro\"]"));
}

TEST_F(OciConfigTest, AnnotationsHooksAndGroupsArePassedOn) {
  request_.options.annotations = {{"key", "value"}};
  cdi::ContainerEdits& edits = request_.cdi_edits.emplace_back();
  edits.hooks = {{.hook_name = "createContainer",
                  .path = "/bin/hook",
                  .args = {"hook"},
                  .env = {},
                  .timeout_seconds = 3}};
  edits.additional_gids = {44};
  EXPECT_EQ(Part(request_, "/annotations"), "{\"key\":\"value\"}");
  EXPECT_THAT(Part(request_, "/hooks/createContainer"), HasSubstr("\"timeout\":3"));
  EXPECT_EQ(Part(request_, "/process/user/additionalGids"), "[44]");
}

class CdiResolverTest : public ::testing::Test {
 protected:
  cdi::FolderContents Contents() const {
    return cdi::ReadFolders(sys::Root::Open(dir_.path()).value(), {"/etc/cdi", "/run/cdi"});
  }
  void Write(const std::string& path, const std::string& devices) const {
    dir_.WriteFile(path, R"({"cdiVersion": "0.5.0", "kind": "example.com/widget", "devices": [)" +
                             devices + R"(], "containerEdits": {"env": ["COMMON=1"]}})");
  }

  TempDir dir_;
};

TEST_F(CdiResolverTest, CommonEditsComeOnceAndFirst) {
  Write("run/cdi/a.json", R"({"name": "0", "containerEdits": {"env": ["ZERO=1"]}},
                             {"name": "1", "containerEdits": {"env": ["ONE=1"]}})");
  const auto edits = ResolveCdi(Contents(), {"example.com/widget=1", "example.com/widget=0"});
  ASSERT_OK(edits);
  ASSERT_THAT(*edits, SizeIs(3));
  EXPECT_EQ((*edits)[0].env.at(0), "COMMON=1");
  EXPECT_EQ((*edits)[1].env.at(0), "ONE=1");
  EXPECT_EQ((*edits)[2].env.at(0), "ZERO=1");
}

TEST_F(CdiResolverTest, SaysWhyANameIsNotThere) {
  EXPECT_THAT(ResolveCdi(Contents(), {"example.com/widget=0"}),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("no spec declares it")));
  dir_.WriteFile("run/cdi/broken.json", "{");
  EXPECT_THAT(ResolveCdi(Contents(), {"example.com/widget=0"}),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("broken.json")));
  Write("run/cdi/a.json", R"({"name": "0", "containerEdits": {"env": ["A=1"]}})");
  Write("run/cdi/b.json", R"({"name": "0", "containerEdits": {"env": ["A=1"]}})");
  EXPECT_THAT(ResolveCdi(Contents(), {"example.com/widget=0"}),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("2 files declare it")));
}

}  // namespace
}  // namespace kgpu::kubelet
