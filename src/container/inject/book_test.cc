#include "src/container/inject/book.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "testing/status_matchers.h"

namespace kgpu::inject {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

BookNode Node(const std::string& path, int64_t minor, CapabilitySet needed_by = {}) {
  BookNode node;
  node.needed_by = needed_by;
  node.node.path = path;
  node.node.type = "c";
  node.node.major = 195;
  node.node.minor = minor;
  node.node.permissions = "rw";
  return node;
}

BookFile File(const std::string& from, std::vector<std::string> to, CapabilitySet needed_by) {
  BookFile file;
  file.needed_by = needed_by;
  file.host_path = from;
  file.container_paths = std::move(to);
  return file;
}

Book SomeBook() {
  Book book;
  book.driver_version = "535.104.05";
  book.cuda_version = "12.2";
  BookDevice gpu;
  gpu.names = {"0", "GPU-5d5ba0d6-d33d-2b2c-524d-9e3d8d2b8a00"};
  gpu.compute_capability = "8.0";
  gpu.brand = "nvidia";
  gpu.nodes = {Node("/dev/nvidia0", 0),
               Node("/dev/dri/card0", 1, Capability::kGraphics | Capability::kDisplay)};
  BookDevice mig = gpu;
  mig.names = {"1:0", "MIG-7c1d4bd0-85a5-5d5a-b9c5-d4ee4f2b0000"};
  mig.is_mig = true;
  mig.nodes[0].node.host_path = "/sim/dev/nvidia0";
  book.devices = {gpu, mig};
  book.nodes = {Node("/dev/nvidiactl", 255),
                Node("/dev/nvidia-modeset", 254, Capability::kDisplay)};
  book.files = {
      File("/lib/libcuda.so.535.104.05", {"/usr/lib64/libcuda.so.1"}, Capability::kCompute),
      File("/run/nvidia-persistenced/socket", {"/run/nvidia-persistenced/socket"},
           Capability::kUtility),
      File("/lib32/libcuda.so.535.104.05", {"/usr/lib/libcuda.so.1"}, Capability::kCompute)};
  book.files[1].is_socket = true;
  book.files[2].is_32bit = true;
  book.env = {"NVIDIA_VISIBLE_DEVICES=void"};
  return book;
}

std::vector<std::string> Targets(const Book& book, CapabilitySet wanted) {
  std::vector<std::string> targets;
  for (const cdi::Mount& mount : MountsFor(book, wanted)) {
    targets.push_back(fmt::format("{} {}", mount.host_path, mount.container_path));
  }
  return targets;
}

TEST(BookTest, ReadsBackWhatItPrints) {
  EXPECT_THAT(ParseBook(PrintBook(SomeBook()), "x.json"), IsOkAndHolds(SomeBook()));
  EXPECT_THAT(ParseBook(PrintBook(Book()), "x.json"), IsOkAndHolds(Book()));
}

TEST(BookTest, IsOneLineOfText) {
  const std::string text = PrintBook(SomeBook());
  EXPECT_EQ(text.find('\n'), text.size() - 1);
}

TEST(BookTest, NodesFollowTheCapabilities) {
  const Book book = SomeBook();
  EXPECT_EQ(NodesFor(book.devices[0].nodes, kDefaultCapabilities).size(), 1U);
  EXPECT_EQ(NodesFor(book.devices[0].nodes, Capability::kGraphics).size(), 2U);
  EXPECT_EQ(NodesFor(book.nodes, Capability::kGraphics).size(), 1U);
}

TEST(BookTest, MountsFollowTheCapabilities) {
  EXPECT_THAT(Targets(SomeBook(), Capability::kCompute),
              ElementsAre("/lib/libcuda.so.535.104.05 /usr/lib64/libcuda.so.1"));
  EXPECT_THAT(Targets(SomeBook(), Capability::kUtility),
              ElementsAre("/run/nvidia-persistenced/socket /run/nvidia-persistenced/socket"));
}

TEST(BookTest, FilesOf32BitsNeedCompat32Too) {
  EXPECT_THAT(Targets(SomeBook(), Capability::kCompute | Capability::kCompat32),
              ElementsAre("/lib32/libcuda.so.535.104.05 /usr/lib/libcuda.so.1",
                          "/lib/libcuda.so.535.104.05 /usr/lib64/libcuda.so.1"));
  EXPECT_THAT(Targets(SomeBook(), Capability::kCompat32), ElementsAre());
}

TEST(BookTest, MountsAreSortedByDepthThenName) {
  Book book;
  book.files = {File("/a", {"/x/y/z", "/b", "/a"}, Capability::kCompute),
                File("/b", {"/x/a"}, Capability::kCompute)};
  EXPECT_THAT(Targets(book, Capability::kCompute),
              ElementsAre("/a /a", "/a /b", "/b /x/a", "/a /x/y/z"));
}

TEST(BookTest, TheFirstWantedOfEqualPathsWins) {
  Book book;
  book.files = {File("/graphics", {"/x"}, Capability::kGraphics),
                File("/compute", {"/x"}, Capability::kCompute),
                File("/again", {"/x"}, Capability::kCompute)};
  EXPECT_THAT(Targets(book, Capability::kCompute), ElementsAre("/compute /x"));
  EXPECT_THAT(Targets(book, Capability::kCompute | Capability::kGraphics),
              ElementsAre("/graphics /x"));
}

TEST(BookTest, SocketsAreWritableFilesAreNot) {
  const auto mounts = MountsFor(SomeBook(), kDefaultCapabilities);
  ASSERT_EQ(mounts.size(), 2U);
  EXPECT_THAT(mounts[0].options, ElementsAre("noexec", "nosuid", "nodev", "rbind", "rprivate"));
  EXPECT_THAT(mounts[1].options, ElementsAre("ro", "nosuid", "nodev", "rbind", "rprivate"));
}

struct BadText {
  std::string_view text;
  std::string_view complaint;
};

TEST(BookTest, WhatIsWrongIsNamed) {
  constexpr BadText kBad[] = {
      {"", "x.json:1:1: not JSON"},
      {"[]", "x.json: version: must be 1"},
      {R"({"version":"1"})", "x.json: version: must be 1"},
      {R"({"version":1,"gpus":[]})", "x.json: gpus: unknown field"},
      {R"({"version":1,"version":1})", "given twice"},
      {R"({"version":1,"devices":[{"names":["0"]},{}]})",
       "x.json: devices: [1]: names are missing"},
      {R"({"version":1,"nodes":[{"path":"dev"}]})",
       "x.json: nodes: [0]: path: \"dev\" must be an absolute path"},
      {R"({"version":1,"nodes":[{"path":"/dev/x","minor":-1}]})", "whole number from 0"},
      {R"({"version":1,"nodes":[{"path":"/dev/x","for":"sound"}]})", "\"sound\" is none of"},
      {R"({"version":1,"files":[{"to":["/x"]}]})", "x.json: files: [0]: from is missing"},
      {R"({"version":1,"files":[{"from":"/x","to":"/x"}]})", "files: [0]: to: must be a list"},
      {R"({"version":1,"files":[{"from":"/x","socket":1}]})", "socket: must be true or false"},
      {R"({"version":1,"env":[1]})", "x.json: env: [0]: must be a string"},
  };
  for (const BadText& bad : kBad) {
    EXPECT_THAT(ParseBook(bad.text, "x.json"),
                StatusIs(StatusCode::kInvalidArgument, HasSubstr(std::string(bad.complaint))))
        << bad.text;
  }
}

TEST(BookTest, ABookOfAnotherAgeNamesTheMend) {
  EXPECT_THAT(ParseBook(R"({"version":2,"pages":[]})", "x.json"),
              StatusIs(StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr("x.json: version 2"), HasSubstr("kgpu cdi generate"))));
}

TEST(BookTest, ABookThatIsTooLongIsRefused) {
  const std::string text(kBookLimit + 1, ' ');
  EXPECT_THAT(ParseBook(text, "x.json"),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("bytes")));
}

}  // namespace
}  // namespace kgpu::inject
