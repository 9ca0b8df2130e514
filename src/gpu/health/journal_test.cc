#include "src/gpu/health/journal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/resource.h>
#include <sys/stat.h>

#include <csignal>
#include <filesystem>
#include <string>

#include "src/gpu/health/test_health_event.h"
#include "testing/status_matchers.h"
#include "testing/temp_dir.h"

namespace kgpu::health {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

std::vector<JournalEntry> Entries(std::initializer_list<HealthEvent> events) {
  std::vector<JournalEntry> entries;
  for (const HealthEvent& event : events) {
    entries.push_back(EntryOf(event));
  }
  return entries;
}

class JournalTest : public ::testing::Test {
 protected:
  Journal Open(size_t bytes = size_t{1} << 20) const {
    return {dir_.At("state"), {.bytes = bytes}};
  }
  JournalText Read(const Journal& journal) const {
    const auto text = journal.Read();
    EXPECT_OK(text);
    return text.ok() ? *text : JournalText{};
  }
  std::string Bytes() const { return dir_.ReadFile("state/health.journal"); }

  TempDir dir_;
};

TEST_F(JournalTest, NoJournalIsAnEmptyOne) {
  EXPECT_THAT(Read(Open()).entries, IsEmpty());
}

TEST_F(JournalTest, EntriesOutliveWhoWroteThem) {
  EXPECT_OK(Open().Append(Entries({TestXid(0)})));
  EXPECT_OK(Open().Append(Entries({TestXid(1), TestXid(1, HealthEventKind::kCleared, 60)})));
  EXPECT_THAT(Read(Open()).entries,
              ElementsAre(EntryOf(TestXid(0)), EntryOf(TestXid(1)),
                          EntryOf(TestXid(1, HealthEventKind::kCleared, 60))));
}

TEST_F(JournalTest, KnowsItsBoots) {
  const Journal journal = Open();
  EXPECT_THAT(journal.FindBoot("one"), IsOkAndHolds(Journal::Boots::kNone));
  const JournalEntry boot{.when = TestXid(0).when, .event = {}, .boot_id = "one"};
  EXPECT_OK(journal.Append({&boot, 1}));
  EXPECT_THAT(journal.FindBoot("one"), IsOkAndHolds(Journal::Boots::kThis));
  EXPECT_THAT(journal.FindBoot("two"), IsOkAndHolds(Journal::Boots::kOthers));
  EXPECT_THAT(journal.FindBoot("on"), IsOkAndHolds(Journal::Boots::kOthers));
}

TEST_F(JournalTest, ATornTailIsNotJoinedWithTheNextEntry) {
  EXPECT_OK(Open().Append(Entries({TestXid(0), TestXid(1)})));
  const std::string whole = Bytes();
  const size_t first = whole.find('\n') + 1;
  for (size_t size = first; size < whole.size(); size += 31) {
    dir_.WriteFile("state/health.journal", whole.substr(0, size));
    ASSERT_OK(Open().Append(Entries({TestXid(2)})));
    const JournalText journal = Read(Open());
    EXPECT_EQ(journal.entries.back(), EntryOf(TestXid(2))) << size;
    EXPECT_LE(journal.bad_lines, 1U) << size;
  }
}

TEST_F(JournalTest, StaysWithinItsBoundAndKeepsTheNewest) {
  const Journal journal = Open(4096);
  for (int i = 0; i < 60; ++i) {
    ASSERT_OK(journal.Append(Entries({TestXid(0, HealthEventKind::kRaised, i)})));
    ASSERT_LE(Bytes().size(), 4096U);
  }
  const JournalText text = Read(journal);
  EXPECT_GT(text.entries.size(), 5U);
  EXPECT_EQ(text.entries.back(), EntryOf(TestXid(0, HealthEventKind::kRaised, 59)));
}

TEST_F(JournalTest, WhatIsSeenOnceMoreDoesNotPushOutWhatBeganAndEnded) {
  const Journal journal = Open(8192);
  ASSERT_OK(journal.Append(Entries({TestXid(7)})));
  for (int i = 0; i < 90; ++i) {
    ASSERT_OK(journal.Append(Entries({TestXid(0, HealthEventKind::kSeen, i)})));
  }
  const JournalText text = Read(journal);
  EXPECT_EQ(text.entries.front(), EntryOf(TestXid(7)));
  EXPECT_EQ(text.entries.back(), EntryOf(TestXid(0, HealthEventKind::kSeen, 89)));
}

TEST_F(JournalTest, AFileThatGrewOverItsBoundIsReadFromItsEnd) {
  std::string bytes(100'000, 'x');
  bytes += "\n" + PrintJournalLine(EntryOf(TestXid(1)));
  dir_.WriteFile("state/health.journal", bytes);
  const Journal journal = Open(4096);
  EXPECT_THAT(Read(journal).entries, ElementsAre(EntryOf(TestXid(1))));
  EXPECT_OK(journal.Append(Entries({TestXid(2)})));
  EXPECT_THAT(Read(journal).entries, ElementsAre(EntryOf(TestXid(1)), EntryOf(TestXid(2))));
  EXPECT_LE(Bytes().size(), 4096U);
}

TEST_F(JournalTest, AFolderThatVanishesIsMadeAgain) {
  const Journal journal = Open();
  EXPECT_OK(journal.Append(Entries({TestXid(0)})));
  std::filesystem::remove_all(dir_.At("state"));
  EXPECT_OK(journal.Append(Entries({TestXid(1)})));
  EXPECT_THAT(Read(journal).entries, SizeIs(1));
}

TEST_F(JournalTest, WhatIsNoFileIsRefused) {
  dir_.MakeDir("state");
  ASSERT_EQ(mkfifo(dir_.At("state/health.journal").c_str(), 0600), 0);
  EXPECT_THAT(Open().Append(Entries({TestXid(0)})), StatusIs(StatusCode::kFailedPrecondition));
  EXPECT_THAT(Open().Read(), StatusIs(StatusCode::kFailedPrecondition));
}

// The kernel gives a short write and then an error, as a full disk does.
class FullDisk {
 public:
  explicit FullDisk(size_t bytes) {
    handler_ = std::signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit full{.rlim_cur = bytes, .rlim_max = before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &full);
  }
  ~FullDisk() {
    setrlimit(RLIMIT_FSIZE, &before_);
    (void)std::signal(SIGXFSZ, handler_);
  }
  FullDisk(const FullDisk&) = delete;
  FullDisk& operator=(const FullDisk&) = delete;

 private:
  rlimit before_{};
  void (*handler_)(int) = nullptr;
};

TEST_F(JournalTest, AFullDiskLeavesNoHalfOfAnEntry) {
  const Journal journal = Open();
  ASSERT_OK(journal.Append(Entries({TestXid(0)})));
  const std::string before = Bytes();
  for (size_t room = 0; room < before.size(); room += 37) {
    const FullDisk full(before.size() + room);
    EXPECT_FALSE(journal.Append(Entries({TestXid(1)})).ok());
    ASSERT_EQ(Bytes(), before) << room;
  }
  EXPECT_OK(journal.Append(Entries({TestXid(1)})));
  EXPECT_THAT(Read(journal).entries, ElementsAre(EntryOf(TestXid(0)), EntryOf(TestXid(1))));
}

TEST_F(JournalTest, AFullDiskWhileItIsMadeSmallerLosesNothing) {
  const Journal journal = Open(4096);
  while (Bytes().size() < 3800) {
    ASSERT_OK(journal.Append(Entries({TestXid(0)})));
  }
  const std::string before = Bytes();
  const FullDisk full(500);
  EXPECT_FALSE(journal.Append(Entries({TestXid(1), TestXid(1)})).ok());
  EXPECT_EQ(Bytes(), before);
}

TEST(JournalFilterTest, SelectsByTimeAndGpuAndKeepsBoots) {
  const JournalEntry boot{.when = TestXid(0).when, .event = {}, .boot_id = "b"};
  std::vector<JournalEntry> entries =
      Entries({TestXid(0), TestXid(1), TestXid(0, HealthEventKind::kCleared, 60)});
  entries.push_back(boot);
  EXPECT_THAT(Select(entries, {.since = TestXid(0).when + std::chrono::seconds(1), .gpu = {}}),
              ElementsAre(EntryOf(TestXid(0, HealthEventKind::kCleared, 60))));
  EXPECT_THAT(Select(entries, {.since = {}, .gpu = TestGpu(1)}),
              ElementsAre(EntryOf(TestXid(1)), boot));
}

}  // namespace
}  // namespace kgpu::health
