// Programs in a slot that had another tenant before: nothing that the former one has done to the
// ledger, or still holds of it, keeps them from their memory.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <vector>

#include "src/node/sharing/memory/memory.h"
#include "src/node/slices/slice_files.h"
#include "src/platform/base/unique_fd.h"
#include "testing/elf_library.h"
#include "testing/status_matchers.h"
#include "tests/share/container.h"

namespace kgpu::share {
namespace {

using testing::EndsWith;

struct Act {
  const char* name;
  void (*act)(int file);
};

void LockEntries(int file) {
  for (uint32_t entry = 0; entry < preload::kLedgerEntries; ++entry) {
    struct flock lock = {};
    lock.l_type = F_WRLCK;
    lock.l_start = static_cast<off_t>(offsetof(preload::Ledger, entries) +
                                      entry * sizeof(preload::LedgerEntry));
    lock.l_len = 1;
    EXPECT_EQ(fcntl(file, F_OFD_SETLK, &lock), 0);
  }
}

void Overwrite(int file) {
  const std::string text(preload::kLedgerSize, '\x5a');
  EXPECT_EQ(pwrite(file, text.data(), text.size(), 0), static_cast<ssize_t>(text.size()));
}

class ShareTenantsTest : public testing::TestWithParam<Act> {
 protected:
  ShareTenantsTest() {
    folder_.WriteFile("lib.so", ElfLibrary(""));
    EXPECT_OK(slices::WriteSliceFiles(options_, {{.id = "GPU-a::0",
                                                  .device_uuid = kDevice,
                                                  .memory = GibiBytes(20),
                                                  .share = {.by = &sharing::kMemory}}}));
  }
  // Gives the slot to a container, as the agent does when the kubelet asks.
  void GiveTo(const Container& container) const {
    const std::vector<std::string> ids = {"GPU-a::0"};
    ASSERT_OK(slices::RenewLedgers(options_, ids));
    const std::string ledger = container.folder().At("kgpu-slots/0/ledger");
    std::filesystem::remove(ledger);
    std::filesystem::create_hard_link(folder_.At("share/GPU-a_0.ledger"), ledger);
  }

  TempDir folder_;
  slices::SliceFilesOptions options_{
      .library = folder_.At("lib.so"), .folder = folder_.At("share"), .engine_folder = "/s"};
};

TEST_P(ShareTenantsTest, WhatTheFormerOneDidBeforeIsOver) {
  const Container former;
  GiveTo(former);
  EXPECT_THAT(former.Steps("init ctx alloc:1000"), EndsWith("alloc 0\n"));
  const UniqueFd held(open(former.folder().At("kgpu-slots/0/ledger").c_str(), O_RDWR | O_CLOEXEC));
  ASSERT_TRUE(held.is_valid());
  GetParam().act(held.get());
  const Container next;
  GiveTo(next);
  EXPECT_THAT(next.Steps("init ctx alloc:20180 alloc:1"), EndsWith("alloc 0\nalloc 2\n"));
  EXPECT_EQ(next.Stderr(), "");
}

TEST_P(ShareTenantsTest, WhatTheFormerOneDoesNowMeetsNobody) {
  const Container former;
  GiveTo(former);
  const UniqueFd held(open(former.folder().At("kgpu-slots/0/ledger").c_str(), O_RDWR | O_CLOEXEC));
  ASSERT_TRUE(held.is_valid());
  const Container next;
  GiveTo(next);
  HeldClient client(next, "init ctx alloc:1000", "alloc:1000 info");
  GetParam().act(held.get());
  EXPECT_TRUE(client.GoOn());
  EXPECT_THAT(client.text(), EndsWith("alloc 0\ninfo 0 free=18180 total=20480 device=20480\n"));
  EXPECT_THAT(next.Steps("init ctx alloc:1000"), EndsWith("alloc 0\n"));
  EXPECT_EQ(next.Stderr(), "");
}

INSTANTIATE_TEST_SUITE_P(
    Acts, ShareTenantsTest,
    testing::Values(Act{"Truncates", [](int file) { EXPECT_EQ(ftruncate(file, 0), 0); }},
                    Act{"Locks", &LockEntries},
                    Act{"Chmods", [](int file) { EXPECT_EQ(fchmod(file, 0), 0); }},
                    Act{"Overwrites", &Overwrite}),
    [](const auto& tested) { return std::string(tested.param.name); });

}  // namespace
}  // namespace kgpu::share
