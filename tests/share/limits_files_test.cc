// What the library makes of the files of its slots. Nothing but them decides.
#include <gmock/gmock.h>

#include <filesystem>

#include "tests/share/container.h"

namespace kgpu::share {
namespace {

using testing::EndsWith;
using testing::HasSubstr;

TEST(ShareLimitsTest, SlotsOfOneGpuAddUp) {
  const Container container;
  container.Write(1, "version 1\ndevice " + std::string(kDevice) + "\nmemory " +
                         std::to_string(10240 * kMiB) + "\n");
  EXPECT_THAT(container.Steps("init ctx alloc:30000 info"),
              EndsWith("alloc 0\ninfo 0 free=420 total=30720 device=30720\n"));
}

TEST(ShareLimitsTest, MigDevicesAreFoundByTheirUuids) {
  const Container container;
  container.Write(0, "version 1\ndevice MIG-00112233-4455-6677-8899-aabbccddeeff\nmemory " +
                         std::to_string(1024 * kMiB) + "\n");
  EXPECT_THAT(container.Steps("init ctx alloc:1024 alloc:1"), EndsWith("alloc 0\nalloc 2\n"));
}

TEST(ShareLimitsTest, SaysWhenAGpuHasNoSlot) {
  const Container container;
  container.Write(0, "version 1\ndevice GPU-ffffffff-ffff-ffff-ffff-ffffffffffff\nmemory 1\n");
  EXPECT_THAT(container.Steps("init ctx alloc:30000 info"),
              EndsWith("alloc 0\ninfo 0 free=51919 total=81920 device=81920\n"));
  EXPECT_THAT(container.Stderr(), HasSubstr("has no slot in this container: not limited"));
}

// Each of these: one line that says what is wrong, and no memory.
TEST(ShareLimitsTest, AllocatesNothingWithBrokenOrMissingFiles) {
  constexpr char kAll[] =
      "init ctx primary alloc:1 pitch:1 managed:1 async:1 create:1 array:1 mipmap:1 external:1";
  constexpr char kRefused[] =
      "init 0\nctx 800\nprimary 800\nalloc 800\npitch 800\nmanaged 800\nasync 800\ncreate 800\n"
      "array 800\nmipmap 800\nexternal 800\n";
  const Container broken;
  broken.Write(0, "version 7\n");
  EXPECT_EQ(broken.Steps(kAll), kRefused);
  EXPECT_EQ(broken.Stderr(),
            "kgpu-share: kgpu-slots/0/limits: version: only 1 is known: update kgpu; no GPU memory "
            "is allocated\n");
  const Container missing;
  std::filesystem::remove_all(missing.folder().At("kgpu-slots"));
  EXPECT_EQ(missing.Steps(kAll), kRefused);
  EXPECT_THAT(missing.Stderr(), HasSubstr("kgpu-slots: cannot be read"));
  const Container no_ledger;
  std::filesystem::remove(no_ledger.folder().At("kgpu-slots/0/ledger"));
  EXPECT_EQ(no_ledger.Steps(kAll), kRefused);
  EXPECT_THAT(no_ledger.Stderr(), HasSubstr("kgpu-slots/0/ledger: cannot be opened"));
}

TEST(ShareLimitsTest, ASlotIsAnyFolderWhateverItsName) {
  const Container container;
  std::filesystem::rename(container.folder().At("kgpu-slots/0"),
                          container.folder().At("kgpu-slots/GPU-5d_17"));
  EXPECT_EQ(container.Steps("init ctx alloc:20180 alloc:1"), "init 0\nctx 0\nalloc 0\nalloc 2\n");
  EXPECT_EQ(container.Stderr(), "");
}

TEST(ShareLimitsTest, MoreSlotsThanAreKnownAreNoLicence) {
  const Container container;
  const std::string limits = container.folder().ReadFile("kgpu-slots/0/limits");
  for (int slot = 1; slot < 32; ++slot) {
    container.Write(slot, limits);
  }
  EXPECT_EQ(container.Steps("init ctx alloc:1"), "init 0\nctx 0\nalloc 0\n");
  container.Write(32, limits);
  EXPECT_EQ(container.Steps("init ctx alloc:1"), "init 0\nctx 800\nalloc 800\n");
  EXPECT_THAT(container.Stderr(), HasSubstr("kgpu-slots: has more than 32 slots"));
}

TEST(ShareLimitsTest, ACorruptSecondSlotIsNoLicence) {
  const Container container;
  container.Write(1, "device\n");
  EXPECT_THAT(container.Steps("init ctx alloc:1"), EndsWith("ctx 800\nalloc 800\n"));
}

// What other limiters read from there.
TEST(ShareLimitsTest, TheEnvironmentDecidesNothing) {
  const Container container;
  for (const char* variable :
       {"CUDA_DISABLE_CONTROL=true", "CUDA_DEVICE_MEMORY_LIMIT=80g",
        "CUDA_DEVICE_MEMORY_LIMIT_0=80g", "CUDA_OVERSUBSCRIBE=true",
        "GPU_CORE_UTILIZATION_POLICY=disable", "KGPU_SHARE_SLOTS=/tmp",
        "CUDA_DEVICE_MEMORY_SHARED_CACHE=/tmp/x", "NVIDIA_VISIBLE_DEVICES=all"}) {
    EXPECT_THAT(container.Run("share_client dlsym init ctx alloc:20181", variable),
                EndsWith("alloc 2\n"))
        << variable;
  }
}

TEST(ShareLimitsTest, ALedgerOfRubbishIsPutInOrder) {
  const Container container;
  container.folder().WriteFile("kgpu-slots/0/ledger", std::string(preload::kLedgerSize, '\x5a'));
  EXPECT_THAT(container.Steps("init ctx alloc:20180 alloc:1"), EndsWith("alloc 0\nalloc 2\n"));
  EXPECT_THAT(container.Stderr(), HasSubstr("put in order"));
}

// It is not always the ledger that keeps a program from its ledger.
TEST(ShareLimitsTest, SaysWhyALedgerIsOutOfReach) {
  const Container missing;
  std::filesystem::remove(missing.folder().At("kgpu-slots/0/ledger"));
  EXPECT_EQ(missing.Steps("init ctx"), "init 0\nctx 800\n");
  EXPECT_THAT(missing.Stderr(),
              HasSubstr("kgpu-slots/0/ledger: cannot be opened (errno 2): it is missing"));
  const Container folder;
  std::filesystem::remove(folder.folder().At("kgpu-slots/0/ledger"));
  std::filesystem::create_directory(folder.folder().At("kgpu-slots/0/ledger"));
  EXPECT_EQ(folder.Steps("init ctx"), "init 0\nctx 800\n");
  EXPECT_THAT(folder.Stderr(), HasSubstr("(errno 21): it is not a file"));
  const Container busy;
  EXPECT_THAT(busy.Steps("init table:1 use-descriptors ctx"), EndsWith("ctx 800\n"));
  EXPECT_THAT(busy.Stderr(), HasSubstr("this process has no descriptor left: raise ulimit -n"));
  const Container small;
  EXPECT_THAT(small.Run("share_client dlsym init ctx", "ulimit -f 1; trap '' XFSZ;"),
              EndsWith("ctx 800\n"));
  EXPECT_THAT(small.Stderr(), HasSubstr("cannot be made longer (errno 27)"));
}

// A process of the container has cut it; who has it mapped must not end by that.
TEST(ShareLimitsTest, ALedgerThatIsCutShortEndsNoProgram) {
  const Container container;
  HeldClient client(container, "init ctx alloc:1000",
                    "alloc:10 free alloc:10 info hold alloc:20000 info");
  std::filesystem::resize_file(container.folder().At("kgpu-slots/0/ledger"), 0);
  EXPECT_TRUE(client.GoOn());
  EXPECT_EQ(client.text(),
            "hold 1\nalloc 800\nfree 0\nalloc 800\ninfo 0 free=0 total=20480 device=20480\n");
  EXPECT_EQ(container.Stderr(),
            "kgpu-share: the ledger was cut short; no GPU memory is allocated until the agent has "
            "made it whole again, within a minute\n");
  std::filesystem::resize_file(container.folder().At("kgpu-slots/0/ledger"), preload::kLedgerSize);
  EXPECT_TRUE(client.GoOn());
  EXPECT_EQ(client.text(), "hold 1\nalloc 0\ninfo 0 free=180 total=20480 device=20480\n")
      << "what was freed meanwhile is free";
}

TEST(ShareLimitsTest, SaysNothingWithoutAProblem) {
  const Container container;
  (void)container.Steps("init ctx alloc:30000 alloc:1 free info");
  EXPECT_EQ(container.Stderr(), "");
}

}  // namespace
}  // namespace kgpu::share
