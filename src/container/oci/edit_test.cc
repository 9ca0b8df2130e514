#include "src/container/oci/edit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "testing/status_matchers.h"
#include "testing/temp_dir.h"

namespace kgpu::oci {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class OciEditTest : public ::testing::Test {
 protected:
  // The spec after the edits, as a tree.
  StatusOr<boost::json::value> Edited(std::string text, const cdi::ContainerEdits& edits,
                                      BindOwners owners = BindOwners::kMapped) {
    StatusOr<Spec> spec = Spec::Parse(std::move(text), "config.json");
    if (!spec.ok()) {
      return spec.status();
    }
    const sys::Root engine = sys::Root::Open(dir_.path()).value();
    if (Status status = ApplyEdits(*spec, edits, engine, owners); !status.ok()) {
      return status;
    }
    StatusOr<std::string> printed = spec->Print();
    return printed.ok() ? StatusOr<boost::json::value>(boost::json::parse(*printed))
                        : printed.status();
  }

  // The same, one field of it as text.
  std::string Field(std::string text, const cdi::ContainerEdits& edits, const char* pointer,
                    BindOwners owners = BindOwners::kMapped) {
    const StatusOr<boost::json::value> tree = Edited(std::move(text), edits, owners);
    if (!tree.ok()) {
      return std::string(Message(tree.status()));
    }
    boost::json::error_code error;
    const boost::json::value* found = tree->find_pointer(pointer, error);
    return found == nullptr ? "" : boost::json::serialize(*found);
  }

  static cdi::ContainerEdits WithNode(cdi::DeviceNode node) {
    cdi::ContainerEdits edits;
    edits.device_nodes = {std::move(node)};
    return edits;
  }

  static cdi::DeviceNode WholeNode() {
    return {.path = "/dev/nvidia1",
            .host_path = "",
            .type = "c",
            .major = 195,
            .minor = 1,
            .file_mode = 0666,
            .permissions = "rw",
            .uid = std::nullopt,
            .gid = std::nullopt};
  }

  TempDir dir_;
};

TEST_F(OciEditTest, ADeviceNodeBringsItsAllowRule) {
  const cdi::ContainerEdits edits = WithNode(WholeNode());
  EXPECT_EQ(Field("{}", edits, "/linux/devices"),
            R"([{"path":"/dev/nvidia1","type":"c","major":195,"minor":1,"fileMode":438}])");
  EXPECT_EQ(
      Field(R"({"linux":{"resources":{"devices":[{"allow":false,"access":"rwm"}]}}})", edits,
            "/linux/resources/devices"),
      R"([{"allow":false,"access":"rwm"},{"allow":true,"type":"c","major":195,"minor":1,"access":"rw"}])");
}

TEST_F(OciEditTest, PermissionsDefaultToAllAndNoneMeansNoAccess) {
  cdi::DeviceNode node = WholeNode();
  node.permissions = "";
  EXPECT_EQ(Field("{}", WithNode(node), "/linux/resources/devices/0/access"), R"("rwm")");
  node.permissions = "none";
  EXPECT_EQ(Field("{}", WithNode(node), "/linux/resources/devices"),
            R"([{"allow":true,"type":"c","major":195,"minor":1}])");
}

TEST_F(OciEditTest, ANodeOfTheSamePathIsReplaced) {
  EXPECT_EQ(Field(R"({"linux":{"devices":[{"path":"/dev/nvidia1","type":"b"},{"path":"/dev/x"}]}})",
                  WithNode(WholeNode()), "/linux/devices"),
            R"([{"path":"/dev/x"},)"
            R"({"path":"/dev/nvidia1","type":"c","major":195,"minor":1,"fileMode":438}])");
}

TEST_F(OciEditTest, ANodeBelongsToTheProcessUnlessItSaysOtherwise) {
  const std::string spec = R"({"process":{"user":{"uid":1000,"gid":100}}})";
  cdi::DeviceNode node = WholeNode();
  EXPECT_THAT(Field(spec, WithNode(node), "/linux/devices/0"),
              HasSubstr(R"("uid":1000,"gid":100})"));
  node.uid = 0;
  node.gid = 44;
  EXPECT_THAT(Field(spec, WithNode(node), "/linux/devices/0"), HasSubstr(R"("uid":0,"gid":44})"));
  EXPECT_THAT(Field(R"({"process":{"user":{"uid":-1}}})", WithNode(node), "/linux"),
              HasSubstr("config.json: process.user.uid: must be a number"));
}

TEST_F(OciEditTest, WhatANodeDoesNotSayIsReadFromTheHost) {
  if (!dir_.MakeCharDevice("dev/nvidia7", 195, 7)) {
    GTEST_SKIP() << "character devices cannot be created here";
  }
  cdi::DeviceNode node;
  node.path = "/dev/gpu";
  node.host_path = "/dev/nvidia7";
  EXPECT_THAT(Field("{}", WithNode(node), "/linux/devices/0"),
              HasSubstr(R"("path":"/dev/gpu","type":"c","major":195,"minor":7,"fileMode":)"));
  node.type = "b";
  EXPECT_THAT(Edited("{}", WithNode(node)).status(),
              StatusIs(StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("/dev/gpu"), HasSubstr("type b"), HasSubstr("type c"))));
}

TEST_F(OciEditTest, ALinkOnTheHostIsNotFollowed) {
  dir_.WriteFile("dev/file", "");
  dir_.Symlink("/dev/null", "dev/link");
  for (const char* path : {"/dev/file", "/dev/link", "/dev/missing"}) {
    cdi::DeviceNode node;
    node.path = path;
    EXPECT_THAT(std::string(Message(Edited("{}", WithNode(node)).status())), HasSubstr(path));
    node.type = "c";
    node.major = 1;
    EXPECT_OK(Edited("{}", WithNode(node)).status()) << path;
  }
}

TEST_F(OciEditTest, OnlyDevicesHaveRules) {
  cdi::DeviceNode node = WholeNode();
  node.type = "p";
  EXPECT_EQ(Field("{}", WithNode(node), "/linux/resources"), "");
  EXPECT_THAT(Field("{}", WithNode(node), "/linux/devices"), HasSubstr(R"("type":"p")"));
}

TEST_F(OciEditTest, AMountReplacesTheOneAtItsPlaceAndAllAreSortedByDepth) {
  cdi::ContainerEdits edits;
  edits.mounts = {{"/host/c", "/a/b/c", {"ro", "rbind"}, ""}, {"/host/a", "/a", {}, "bind"}};
  EXPECT_EQ(Field(R"({"mounts":[{"destination":"/x/y"},{"destination":"/a/b/c","source":"old"},)"
                  R"({"destination":"/z"}]})",
                  edits, "/mounts"),
            R"([{"destination":"/z"},{"destination":"/a","type":"bind","source":"/host/a"},)"
            R"({"destination":"/x/y"},)"
            R"({"destination":"/a/b/c","source":"/host/c","options":["ro","rbind"]}])");
}

TEST_F(OciEditTest, BindMountsAreMappedInUserNamespacesAsCdiSays) {
  const std::string spec = R"({"linux":{"namespaces":[{"type":"mount"},{"type":"user"}]}})";
  struct Case {
    std::vector<std::string> options;
    std::string type;
    std::string printed;
  };
  const std::vector<Case> cases = {
      {{"ro", "rbind"}, "", R"(["ro","rbind","ridmap"])"},
      {{"bind"}, "", R"(["bind","idmap"])"},
      {{}, "bind", R"(["idmap"])"},
      {{"rbind", "idmap"}, "", R"(["rbind","idmap"])"},
      {{"ro"}, "tmpfs", R"(["ro"])"},
  };
  for (const Case& one : cases) {
    cdi::ContainerEdits edits;
    edits.mounts = {{"/h", "/c", one.options, one.type}};
    EXPECT_EQ(Field(spec, edits, "/mounts/0/options"), one.printed);
  }
  cdi::ContainerEdits edits;
  edits.mounts = {{"/h", "/c", {"rbind"}, ""}};
  EXPECT_EQ(Field(spec, edits, "/mounts/0/options", BindOwners::kAsOnHost), R"(["rbind"])");
  EXPECT_EQ(Field("{}", edits, "/mounts/0/options"), R"(["rbind"])");
}

TEST_F(OciEditTest, HooksGroupsAndNetDevicesAreAdded) {
  cdi::ContainerEdits edits;
  edits.hooks = {{"createContainer", "/bin/hook", {"hook", "a"}, {"K=v"}, 5},
                 {"poststop", "/bin/other", {}, {}, std::nullopt}};
  edits.additional_gids = {0, 44, 44, 10};
  edits.net_devices = {{.host_interface_name = "ib0", .name = "net1"}};
  const std::string spec = R"({"process":{"user":{"additionalGids":[10]}}})";
  EXPECT_EQ(Field(spec, edits, "/hooks"),
            R"({"createContainer":[{"path":"/bin/hook","args":["hook","a"],"env":["K=v"],)"
            R"("timeout":5}],"poststop":[{"path":"/bin/other"}]})");
  EXPECT_EQ(Field(spec, edits, "/process/user/additionalGids"), "[10,44]");
  EXPECT_EQ(Field(spec, edits, "/linux/netDevices"), R"({"ib0":{"name":"net1"}})");
}

TEST_F(OciEditTest, WhatIsNotSupportedOrMalformedIsRefused) {
  cdi::ContainerEdits edits;
  edits.has_intel_rdt = true;
  EXPECT_THAT(Edited("{}", edits).status(), StatusIs(StatusCode::kUnimplemented));
  EXPECT_THAT(Edited(R"({"linux":{"devices":{}}})", WithNode(WholeNode())).status(),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("linux.devices: must be a list")));
  EXPECT_THAT(Edited(R"({"linux":{"devices":[3]}})", WithNode(WholeNode())).status(),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("linux.devices[0]: must be a map")));
  EXPECT_THAT(Edited(R"({"linux":{"resources":[]}})", WithNode(WholeNode())).status(),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("linux.resources: must be a map")));
}

TEST(OciDepthTest, CountsTheNamesOfACleanPath) {
  for (const auto& [path, depth] : std::vector<std::pair<std::string, size_t>>{{"/", 1},
                                                                               {"/a", 1},
                                                                               {"/a/b", 2},
                                                                               {"//a//b/", 2},
                                                                               {"/a/../b/./c", 2},
                                                                               {"/..", 1},
                                                                               {"", 0},
                                                                               {"a", 0},
                                                                               {"a/b", 1},
                                                                               {"../a", 1},
                                                                               {"a/..", 0}}) {
    EXPECT_EQ(DepthOf(path), depth) << path;
  }
}

}  // namespace
}  // namespace kgpu::oci
