// One limit for all processes of a container, whatever becomes of them.
#include <gmock/gmock.h>

#include <string>

#include "testing/shell.h"
#include "tests/share/container.h"

namespace kgpu::share {
namespace {

using testing::EndsWith;
using testing::HasSubstr;

// Runs `second` while `first` holds what it has.
std::string RunBeside(const Container& container, const std::string& first,
                      const std::string& second) {
  const HeldClient held(container, first);
  return container.Steps(second);
}

TEST(ShareProcessesTest, AllOfAContainerShareOneLimit) {
  const Container container;
  EXPECT_THAT(RunBeside(container, "init ctx alloc:15000", "init ctx info alloc:5000 alloc:4880"),
              EndsWith("info 0 free=4880 total=20480 device=20480\nalloc 2\nalloc 0\n"));
}

TEST(ShareProcessesTest, AnotherContainerHasItsOwn) {
  const Container one;
  const Container other;
  EXPECT_THAT(one.Steps("init ctx alloc:20180"), EndsWith("alloc 0\n"));
  EXPECT_THAT(other.Steps("init ctx alloc:20180"), EndsWith("alloc 0\n"));
}

TEST(ShareProcessesTest, AKilledProcessCountsNoMore) {
  const Container container;
  EXPECT_THAT(container.Steps("init ctx alloc:20000 kill"), EndsWith("alloc 0\n"));
  EXPECT_GT(container.ReadLedger().header.total, 20000 * kMiB);
  EXPECT_THAT(container.Steps("init ctx info alloc:20180"),
              EndsWith("free=20180 total=20480 device=20480\nalloc 0\n"));
}

TEST(ShareProcessesTest, AForkedChildCostsNothing) {
  const Container container;
  EXPECT_THAT(container.Steps("init ctx alloc:1000 fork info"),
              HasSubstr("fork 0\ninfo 0 free=19180"));
}

TEST(ShareProcessesTest, AProcessThatClosesDescriptorsStillCounts) {
  const Container container;
  EXPECT_THAT(
      RunBeside(container, "init ctx alloc:15000 close-descriptors", "init ctx alloc:5000 info"),
      EndsWith("alloc 2\ninfo 0 free=4880 total=20480 device=20480\n"));
}

TEST(ShareProcessesTest, OpeningMemoryOfALiveProcessOfTheContainerIsFree) {
  const Container container;
  EXPECT_THAT(
      RunBeside(container, "init ctx alloc:1000 ipc-get", "init ctx ipc-open info ipc-close"),
      EndsWith("ipc-open 0\ninfo 0 free=18880 total=20480 device=20480\nipc-close 0\n"));
}

TEST(ShareProcessesTest, MappingMemoryThatALiveProcessExportedIsFree) {
  const Container container;
  EXPECT_THAT(RunBeside(container, "init ctx create:1000 export", "init ctx import map:1000 info"),
              EndsWith("map 0\ninfo 0 free=18880 total=20480 device=20480\n"));
}

TEST(ShareProcessesTest, OffersEndWithTheirMemory) {
  // Of two that are exported, the first is left; the other is whoever's has it.
  const Container container;
  EXPECT_THAT(RunBeside(container, "init ctx create:1000 export create:1000 export release",
                        "init ctx import map:1000 info"),
              EndsWith("map 0\ninfo 0 free=17880 total=20480 device=20480\n"));
  EXPECT_THAT(RunBeside(container, "init ctx async:1000 pool-export", "init ctx pool-import info"),
              EndsWith("free=18856 total=20480 device=20480\n"));
  for (const char* end : {"free-async", "free"}) {
    EXPECT_THAT(
        RunBeside(container,
                  std::string("init ctx async:1000 pool-export pool-export ") + end + " sync",
                  "init ctx pool-import info"),
        EndsWith("free=18880 total=20480 device=20480\n"))
        << end;
  }
  EXPECT_THAT(RunBeside(container, "init ctx alloc:1000 ipc-get ctx-end", "init ctx ipc-open info"),
              EndsWith("free=19180 total=20480 device=20480\n"));
  EXPECT_EQ(container.ReadLedger().shares[0].name, 0U);
}

TEST(ShareProcessesTest, SixtyFourThreadsLeaveNothingBehind) {
  const Container container;
  EXPECT_THAT(container.Steps("init ctx threads:1000 info"),
              EndsWith("threads 0\ninfo 0 free=20180 total=20480 device=20480\n"));
}

// Whoever looks first and adds afterwards gives the last piece to two.
TEST(ShareProcessesTest, ProcessesThatRaceGetNoMoreThanThereIs) {
  const Container container;
  const std::string one = container.Command("share_client dlsym init ctx race:512");
  const Outcome all = Shell("for turn in $(seq 12); do " + one + " & done; wait");
  EXPECT_THAT(all.text, HasSubstr("race 0\n"));
  const preload::LedgerHeader header = container.ReadLedger().header;
  EXPECT_LE(header.peak, 20480 * kMiB);
  EXPECT_GT(header.peak, (20480 - 512) * kMiB);  // all of it was in use at some time
  EXPECT_GT(header.refused, 0U);
}

TEST(ShareProcessesTest, AThousandProcessesOverTheLifeOfAContainer) {
  const Container container;
  const std::string one = container.Command("share_client dlsym init ctx alloc:20000");
  int status = 0;
  // A shell starts them, two at a time; every one ends without freeing.
  const std::string text =
      container.Run("share_client dlsym init ctx >/dev/null; for turn in $(seq 500); do ( " + one +
                        " ) & " + one + "; wait; done | sort | uniq -c | tr -s ' '",
                    "", &status);
  EXPECT_EQ(status, 0);
  EXPECT_THAT(text, HasSubstr(" 1000 init 0\n"));
  EXPECT_THAT(container.Steps("init ctx info"), HasSubstr("free=20180"));
}

}  // namespace
}  // namespace kgpu::share
