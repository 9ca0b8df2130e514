#include "testing/simhost/tree_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "testing/status_matchers.h"
#include "testing/temp_dir.h"

namespace kgpu::simhost {
namespace {

using ::testing::ElementsAre;

class TreeWriterTest : public ::testing::Test {
 protected:
  StatusOr<WriteReport> Write(const Tree& tree) {
    dir_.MakeDir("host");
    return Reconcile(dir_.At("host"), dir_.At("manifest"), tree);
  }
  bool Exists(const std::string& path) const {
    return access(dir_.At("host/" + path).c_str(), F_OK) == 0;
  }

  TempDir dir_;
};

TEST(DifferenceTest, RemovesDeepestFirstAndWritesFoldersFirst) {
  Tree before;
  before.File("old/deep/file", "x");
  before.File("same", "x");
  Tree after;
  after.File("new/file", "x");
  after.File("same", "x");
  using Kind = TreeChange::Kind;
  EXPECT_THAT(Difference(before, after),
              ElementsAre(TreeChange{Kind::kRemove, "old/deep/file"},
                          TreeChange{Kind::kRemove, "old/deep"}, TreeChange{Kind::kRemove, "old"},
                          TreeChange{Kind::kWrite, "new"}, TreeChange{Kind::kWrite, "new/file"}));
}

TEST_F(TreeWriterTest, WritesEveryKindOfEntry) {
  Tree tree;
  tree.File("etc/file", "text", 0640);
  tree.Link("etc/link", "file");
  tree.CharDevice("dev/null", 1, 3, 0666);
  const StatusOr<WriteReport> report = Write(tree);
  ASSERT_OK(report);
  EXPECT_EQ(dir_.ReadFile("host/etc/link"), "text");
  struct stat info{};
  ASSERT_EQ(stat(dir_.At("host/etc/file").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0640U);
  if (report->nodes_faked > 0) {
    GTEST_SKIP() << "this user may not make device nodes";
  }
  ASSERT_EQ(stat(dir_.At("host/dev/null").c_str(), &info), 0);
  EXPECT_TRUE(S_ISCHR(info.st_mode));
  EXPECT_EQ(info.st_rdev, makedev(1, 3));
  EXPECT_EQ(info.st_mode & 07777, 0666U);
}

TEST_F(TreeWriterTest, ChangesNothingWhenAllIsThere) {
  Tree tree;
  tree.File("a/b", "text");
  tree.Link("c", "a/b");
  ASSERT_OK(Write(tree));
  const StatusOr<WriteReport> again = Write(tree);
  ASSERT_OK(again);
  EXPECT_EQ(again->written, 0U);
  EXPECT_EQ(again->removed, 0U);
}

TEST_F(TreeWriterTest, TakesAwayWhatIsNoLongerWantedAndNothingElse) {
  Tree tree;
  tree.File("lib/libcuda.so.535", "old");
  tree.File("run/gone", "");
  ASSERT_OK(Write(tree));
  dir_.WriteFile("host/run/foreign", "of somebody else");
  Tree next;
  next.File("lib/libcuda.so.550", "new");
  ASSERT_OK(Write(next));
  EXPECT_FALSE(Exists("lib/libcuda.so.535"));
  EXPECT_TRUE(Exists("lib/libcuda.so.550"));
  EXPECT_FALSE(Exists("run/gone"));
  EXPECT_TRUE(Exists("run/foreign"));
}

TEST_F(TreeWriterTest, ReplacesAnEntryOfAnotherKind) {
  Tree tree;
  tree.File("x", "file");
  ASSERT_OK(Write(tree));
  Tree folder;
  folder.File("x/y", "below");
  ASSERT_OK(Write(folder));
  EXPECT_EQ(dir_.ReadFile("host/x/y"), "below");
  ASSERT_OK(Write(tree));
  EXPECT_EQ(dir_.ReadFile("host/x"), "file");
}

TEST_F(TreeWriterTest, RepairsWhatSomebodyChanged) {
  Tree tree;
  tree.File("x", "right");
  ASSERT_OK(Write(tree));
  dir_.WriteFile("host/x", "wrong");
  ASSERT_OK(Write(tree));
  EXPECT_EQ(dir_.ReadFile("host/x"), "right");
}

TEST_F(TreeWriterTest, AdvancesWithoutLookingAtWhatStays) {
  Tree before;
  before.File("gone", "");
  before.File("stays", "right");
  ASSERT_OK(Write(before));
  dir_.WriteFile("host/stays", "changed by somebody");
  Tree next;
  next.File("new", "text");
  next.File("stays", "right");
  const StatusOr<WriteReport> report = Advance(dir_.At("host"), dir_.At("manifest"), before, next);
  ASSERT_OK(report);
  EXPECT_EQ(report->removed, 1U);
  EXPECT_EQ(report->written, 1U);
  EXPECT_FALSE(Exists("gone"));
  EXPECT_EQ(dir_.ReadFile("host/new"), "text");
  EXPECT_EQ(dir_.ReadFile("host/stays"), "changed by somebody");
  EXPECT_EQ(dir_.ReadFile("manifest"), "new\nstays\n");
}

TEST_F(TreeWriterTest, AManifestNeverLeadsOutOfTheFolder) {
  dir_.WriteFile("precious", "stays");
  dir_.WriteFile("manifest", "../precious\n/precious\nhost/../../precious\n");
  ASSERT_OK(Write(Tree()));
  EXPECT_EQ(dir_.ReadFile("precious"), "stays");
}

TEST_F(TreeWriterTest, SaysWhichFileCouldNotBeWritten) {
  Tree tree;
  tree.File("a/b", "text");
  EXPECT_THAT(Reconcile(dir_.At("absent"), dir_.At("manifest"), tree),
              StatusIs(StatusCode::kNotFound, ::testing::HasSubstr("absent/a")));
}

}  // namespace
}  // namespace kgpu::simhost
