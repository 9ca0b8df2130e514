#include "src/container/cdi/folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/status_matchers.h"
#include "testing/temp_dir.h"

namespace kgpu::cdi {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class CdiFolderTest : public ::testing::Test {
 protected:
  void Write(const std::string& path, const std::string& kind, const std::string& device) {
    dir_.WriteFile(path, "cdiVersion: 0.5.0\nkind: " + kind + "\ndevices:\n- name: \"" + device +
                             "\"\n  containerEdits: {env: [A=b]}\n");
  }
  FolderContents Read() {
    const auto root = sys::Root::Open(dir_.path());
    EXPECT_OK(root);
    return ReadFolders(*root, {"/etc/cdi", "/var/run/cdi"});
  }
  TempDir dir_;
};

TEST_F(CdiFolderTest, MissingFoldersAreEmpty) {
  const FolderContents contents = Read();
  EXPECT_THAT(contents.files, IsEmpty());
  EXPECT_THAT(contents.problems, IsEmpty());
}

TEST_F(CdiFolderTest, LaterFolderWins) {
  Write("etc/cdi/a.yaml", "nvidia.com/gpu", "0");
  Write("var/run/cdi/b.yaml", "nvidia.com/gpu", "0");
  const FolderContents contents = Read();
  EXPECT_THAT(contents.devices, ElementsAre(Resolved{"nvidia.com/gpu=0", "/var/run/cdi/b.yaml"}));
  EXPECT_THAT(contents.conflicts, IsEmpty());
  EXPECT_THAT(FilesOfKind(contents, "nvidia.com/gpu"),
              ElementsAre("/etc/cdi/a.yaml", "/var/run/cdi/b.yaml"));
}

TEST_F(CdiFolderTest, TwoFilesOfOneFolderConflict) {
  Write("etc/cdi/z.yaml", "nvidia.com/gpu", "0");
  Write("var/run/cdi/a.yaml", "nvidia.com/gpu", "0");
  Write("var/run/cdi/b.yaml", "nvidia.com/gpu", "0");
  Write("var/run/cdi/c.yaml", "nvidia.com/gpu", "1");
  const FolderContents contents = Read();
  EXPECT_THAT(
      contents.conflicts,
      ElementsAre(Conflict{"nvidia.com/gpu=0", {"/var/run/cdi/a.yaml", "/var/run/cdi/b.yaml"}}));
  EXPECT_THAT(contents.devices, ElementsAre(Resolved{"nvidia.com/gpu=1", "/var/run/cdi/c.yaml"}));
}

TEST_F(CdiFolderTest, BadFileHidesNoOther) {
  Write("etc/cdi/good.yaml", "nvidia.com/gpu", "0");
  Write("etc/cdi/invalid.yaml", "nvidia.com/gpu", "a/b");
  dir_.WriteFile("etc/cdi/broken.json", "{");
  dir_.Symlink("nowhere", "etc/cdi/dangling.json");
  dir_.WriteFile("etc/cdi/ignored.yml", "x");
  dir_.WriteFile("etc/cdi/sub/ignored.yaml", "x");

  const FolderContents contents = Read();

  ASSERT_THAT(contents.files, SizeIs(4));
  EXPECT_THAT(contents.files[0].problem, HasSubstr("etc/cdi/broken.json:1:"));
  EXPECT_THAT(contents.files[1].problem, HasSubstr("dangling.json"));
  EXPECT_EQ(contents.files[2].problem, "");
  EXPECT_THAT(contents.files[3].problem, HasSubstr("device name \"a/b\""));
  EXPECT_THAT(contents.devices, SizeIs(1));
}

TEST_F(CdiFolderTest, ReportsWhatIsNoFolder) {
  dir_.WriteFile("etc/cdi", "");
  EXPECT_THAT(Read().problems, ElementsAre(HasSubstr("etc/cdi")));
}

}  // namespace
}  // namespace kgpu::cdi
