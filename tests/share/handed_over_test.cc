// Memory that goes from one process of a container to another, and outlives its maker: somebody
// pays for it at every moment. The simulated driver says how much there is.
#include "tests/share/simulated_driver.h"

namespace kgpu::share {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

// A way to hand memory over, as steps of tests/share/client.cc.
struct Family {
  const char* name;
  const char* make;     // 1,000 MiB, with a handle for others
  const char* take;     // opens it in another process
  const char* release;  // the maker's part
  const char* leave;    // the taker's
};

constexpr Family kDescriptor = {.name = "descriptor",
                                .make = "create-shared:1000 export",
                                .take = "import map:1000",
                                .release = "release",
                                .leave = "release unmap:1000"};
constexpr Family kUnmapped = {.name = "unmapped",
                              .make = "create-shared:1000 export map:1000",
                              .take = "import",
                              .release = "release unmap:1000",
                              .leave = "release"};
constexpr Family kIpc = {.name = "ipc",
                         .make = "alloc:1000 ipc-get",
                         .take = "ipc-open",
                         .release = "free",
                         .leave = "ipc-close"};
constexpr Family kPool = {.name = "pool",
                          .make = "pool-shared pool-alloc:1000 pool-export",
                          .take = "pool-take pool-import",
                          .release = "free-async sync pool-trim",
                          .leave = "free-async"};
constexpr Family kPoolThatEnds = {.name = "pool-end",
                                  .make = "pool-shared pool-alloc:1000 pool-export",
                                  .take = "pool-take pool-import",
                                  .release = "free-async pool-end",
                                  .leave = "free"};

class ShareHandedOverTest : public ShareSimulatedDriverTest,
                            public testing::WithParamInterface<Family> {
 protected:
  // What the container's ledger says, once the dead are removed from it.
  static uint64_t Charged(const Container& container) {
    EXPECT_THAT(container.Steps("init ctx info"), HasSubstr("info 0"));
    return container.ReadLedger().header.total / kMiB - kContext;  // of the client that looked
  }
  void ExpectAllIsCharged(const Container& container, const char* when) const {
    const uint64_t charged = Charged(container);
    EXPECT_GE(charged, DriverUsed()) << GetParam().name << " " << when;
    EXPECT_LE(charged, DriverUsed() + 8) << GetParam().name << " " << when;
  }
  static std::string After(const char* steps) { return std::string("init ctx ") + steps; }
};

TEST_P(ShareHandedOverTest, CostsNothingBesideItsMaker) {
  const auto container = Start();
  const HeldClient maker(*container, After(GetParam().make));
  const HeldClient taker(*container, After(GetParam().take));
  EXPECT_THAT(taker.text() + maker.text(), Not(HasSubstr(" -"))) << taker.text() << maker.text();
  ExpectAllIsCharged(*container, "while both live");
  EXPECT_LT(Charged(*container), 2000U);
}

TEST_P(ShareHandedOverTest, IsTheTakersOnceItsMakerIsKilled) {
  const auto container = Start();
  HeldClient maker(*container, After(GetParam().make), "kill");
  HeldClient taker(*container, After(GetParam().take), GetParam().leave);
  EXPECT_FALSE(maker.GoOn());
  EXPECT_GE(DriverUsed(), 1000 + kContext);
  ExpectAllIsCharged(*container, "after the kill");
  EXPECT_THAT(container->Steps("init ctx alloc:19000"), EndsWith("alloc 2\n"));
  EXPECT_TRUE(taker.GoOn());
  ExpectAllIsCharged(*container, "after the taker has left it");
  EXPECT_EQ(Charged(*container), kContext);
}

TEST_P(ShareHandedOverTest, IsTheTakersOnceItsMakerHasEnded) {
  const auto container = Start();
  auto maker = std::make_unique<HeldClient>(*container, After(GetParam().make));
  const HeldClient taker(*container, After(GetParam().take));
  maker.reset();
  EXPECT_GE(DriverUsed(), 1000 + kContext);
  ExpectAllIsCharged(*container, "after the end");
}

TEST_P(ShareHandedOverTest, IsTheTakersOnceItsMakerReleasesIt) {
  const auto container = Start();
  HeldClient maker(*container, After(GetParam().make), GetParam().release);
  HeldClient taker(*container, After(GetParam().take), GetParam().leave);
  EXPECT_TRUE(maker.GoOn());
  EXPECT_GE(DriverUsed(), 1000 + 2 * kContext);
  EXPECT_GE(container->ReadLedger().header.total / kMiB, DriverUsed()) << "at once";
  ExpectAllIsCharged(*container, "after the release");
  EXPECT_TRUE(taker.GoOn());
  EXPECT_EQ(Charged(*container), 2 * kContext);
}

TEST_P(ShareHandedOverTest, IsTheLastTakersOnceItsMakerIsKilled) {
  const auto container = Start();
  HeldClient maker(*container, After(GetParam().make), "kill");
  HeldClient one(*container, After(GetParam().take), "kill");
  HeldClient other(*container, After(GetParam().take), "kill");
  EXPECT_FALSE(maker.GoOn());
  ExpectAllIsCharged(*container, "with two takers");
  EXPECT_FALSE(one.GoOn());
  EXPECT_GE(DriverUsed(), 1000 + kContext);
  ExpectAllIsCharged(*container, "with one");
  EXPECT_FALSE(other.GoOn());
  EXPECT_EQ(Charged(*container), 0U);
}

// Makers that come and go, one after the other, while a single process keeps what they have made.
TEST_P(ShareHandedOverTest, NobodyGathersMoreThanTheSlice) {
  const auto container = Start();
  std::string takes;
  for (int round = 0; round < 24; ++round) {
    takes += std::string(round == 0 ? "" : " hold ") + GetParam().take;
  }
  HeldClient taker(*container, "init ctx", takes);
  int refused = 0;
  for (int round = 0; round < 24; ++round) {
    HeldClient maker(*container, After(GetParam().make), "kill");
    refused += maker.text().find(" 2\n") == std::string::npos ? 0 : 1;
    EXPECT_TRUE(taker.GoOn());
    EXPECT_LE(DriverUsed(), 20480U) << GetParam().name << " round " << round;
    EXPECT_FALSE(maker.GoOn());
  }
  EXPECT_GE(refused, 4) << "1,000 MiB at a time, of 20 GiB";
}

// Of another container: nobody here offers it.
TEST_P(ShareHandedOverTest, IsChargedToATakerOfAnotherContainer) {
  const auto container = Start();
  const auto other = Start();
  const HeldClient maker(*container, After(GetParam().make));
  for (const char* name : {"hand-over", "handle"}) {
    std::error_code error;
    std::filesystem::create_hard_link(container->folder().At(name), other->folder().At(name),
                                      error);
  }
  HeldClient taker(*other, After(GetParam().take), GetParam().leave);
  EXPECT_GE(Charged(*other), 1000 + kContext) << taker.text();
  EXPECT_TRUE(taker.GoOn());
  EXPECT_EQ(Charged(*other), kContext);
}

INSTANTIATE_TEST_SUITE_P(Families, ShareHandedOverTest,
                         testing::Values(kDescriptor, kUnmapped, kIpc, kPool, kPoolThatEnds),
                         [](const auto& tested) {
                           std::string name = tested.param.name;
                           std::erase(name, '-');
                           return name;
                         });

class ShareDescriptorsTest : public ShareSimulatedDriverTest {};

// The one that is taken is not the one that its maker still has, though both are as large.
TEST_F(ShareDescriptorsTest, MemoryOfEqualSizeIsNotTheSameMemory) {
  const auto container = Start();
  HeldClient maker(*container, "init ctx create-shared:1000 export create-shared:1000 export",
                   "release");
  const HeldClient taker(*container, "init ctx import map:1000");
  EXPECT_TRUE(maker.GoOn());
  EXPECT_EQ(DriverUsed(), 2000 + 2 * kContext);
  EXPECT_THAT(container->Steps("init ctx info"),
              HasSubstr("free=" + std::to_string(20480 - 2000 - 3 * kContext)));
}

// A descriptor outlives its maker; the memory does, too, where a third process has it.
TEST_F(ShareDescriptorsTest, ATakerThatComesAfterTheMakersEndPays) {
  const auto container = Start();
  HeldClient maker(*container, "init ctx create-shared:1000 export", "release");
  HeldClient first(*container, "init ctx import map:1000", "kill");
  EXPECT_TRUE(maker.GoOn());
  HeldClient second(*container, "init ctx import", "release");
  EXPECT_THAT(second.text(), EndsWith("import 0\n"));
  EXPECT_FALSE(first.GoOn());
  EXPECT_EQ(DriverUsed(), 1000 + 2 * kContext);
  EXPECT_THAT(container->Steps("init ctx info"),
              HasSubstr("free=" + std::to_string(20480 - 1000 - 3 * kContext)));
  EXPECT_TRUE(second.GoOn());
  EXPECT_EQ(DriverUsed(), 2 * kContext);
  EXPECT_THAT(container->Steps("init ctx info"),
              HasSubstr("free=" + std::to_string(20480 - 3 * kContext)));
}

TEST_F(ShareDescriptorsTest, WhatDoesNotFitIsNotTaken) {
  const auto container = Start();
  const auto other = Start();
  const HeldClient maker(*container, "init ctx create-shared:15000 export");
  std::filesystem::create_hard_link(container->folder().At("hand-over"),
                                    other->folder().At("hand-over"));
  const HeldClient taker(*other, "init ctx alloc:6000 import info");
  EXPECT_THAT(taker.text(),
              HasSubstr("import 2\ninfo 0 free=" + std::to_string(20480 - 6000 - kContext)));
}

TEST_F(ShareDescriptorsTest, AProcessMayTakeItsOwn) {
  const auto container = Start();
  HeldClient client(*container, "init ctx create-shared:1000 export import map:1000 info",
                    "unmap:1000 release info");
  EXPECT_THAT(client.text(), EndsWith("free=" + std::to_string(20480 - 1000 - kContext) +
                                      " total=20480 device=20480\n"));
  EXPECT_TRUE(client.GoOn());
  EXPECT_EQ(DriverUsed(), 1000 + kContext);
  EXPECT_THAT(client.text(), HasSubstr("free=" + std::to_string(20480 - 1000 - kContext)));
}

}  // namespace
}  // namespace kgpu::share
