// Real containers, by runc, with the mounts that a slice brings: the library that ships, preloaded
// by the container's own loader.
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <string>

#include "src/preload/ledger.h"
#include "testing/shell.h"
#include "testing/temp_dir.h"

namespace kgpu::share {
namespace {

using testing::HasSubstr;

constexpr uint64_t kMiB = 1 << 20;
// Of 512 MiB each, beside a context of 300 MiB, in 20 GiB.
constexpr char kPieces[] = "linked 39\n";

class ShareContainerTest : public ::testing::Test {
 protected:
  ShareContainerTest() {
    root_.WriteFile("slots/0/limits",
                    "version 1\ndevice GPU-00000000-0000-0000-0000-000000000000\nmemory " +
                        std::to_string(20480 * kMiB) + "\ncontext " + std::to_string(300 * kMiB) +
                        "\n");
    root_.WriteFile("slots/0/ledger", "");
    root_.WriteFile("preload", "/usr/lib/kgpu/libkgpu-share.so\n");
    EXPECT_EQ(chmod(root_.At("slots/0/ledger").c_str(), 0666), 0);
    EXPECT_EQ(chmod(root_.path().c_str(), 0755), 0);
  }
  void SetUp() override {
    if (geteuid() != 0) {
      GTEST_SKIP() << "containers need root";
    }
    if (Shell("runc --version").code != 0) {
      GTEST_SKIP() << "runc is not installed";
    }
    MakeRoot();
    const Outcome started = Run({.arguments = R"("/bin/sh", "-c", "echo started")"});
    if (started.text != "started\n") {
      GTEST_SKIP() << "runc cannot start a container here: " << started.text;
    }
  }

  struct Options {
    std::string arguments;  // JSON texts
    std::string environment = R"("PATH=/bin:/usr/bin")";
    unsigned user = 0;
  };

  void MakeRoot() const {
    const std::string folder = KGPU_SHARE_FOLDER;
    const Outcome made = Shell("bash -c '. " KGPU_SOURCE_DIR "/scripts/container.sh; make_rootfs " +
                               root_.At("rootfs") + " " + folder + "/share_linked_client " +
                               folder + "/share_static_client'");
    ASSERT_EQ(made.code, 0) << made.text;
    const Outcome libc =
        Shell("dirname $(ldd " + folder +
              "/share_linked_client | sed -n 's/.*=> \\(.*libc.so.6\\) .*/\\1/p')");
    std::string libraries = libc.text.substr(0, libc.text.find('\n'));
    std::filesystem::copy_file(folder + "/bare/libcuda.so.1",
                               root_.At("rootfs") + libraries + "/libcuda.so.1");
    root_.MakeDir("rootfs/usr/lib/kgpu");
    std::filesystem::copy_file(root_.At("rootfs/usr/bin/share_linked_client"),
                               root_.At("rootfs/usr/bin/with_setuid"));
    ASSERT_EQ(chmod(root_.At("rootfs/usr/bin/with_setuid").c_str(), 04755), 0);
  }

  std::string Mount(const std::string& from, const std::string& to, const char* mode) const {
    return R"({"type": "bind", "source": ")" + from + R"(", "destination": ")" + to +
           R"(", "options": ["bind", ")" + mode + "\"]}";
  }

  void WriteConfig(const Options& options) const {
    const std::string slot = "/usr/lib/kgpu/slots/0/";
    const std::string user = std::to_string(options.user);
    root_.WriteFile(
        "config.json",
        R"({"ociVersion": "1.0.2", "root": {"path": "rootfs"}, "process": {"cwd": "/", "user": {"uid": )" +
            user + R"(, "gid": )" + user + R"(}, "env": [)" + options.environment +
            R"(], "args": [)" + options.arguments + R"(]}, "mounts": [)" +
            R"({"type": "proc", "source": "proc", "destination": "/proc"}, )" +
            Mount(root_.At("preload"), "/etc/ld.so.preload", "ro") + ", " +
            Mount(KGPU_SHARE_LIBRARY, "/usr/lib/kgpu/libkgpu-share.so", "ro") + ", " +
            Mount(root_.At("slots/0/limits"), slot + "limits", "ro") + ", " +
            Mount(root_.At("slots/0/ledger"), slot + "ledger", "rw") +
            R"(], "linux": {"namespaces": [{"type": "pid"}, {"type": "mount"}]}})");
  }
  Outcome Run(const Options& options) const {
    WriteConfig(options);
    return Shell("cd " + root_.path() + " && runc --root " + root_.At("runc") + " run kgpu-share-" +
                 std::to_string(getpid()));
  }
  preload::LedgerHeader Header() const {
    preload::LedgerHeader header{};
    const std::string text = root_.ReadFile("slots/0/ledger");
    memcpy(static_cast<void*>(&header), text.data(), std::min(text.size(), sizeof(header)));
    return header;
  }

  TempDir root_;
};

TEST_F(ShareContainerTest, StopsAProgramAtTheSliceAndTheNextOneHasAllOfIt) {
  EXPECT_EQ(Run({.arguments = R"("share_linked_client")"}).text, kPieces);
  EXPECT_EQ(Header().total, (39 * 512 + 300) * kMiB);  // for the agent to see
  EXPECT_EQ(Run({.arguments = R"("share_linked_client")"}).text, kPieces);
  EXPECT_EQ(Header().magic, preload::kLedgerMagic);
}

TEST_F(ShareContainerTest, OneContainerIsOneLimitForAllItsProcesses) {
  const Outcome both = Run(
      {.arguments =
           R"("/bin/sh", "-c", "share_linked_client > /tmp/one & share_linked_client > /tmp/two; wait; cat /tmp/one /tmp/two")"});
  // One may have ended before the other began; together they never have more than there is.
  EXPECT_THAT(both.text, HasSubstr("linked "));
  EXPECT_LE(Header().peak, 20480 * kMiB);
  EXPECT_GT(Header().peak, (20480 - 512) * kMiB);
  EXPECT_GE(Header().refused, 2U);
}

// As kubectl exec and SSH do: not a child of the container's first process.
TEST_F(ShareContainerTest, HoldsForProcessesThatJoinLater) {
  const std::string name = "kgpu-share-" + std::to_string(getpid());
  const std::string runc = "runc --root " + root_.At("runc") + " ";
  WriteConfig({.arguments = R"("/bin/sh", "-c", "cat /tmp/wait")"});
  ASSERT_EQ(mkfifo((root_.At("rootfs") + "/tmp/wait").c_str(), 0600), 0);
  const Outcome joined =
      Shell("cd " + root_.path() + " && " + runc + "run -d " + name + " >/dev/null </dev/null && " +
            runc + "exec " + name + " share_linked_client; " + runc + "delete -f " + name);
  EXPECT_EQ(joined.text, kPieces);
}

TEST_F(ShareContainerTest, HoldsForSetuidProgramsOfOtherUsers) {
  EXPECT_EQ(Run({.arguments = R"("share_linked_client")", .user = 1000}).text, kPieces);
  EXPECT_EQ(Run({.arguments = R"("with_setuid")", .user = 1000}).text, kPieces);
}

TEST_F(ShareContainerTest, CannotBeTurnedOffFromInside) {
  EXPECT_EQ(Run({.arguments = R"("share_linked_client")",
                 .environment = R"("PATH=/bin:/usr/bin", "LD_PRELOAD=", "LD_BIND_NOW=1", )"
                                R"("CUDA_DISABLE_CONTROL=true", "LD_LIBRARY_PATH=/tmp")"})
                .text,
            kPieces);
  EXPECT_EQ(
      Run({.arguments =
               R"("/bin/sh", "-c", "for file in /etc/ld.so.preload /usr/lib/kgpu/libkgpu-share.so /usr/lib/kgpu/slots/0/limits; do if echo x 2>/dev/null >$file; then echo written; fi; done 2>/dev/null; share_linked_client")"})
          .text,
      kPieces);
}

// What the loader does not load, it cannot preload: the agent's view from outside catches these.
TEST_F(ShareContainerTest, DoesNotCoverStaticPrograms) {
  EXPECT_EQ(Run({.arguments = R"("share_static_client")"}).text, "static 1000\n");
  EXPECT_EQ(Header().total, 0U);
}

}  // namespace
}  // namespace kgpu::share
