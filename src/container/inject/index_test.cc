#include "src/container/inject/index.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "testing/status_matchers.h"

namespace kgpu::inject {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

IndexNode Node(const std::string& path, int64_t minor, CapabilitySet needed_by = {}) {
  IndexNode node;
  node.needed_by = needed_by;
  node.node.path = path;
  node.node.type = "c";
  node.node.major = 195;
  node.node.minor = minor;
  node.node.permissions = "rw";
  return node;
}

IndexFile File(const std::string& from, std::vector<std::string> to, CapabilitySet needed_by) {
  IndexFile file;
  file.needed_by = needed_by;
  file.host_path = from;
  file.container_paths = std::move(to);
  return file;
}

InjectionIndex SomeIndex() {
  InjectionIndex index;
  index.driver_version = "535.104.05";
  index.cuda_version = "12.2";
  IndexDevice gpu;
  gpu.names = {"0", "GPU-5d5ba0d6-d33d-2b2c-524d-9e3d8d2b8a00"};
  gpu.compute_capability = "8.0";
  gpu.brand = "nvidia";
  gpu.nodes = {Node("/dev/nvidia0", 0),
               Node("/dev/dri/card0", 1, Capability::kGraphics | Capability::kDisplay)};
  IndexDevice mig = gpu;
  mig.names = {"1:0", "MIG-7c1d4bd0-85a5-5d5a-b9c5-d4ee4f2b0000"};
  mig.is_mig = true;
  mig.nodes[0].node.host_path = "/sim/dev/nvidia0";
  index.devices = {gpu, mig};
  index.nodes = {Node("/dev/nvidiactl", 255),
                 Node("/dev/nvidia-modeset", 254, Capability::kDisplay)};
  index.files = {
      File("/lib/libcuda.so.535.104.05", {"/usr/lib64/libcuda.so.1"}, Capability::kCompute),
      File("/run/nvidia-persistenced/socket", {"/run/nvidia-persistenced/socket"},
           Capability::kUtility),
      File("/lib32/libcuda.so.535.104.05", {"/usr/lib/libcuda.so.1"}, Capability::kCompute)};
  index.files[1].is_socket = true;
  index.files[2].is_32bit = true;
  index.env = {"NVIDIA_VISIBLE_DEVICES=void"};
  return index;
}

std::vector<std::string> Targets(const InjectionIndex& index, CapabilitySet wanted) {
  std::vector<std::string> targets;
  for (const cdi::Mount& mount : MountsFor(index, wanted)) {
    targets.push_back(fmt::format("{} {}", mount.host_path, mount.container_path));
  }
  return targets;
}

TEST(InjectionIndexTest, ReadsBackWhatItPrints) {
  EXPECT_THAT(ParseIndex(PrintIndex(SomeIndex()), "x.json"), IsOkAndHolds(SomeIndex()));
  EXPECT_THAT(ParseIndex(PrintIndex(InjectionIndex()), "x.json"), IsOkAndHolds(InjectionIndex()));
}

TEST(InjectionIndexTest, IsOneLineOfText) {
  const std::string text = PrintIndex(SomeIndex());
  EXPECT_EQ(text.find('\n'), text.size() - 1);
}

TEST(InjectionIndexTest, NodesFollowTheCapabilities) {
  const InjectionIndex index = SomeIndex();
  EXPECT_EQ(NodesFor(index.devices[0].nodes, kDefaultCapabilities).size(), 1U);
  EXPECT_EQ(NodesFor(index.devices[0].nodes, Capability::kGraphics).size(), 2U);
  EXPECT_EQ(NodesFor(index.nodes, Capability::kGraphics).size(), 1U);
}

TEST(InjectionIndexTest, MountsFollowTheCapabilities) {
  EXPECT_THAT(Targets(SomeIndex(), Capability::kCompute),
              ElementsAre("/lib/libcuda.so.535.104.05 /usr/lib64/libcuda.so.1"));
  EXPECT_THAT(Targets(SomeIndex(), Capability::kUtility),
              ElementsAre("/run/nvidia-persistenced/socket /run/nvidia-persistenced/socket"));
}

TEST(InjectionIndexTest, FilesOf32BitsNeedCompat32Too) {
  EXPECT_THAT(Targets(SomeIndex(), Capability::kCompute | Capability::kCompat32),
              ElementsAre("/lib32/libcuda.so.535.104.05 /usr/lib/libcuda.so.1",
                          "/lib/libcuda.so.535.104.05 /usr/lib64/libcuda.so.1"));
  EXPECT_THAT(Targets(SomeIndex(), Capability::kCompat32), ElementsAre());
}

TEST(InjectionIndexTest, MountsAreSortedByDepthThenName) {
  InjectionIndex index;
  index.files = {File("/a", {"/x/y/z", "/b", "/a"}, Capability::kCompute),
                 File("/b", {"/x/a"}, Capability::kCompute)};
  EXPECT_THAT(Targets(index, Capability::kCompute),
              ElementsAre("/a /a", "/a /b", "/b /x/a", "/a /x/y/z"));
}

TEST(InjectionIndexTest, TheFirstWantedOfEqualPathsWins) {
  InjectionIndex index;
  index.files = {File("/graphics", {"/x"}, Capability::kGraphics),
                 File("/compute", {"/x"}, Capability::kCompute),
                 File("/again", {"/x"}, Capability::kCompute)};
  EXPECT_THAT(Targets(index, Capability::kCompute), ElementsAre("/compute /x"));
  EXPECT_THAT(Targets(index, Capability::kCompute | Capability::kGraphics),
              ElementsAre("/graphics /x"));
}

TEST(InjectionIndexTest, SocketsAreWritableFilesAreNot) {
  const auto mounts = MountsFor(SomeIndex(), kDefaultCapabilities);
  ASSERT_EQ(mounts.size(), 2U);
  EXPECT_THAT(mounts[0].options, ElementsAre("noexec", "nosuid", "nodev", "rbind", "rprivate"));
  EXPECT_THAT(mounts[1].options, ElementsAre("ro", "nosuid", "nodev", "rbind", "rprivate"));
}

struct BadText {
  std::string_view text;
  std::string_view complaint;
};

TEST(InjectionIndexTest, WhatIsWrongIsNamed) {
  constexpr BadText kBad[] = {
      {"", "x.json:1:1: not JSON"},
      {"[]", "x.json: version: must be 1"},
      {R"({"version":"1"})", "x.json: version: must be 1"},
      {R"({"version":1,"gpus":[]})", "x.json: gpus: unknown field"},
      {R"({"version":1,"version":1})", "duplicate key"},
      {R"({"version":1,"devices":[{"names":["0"]},{}]})",
       "x.json: devices: [1]: names are missing"},
      {R"({"version":1,"nodes":[{"path":"dev"}]})",
       "x.json: nodes: [0]: path: \"dev\" must be an absolute path"},
      {R"({"version":1,"nodes":[{"path":"/dev/x","minor":-1}]})", "integer from 0"},
      {R"({"version":1,"nodes":[{"path":"/dev/x","for":"sound"}]})", "\"sound\" must be"},
      {R"({"version":1,"files":[{"to":["/x"]}]})", "x.json: files: [0]: from is missing"},
      {R"({"version":1,"files":[{"from":"/x","to":"/x"}]})", "files: [0]: to: must be a list"},
      {R"({"version":1,"files":[{"from":"/x","socket":1}]})", "socket: must be true or false"},
      {R"({"version":1,"env":[1]})", "x.json: env: [0]: must be a string"},
  };
  for (const BadText& bad : kBad) {
    EXPECT_THAT(ParseIndex(bad.text, "x.json"),
                StatusIs(StatusCode::kInvalidArgument, HasSubstr(std::string(bad.complaint))))
        << bad.text;
  }
}

TEST(InjectionIndexTest, AnIndexOfAnotherAgeNamesTheFix) {
  EXPECT_THAT(ParseIndex(R"({"version":2,"pages":[]})", "x.json"),
              StatusIs(StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr("x.json: version 2"), HasSubstr("kgpu cdi generate"))));
}

TEST(InjectionIndexTest, AnIndexThatIsTooLongIsRefused) {
  const std::string text(kIndexLimit + 1, ' ');
  EXPECT_THAT(ParseIndex(text, "x.json"),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("bytes")));
}

}  // namespace
}  // namespace kgpu::inject
