#include "src/diagnose/image/tar.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "src/diagnose/image/test_tar.h"
#include "testing/status_matchers.h"

namespace kgpu::image {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::string> PathsInArchive(const std::string& archive) {
  compress::TextSource source(archive);
  TarReader reader(source);
  TarEntry entry;
  std::vector<std::string> paths;
  while (true) {
    const StatusOr<bool> next = reader.Next(entry);
    EXPECT_OK(next);
    if (!next.ok() || !*next) {
      return paths;
    }
    paths.push_back(entry.path);
  }
}

Status FirstError(const std::string& archive) {
  compress::TextSource source(archive);
  TarReader reader(source);
  TarEntry entry;
  while (true) {
    const StatusOr<bool> next = reader.Next(entry);
    if (!next.ok() || !*next) {
      return next.status();
    }
  }
}

TEST(TarTest, EntriesComeInOrderWithoutLeadingDots) {
  const std::string archive = TarFile("./a", "one") + TarFile("b/", "", '5') +
                              TarFile("/c", std::string(600, 'x')) + TarFile("d", "") + TarEnd();
  EXPECT_THAT(PathsInArchive(archive), ElementsAre("a", "b/", "c", "d"));
}

TEST(TarTest, BodiesAreReadAndStandWhereTheEntrySays) {
  const std::string archive = TarFile("a", "one") + TarFile("b", "second") + TarEnd();
  compress::TextSource source(archive);
  TarReader reader(source);
  TarEntry entry;
  ASSERT_OK(reader.Next(entry));
  ASSERT_OK(reader.Next(entry));
  EXPECT_EQ(archive.substr(entry.offset, entry.size), "second");
  const auto body = reader.ReadBody(100);
  ASSERT_OK(body);
  EXPECT_EQ(*body, "second");
}

TEST(TarTest, BodiesPastTheLimitAreRefused) {
  const std::string archive = TarFile("a", "too long");
  compress::TextSource source(archive);
  TarReader reader(source);
  TarEntry entry;
  ASSERT_OK(reader.Next(entry));
  EXPECT_THAT(reader.ReadBody(3).status(), StatusIs(StatusCode::kOutOfRange, HasSubstr("8 bytes")));
}

TEST(TarTest, LongNamesOfGnuAndOfPaxCount) {
  const std::string name(150, 'n');
  const std::string record = fmt::format("165 path=p/{}\n", std::string(153, 'q'));
  ASSERT_EQ(record.size(), 165U);
  const std::string archive = TarFile("@LongLink", name + '\0', 'L') + TarFile("cut", "x") +
                              TarFile("pax", record, 'x') + TarFile("cut", "y") + TarEnd();
  EXPECT_THAT(PathsInArchive(archive), ElementsAre(name, "p/" + std::string(153, 'q')));
}

TEST(TarTest, BrokenArchivesAreErrorsWithTheByte) {
  std::string archive = TarFile("a", "one") + TarFile("b", "two");
  archive[1024] = 'X';
  EXPECT_THAT(FirstError(archive),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("byte 1024: not a tar header")));
  EXPECT_THAT(FirstError(TarFile("a", "one").substr(0, 300)),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("ends inside a header")));
  EXPECT_THAT(FirstError("no archive"), StatusIs(StatusCode::kInvalidArgument, HasSubstr("ends")));
}

TEST(TarTest, NothingIsAnEmptyArchive) {
  EXPECT_THAT(PathsInArchive(""), ElementsAre());
  EXPECT_THAT(PathsInArchive(TarEnd()), ElementsAre());
}

TEST(TarTest, OnlySomeExtendedHeadersStandBeforeAFile) {
  std::string archive;
  for (int i = 0; i < 20; ++i) {
    archive += TarFile("././@LongLink", "a/long/name", 'L');
  }
  archive += TarFile("x", "") + TarEnd();
  compress::TextSource source(archive);
  TarReader reader(source);
  TarEntry entry;
  EXPECT_THAT(reader.Next(entry),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("extended headers")));
}

}  // namespace
}  // namespace kgpu::image
