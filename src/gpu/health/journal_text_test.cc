#include "src/gpu/health/journal_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "src/gpu/health/test_health_event.h"

namespace kgpu::health {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::IsEmpty;
using ::testing::SizeIs;

HealthEvent FullEvent() {
  HealthEvent event = TestXid(3, HealthEventKind::kHeld);
  event.gpu_instance = 1;
  event.compute_instance = 0;
  event.source = Source::kKernelLog;
  event.detail = "NVRM: Xid (PCI:0000:07:00): 79, \"quoted\" … pid='<unknown>'";
  event.count = 10'000;
  event.pid = 4711;
  return event;
}

TEST(JournalTextTest, AnEntryIsOneLine) {
  EXPECT_EQ(PrintJournalLine(EntryOf(TestXid(0))),
            R"({"v":1,"ms":1767323045000,"kind":"raised",)"
            R"("gpu":"GPU-00000000-0000-0000-0000-000000000000","rule":"Xid79","xid":79,)"
            R"("class":"bus","action":"reboot","source":"driver","unhealthy":true,)"
            R"("message":"The GPU has fallen off the bus: restart the host.","count":1})"
            "\n");
}

TEST(JournalTextTest, WhatIsPrintedIsReadBack) {
  const JournalEntry boot{.when = FullEvent().when, .event = {}, .boot_id = "b00t"};
  const JournalEntry event = EntryOf(FullEvent());
  const JournalText journal = ParseJournal(PrintJournalLine(boot) + PrintJournalLine(event));
  EXPECT_THAT(journal.entries, ElementsAre(boot, event));
  EXPECT_EQ(journal.bad_lines, 0U);
}

TEST(JournalTextTest, ATornLineCostsItselfOnly) {
  const std::string line = PrintJournalLine(EntryOf(TestXid(0)));
  for (size_t cut = 1; cut + 1 < line.size(); ++cut) {
    const JournalText journal = ParseJournal(line + line.substr(0, cut) + "\n" + line);
    EXPECT_THAT(journal.entries, SizeIs(2)) << cut;
    EXPECT_EQ(journal.bad_lines, 1U) << cut;
  }
}

TEST(JournalTextTest, ATailWithoutNewlineCounts) {
  std::string line = PrintJournalLine(EntryOf(TestXid(0)));
  line.pop_back();
  EXPECT_THAT(ParseJournal(line).entries, SizeIs(1));
}

TEST(JournalTextTest, LinesOfOthersAreLeftOut) {
  const JournalText journal = ParseJournal(
      "\n\nnot json\n[]\n{}\n"
      R"({"v":2,"ms":1,"kind":"raised","rule":"Xid1"})"
      "\n"
      R"({"v":1,"ms":-1,"kind":"raised","rule":"Xid1"})"
      "\n"
      R"({"v":1,"ms":99999999999999999,"kind":"raised","rule":"Xid1"})"
      "\n"
      R"({"v":1,"ms":1,"kind":"risen","rule":"Xid1"})"
      "\n"
      R"({"v":1,"ms":1,"kind":"raised"})"
      "\n");
  EXPECT_THAT(journal.entries, IsEmpty());
  EXPECT_EQ(journal.bad_lines, 8U);
}

TEST(JournalTextTest, WordsOfALaterVersionAreReadAsTheNearest) {
  const JournalText journal = ParseJournal(
      R"({"v":1,"ms":1,"kind":"raised","rule":"Xid1","class":"quantum","action":"pray"})");
  ASSERT_THAT(journal.entries, SizeIs(1));
  ASSERT_TRUE(journal.entries[0].event.has_value());
  EXPECT_EQ(journal.entries[0].event->fault_class, FaultClass::kOther);
  EXPECT_EQ(journal.entries[0].event->action, Action::kInspect);
}

TEST(JournalTextTest, LongAndHostileTextsFitOneLine) {
  HealthEvent event = FullEvent();
  event.message = std::string(10'000, '"');
  event.detail = std::string(799, '\\') + "\xc3\xa4" + std::string(9000, '\n');
  event.rule = std::string(5000, '\x01');
  std::string line = PrintJournalLine(EntryOf(event));
  EXPECT_LT(line.size(), kMaxJournalLine);
  EXPECT_THAT(ParseJournal(line).entries, SizeIs(1));
  event.detail = "a\xff\xfe z";
  line = PrintJournalLine(EntryOf(event));
  const JournalText journal = ParseJournal(line);
  ASSERT_THAT(journal.entries, SizeIs(1));
  ASSERT_TRUE(journal.entries[0].event.has_value());
  EXPECT_EQ(journal.entries[0].event->detail, "a?? z");
  EXPECT_THAT(line, EndsWith("}\n"));
}

}  // namespace
}  // namespace kgpu::health
