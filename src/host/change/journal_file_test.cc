#include "src/host/change/journal_file.h"

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <string>

#include "src/host/change/fingerprint.h"
#include "src/host/change/test_folder_host.h"
#include "src/platform/base/status_macros.h"
#include "testing/status_matchers.h"

namespace kgpu::change {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr JournalFile kJournal("/var/lib/kgpu/x.json", 200, "/var/lib/kgpu/x-backup");

StatusOr<std::string> NameIn(std::string_view text, std::string_view file) {
  ASSIGN_OR_RETURN(const boost::json::value tree, kJournal.Parse(text, file));
  const boost::json::value* name = tree.get_object().if_contains("name");
  return name == nullptr ? StatusOr<std::string>(InvalidArgument("{}: name: is missing", file))
                         : std::string(name->get_string());
}

std::string Named(const std::string& name) {
  return JournalFile::Print({{"name", name}});
}

class JournalFileTest : public ::testing::Test {
 protected:
  JournalFileTest() { host_.folder().MakeDir("var/lib/kgpu"); }

  FolderHost host_;
  HostDisk disk_{host_.root()};
};

TEST_F(JournalFileTest, ReadsWhatWasWritten) {
  ASSERT_OK(kJournal.Write(Named("one"), disk_));
  const auto read = kJournal.Read(host_.root(), NameIn);
  ASSERT_OK(read.status());
  EXPECT_EQ(*read, "one");
  struct stat info = {};
  ASSERT_EQ(stat(host_.folder().At("var/lib/kgpu/x.json").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600U);
}

TEST_F(JournalFileTest, NothingIsNoError) {
  const auto read = kJournal.Read(host_.root(), NameIn);
  ASSERT_OK(read.status());
  EXPECT_FALSE(*read);
  ASSERT_OK(kJournal.Write(Named("one"), disk_));
  ASSERT_OK(kJournal.Remove(disk_));
  EXPECT_FALSE(*kJournal.Read(host_.root(), NameIn));
  EXPECT_OK(kJournal.Remove(disk_));
}

TEST_F(JournalFileTest, SaysWhatToDoWithOneThatCannotBeRead) {
  const auto what_to_do =
      AllOf(HasSubstr("x.json"), HasSubstr("remove it"), HasSubstr("/var/lib/kgpu/x-backup"));
  host_.folder().WriteFile("var/lib/kgpu/x.json", "{");
  EXPECT_THAT(kJournal.Read(host_.root(), NameIn),
              StatusIs(StatusCode::kInvalidArgument, what_to_do));
  host_.folder().WriteFile("var/lib/kgpu/x.json", R"({"format": 1})");
  EXPECT_THAT(kJournal.Read(host_.root(), NameIn),
              StatusIs(StatusCode::kInvalidArgument, AllOf(HasSubstr("name"), what_to_do)));
}

TEST_F(JournalFileTest, RefusesAnotherFormat) {
  EXPECT_THAT(kJournal.Parse(R"({"format": 2, "name": "one"})", "x.json"),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("x.json: written by another")));
  EXPECT_THAT(kJournal.Parse(R"({"name": "one"})", "x.json"),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("format")));
}

TEST_F(JournalFileTest, WritesNothingThatItCouldNotRead) {
  ASSERT_OK(kJournal.Write(Named("one"), disk_));
  EXPECT_THAT(kJournal.Write(Named(std::string(200, 'x')), disk_),
              StatusIs(StatusCode::kOutOfRange, HasSubstr("/var/lib/kgpu/x.json")));
  EXPECT_THAT(kJournal.Write(Named("\xff"), disk_),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("UTF-8")));
  EXPECT_EQ(**kJournal.Read(host_.root(), NameIn), "one");
}

TEST(FingerprintTest, TellsTextsApart) {
  EXPECT_EQ(Fingerprint("a"), Fingerprint("a"));
  EXPECT_NE(Fingerprint("a"), Fingerprint("b"));
  EXPECT_NE(Fingerprint(""), Fingerprint(std::string(1, '\0')));
  EXPECT_TRUE(IsAmong({Fingerprint("a"), Fingerprint("b")}, "b"));
  EXPECT_FALSE(IsAmong({Fingerprint("a"), Fingerprint("b")}, "c"));
}

}  // namespace
}  // namespace kgpu::change
