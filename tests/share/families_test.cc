// Every family of functions that allocates: charged, refused over the limit, given back.
#include <gmock/gmock.h>

#include "tests/share/container.h"

namespace kgpu::share {
namespace {

using testing::EndsWith;
using testing::HasSubstr;

// After `steps` there are `free` MiB of 20,480.
void ExpectFree(const std::string& steps, int free) {
  const Container container;
  const std::string text = container.Steps("init ctx " + steps + " info");
  EXPECT_THAT(text, HasSubstr("info 0 free=" + std::to_string(free) + " total=20480")) << steps;
}

// 20 GiB less a context: 20,180 MiB may be allocated.
void ExpectLimit(const std::string& step) {
  const Container container;
  const std::string text =
      container.Steps("init ctx " + step + ":20181 " + step + ":20180 " + step + ":100");
  EXPECT_EQ(text, "init 0\nctx 0\n" + step + " 2\n" + step + " 0\n" + step + " 2\n");
}

TEST(ShareFamiliesTest, LinearMemory) {
  ExpectLimit("alloc");
  ExpectFree("alloc:1000", 19180);
  ExpectFree("alloc:1000 free", 20180);
  ExpectFree("free-null", 20180);
}

TEST(ShareFamiliesTest, PitchedMemory) {
  ExpectLimit("pitch");
  ExpectFree("pitch:1000 free", 20180);
}

TEST(ShareFamiliesTest, ManagedMemoryCountsInFull) {
  ExpectLimit("managed");
  ExpectFree("managed:1000 free", 20180);
}

TEST(ShareFamiliesTest, ArraysAndMipmaps) {
  ExpectLimit("array");
  ExpectLimit("array3d");
  ExpectLimit("mipmap");
  ExpectFree("array:1000 array-end", 20180);
}

TEST(ShareFamiliesTest, MemoryWithoutAddresses) {
  ExpectLimit("create");
  ExpectFree("create:1000", 19180);
  ExpectFree("create:1000 release", 20180);
  // What is mapped lives on without its handle, and the other way round.
  ExpectFree("create:1000 map:1000 release", 19180);
  ExpectFree("create:1000 map:1000 release unmap:1000", 20180);
  ExpectFree("create:1000 map:1000 unmap:1000", 19180);
  ExpectFree("create:1000 map:1000 retain release unmap:1000", 19180);
  ExpectFree("create:1000 map:1000 retain release unmap:1000 release", 20180);
}

// The driver uses a handle again as soon as its memory is freed, in another thread before the call
// that has freed it returns.
TEST(ShareFamiliesTest, HandlesThatAreUsedAgainAtOnce) {
  ExpectFree("create:1000 map:1000 release beside-create:300 unmap:1000", 20180 - 300);
  ExpectFree("create:1000 map:1000 release beside-create:300 unmap:1000 release", 20180);
  ExpectFree("pool pool-alloc:100 free-async beside-pool pool-end", 20180);
  ExpectFree("pool pool-alloc:100 free-async beside-pool pool-end pool-alloc:32", 20180 - 32);
}

TEST(ShareFamiliesTest, WhatTheDriverDoesNotEndStaysCharged) {
  ExpectFree("async:100 pool-end-default", 20180 - 128);
  ExpectFree("async:100 pool-end-default free-async sync", 20180);
  ExpectFree("create:1000 map:1000 release unmap:500", 19180);
  ExpectFree("create:1000 map:1000 release unmap:500 unmap:1000", 20180);
  ExpectFree("create:1000 map:1000 unmap:500 release", 19180);
}

TEST(ShareFamiliesTest, MemoryOnTheHostWithoutAddressesIsNotTheDevices) {
  ExpectFree("create-on-host:30000", 20180);
}

// The pool grows by 32 MiB at a time, and that is charged.
TEST(ShareFamiliesTest, PoolsAreChargedForWhatTheyHold) {
  ExpectFree("async:1", 20180 - 32);
  ExpectFree("async:1 async:1", 20180 - 32);
  ExpectFree("async:100", 20180 - 128);
  // Freed memory stays with the pool until the host waits.
  ExpectFree("async:100 free-async", 20180 - 128);
  ExpectFree("async:100 free-async sync", 20180);
  ExpectFree("async:100 free sync", 20180);
  ExpectFree("alloc:100 free-async", 20180);
}

TEST(ShareFamiliesTest, PoolsAreStoppedAtTheLimit) {
  const Container container;
  EXPECT_EQ(container.Steps("init ctx async:20181 async:20100 async:500"),
            "init 0\nctx 0\nasync 2\nasync 0\nasync 2\n");
}

TEST(ShareFamiliesTest, UnusedMemoryOfPoolsIsReturnedBeforeAnythingIsRefused) {
  const Container container;
  EXPECT_EQ(container.Steps("init ctx async:15000 free-async alloc:15000"),
            "init 0\nctx 0\nasync 0\nfree-async 0\nalloc 0\n");
}

TEST(ShareFamiliesTest, PoolsOfTheProgramsOwn) {
  ExpectFree("pool pool-alloc:100", 20180 - 128);
  ExpectFree("pool pool-alloc:100 free-async pool-trim", 20180);
  // What a destroyed pool has handed out lives on, and with it what the pool has reserved.
  ExpectFree("pool pool-alloc:100 pool-end", 20180 - 128);
  ExpectFree("pool pool-alloc:100 pool-end free-async", 20180);
  ExpectFree("pool pool-end", 20180);
}

// Without a current context, nobody says which pool it is: the pointer pays.
TEST(ShareFamiliesTest, MemoryOfAnUnknownPoolIsGivenBack) {
  ExpectFree("ctx-end async:1000 ctx", 19180);
  ExpectFree("ctx-end async:1000 free-async ctx", 20180);
}

TEST(ShareFamiliesTest, ManagedPoolsAreChargedPieceByPiece) {
  ExpectFree("pool-managed pool-alloc:1000", 19180);
  ExpectFree("pool-managed pool-alloc:1000 free-async", 20180);
  ExpectFree("pool-managed pool-alloc:1000 pool-end", 19180);
  ExpectFree("pool-managed pool-alloc:1000 pool-end free", 20180);
  ExpectFree("pool-of-nowhere pool-alloc:1000", 19180);
  ExpectFree("pool-of-host pool-alloc:1000", 20180);
  const Container container;
  EXPECT_THAT(container.Steps("init ctx pool-managed pool-alloc:20181 pool-alloc:20180"),
              EndsWith("pool-alloc 2\npool-alloc 0\n"));
}

TEST(ShareFamiliesTest, ImportedMemoryOfPools) {
  const Container container;
  EXPECT_THAT(container.Steps("init ctx async:1000 pool-export"), EndsWith("pool-export 0\n"));
  for (const std::string free : {"free", "free-async"}) {
    EXPECT_THAT(container.Steps("init ctx pool-import info " + free + " info"),
                HasSubstr("pool-import 0\ninfo 0 free=19180 total=20480 device=20480\n" + free +
                          " 0\ninfo 0 free=20180"));
  }
}

TEST(ShareFamiliesTest, MemoryNodesOfGraphs) {
  ExpectFree("graph:1000 launch", 19180);
  ExpectFree("graph:1000 launch launch", 19180);
  ExpectFree("graph:1000 launch graph-trim", 20180);
  const Container container;
  EXPECT_THAT(container.Steps("init ctx graph:20181"), EndsWith("graph 2\n"));
  EXPECT_THAT(container.Steps("init ctx graph:1000 alloc:19500 launch"),
              EndsWith("alloc 0\nlaunch 2\n"));
}

TEST(ShareFamiliesTest, ExternalMemory) {
  ExpectLimit("external");
  ExpectFree("external:1000", 19180);
  ExpectFree("external:1000 ctx-end ctx", 20180);
}

TEST(ShareFamiliesTest, PinnedMemoryOfTheHostCountsWhereItIsConfigured) {
  ExpectFree("host:1000", 20180);
  const Container container("pinned 1\n");
  EXPECT_THAT(container.Steps("init ctx host:1000 info host:30000"),
              HasSubstr("free=19180 total=20480 device=20480\nhost 2\n"));
}

TEST(ShareFamiliesTest, ContextsCost) {
  const Container container;
  EXPECT_THAT(container.Steps("init ctx info"), HasSubstr("free=20180"));
  EXPECT_THAT(container.Steps("init primary info primary info primary-release primary-release "
                              "ctx info"),
              HasSubstr("info 0 free=20180 total=20480 device=20480\nprimary 0\n"
                        "info 0 free=20180 total=20480 device=20480\nprimary-release 0\n"
                        "primary-release 0\nctx 0\ninfo 0 free=20180"));
  // Its end frees all that was allocated in it.
  EXPECT_THAT(container.Steps("init ctx alloc:5000 ctx-end ctx info"), HasSubstr("free=20180"));
  EXPECT_THAT(container.Steps("init primary alloc:5000 primary-reset ctx info"),
              HasSubstr("free=20180"));
}

TEST(ShareFamiliesTest, AContextThatNobodySawMadeIsChargedWithItsFirstAllocation) {
  ExpectFree("ctx-end adopt alloc:100", 20480 - 300 - 100);
}

TEST(ShareFamiliesTest, AResetFreesWhatWasInAPrimaryContextThatNobodySawMade) {
  const Container container;
  EXPECT_THAT(container.Steps("init primary-by-table alloc:5000 info primary-reset ctx info"),
              HasSubstr("info 0 free=15180 total=20480 device=20480\nprimary-reset 0\nctx 0\n"
                        "info 0 free=20180"));
}

// Another thread could ask the driver for an event that has gone with the context. A launch in the
// middle of the reset finds nothing known of its stream, and needs a new one.
TEST(ShareFamiliesTest, AResetForgetsWhatWasLaunchedBeforeTheDriverDoes) {
  const Container container("compute 50\n");
  EXPECT_THAT(
      container.Steps("init primary kernel kernel events beside-kernel primary-reset events"),
      EndsWith("events 1\nbeside-kernel 0\nprimary-reset 0\nevents 2\n"));
}

TEST(ShareFamiliesTest, HeapsOfContextsCount) {
  ExpectFree("heap:1008", 20180 - 1000);
  ExpectFree("heap:1008 heap:108", 20180 - 100);
  ExpectFree("heap:1008 ctx-end ctx", 20180);
  const Container container;
  EXPECT_THAT(container.Steps("init ctx heap:30000"), EndsWith("heap 2\n"));
  // The driver replaces what it has: only growth has to fit.
  EXPECT_THAT(
      container.Steps("init ctx heap:12008 heap:12008 heap:11008 heap:20188 info heap:20189"),
      EndsWith("heap 0\nheap 0\nheap 0\nheap 0\ninfo 0 free=0 total=20480 device=20480\n"
               "heap 2\n"));
}

TEST(ShareFamiliesTest, AContextThatDoesNotFitIsRefused) {
  const Container container;
  container.Write(0, "version 1\ndevice " + std::string(kDevice) + "\nmemory 1048576\ncontext " +
                         std::to_string(300 * kMiB) + "\n");
  EXPECT_THAT(container.Steps("init ctx primary"), EndsWith("ctx 2\nprimary 2\n"));
}

TEST(ShareFamiliesTest, ImportedMemoryCountsUnlessItsOwnerIsOfTheSameContainer) {
  const Container container;
  // The owner is dead when the handle is opened: it is ours now.
  EXPECT_THAT(container.Steps("init ctx alloc:1000 ipc-get"), EndsWith("ipc-get 0\n"));
  EXPECT_THAT(container.Steps("init ctx ipc-open info ipc-close info"),
              HasSubstr("ipc-open 0\ninfo 0 free=19180 total=20480 device=20480\nipc-close 0\n"
                        "info 0 free=20180"));
  EXPECT_THAT(container.Steps("init ctx import map:1000 info unmap:1000 release info"),
              HasSubstr("map 0\ninfo 0 free=19180 total=20480 device=20480\nunmap 0\nrelease 0\n"
                        "info 0 free=20180"));
  EXPECT_THAT(container.Steps("init ctx import map:30000"), EndsWith("map 2\n"));
}

}  // namespace
}  // namespace kgpu::share
