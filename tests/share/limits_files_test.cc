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
  EXPECT_THAT(missing.Stderr(), HasSubstr("kgpu-slots/0/limits: cannot be read"));
  const Container no_ledger;
  std::filesystem::remove(no_ledger.folder().At("kgpu-slots/0/ledger"));
  EXPECT_EQ(no_ledger.Steps(kAll), kRefused);
  EXPECT_THAT(no_ledger.Stderr(), HasSubstr("kgpu-slots/0/ledger: cannot be opened"));
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

TEST(ShareLimitsTest, SaysNothingWithoutAProblem) {
  const Container container;
  (void)container.Steps("init ctx alloc:30000 alloc:1 free info");
  EXPECT_EQ(container.Stderr(), "");
}

}  // namespace
}  // namespace kgpu::share
