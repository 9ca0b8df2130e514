#include "src/cli/cdi/cdi_view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>

namespace kgpu::cli {
namespace {

using ::testing::HasSubstr;

cdi::FolderContents Contents() {
  cdi::FolderContents contents;
  contents.devices = {{"kgpu.dev/gpu=0", "/var/run/cdi/kgpu.json"}};
  contents.conflicts = {{"nvidia.com/gpu=0", {"/var/run/cdi/a.yaml", "/var/run/cdi/b.yaml"}}};
  cdi::SpecFile bad;
  bad.path = "/etc/cdi/bad.json";
  bad.problem = "/etc/cdi/bad.json:1:1: not JSON";
  contents.files = {bad};
  return contents;
}

TEST(CdiViewTest, TheTableNamesDevicesConflictsAndBadFiles) {
  EXPECT_EQ(FoldersTable(Contents()),
            "DEVICE          FILE\n"
            "kgpu.dev/gpu=0  /var/run/cdi/kgpu.json\n"
            "nvidia.com/gpu=0: declared by /var/run/cdi/a.yaml and /var/run/cdi/b.yaml: container "
            "engines reject it; remove all but one\n"
            "/etc/cdi/bad.json:1:1: not JSON\n");
  EXPECT_THAT(FoldersTable({}), HasSubstr("No CDI devices. Run kgpu cdi generate"));
}

TEST(CdiViewTest, JsonHoldsTheSame) {
  const boost::json::value json = FoldersJson(Contents());
  EXPECT_EQ(json.at_pointer("/devices/0/name"), "kgpu.dev/gpu=0");
  EXPECT_EQ(json.at_pointer("/conflicts/0/files/1"), "/var/run/cdi/b.yaml");
  EXPECT_EQ(json.at_pointer("/files/0/problem"), "/etc/cdi/bad.json:1:1: not JSON");
}

}  // namespace
}  // namespace kgpu::cli
