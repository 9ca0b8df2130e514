// Hostile images and hostile requests: none gets anything outside of its container written or read,
// none hangs, each refusal says what it is.
#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "src/container/inject/index.h"
#include "tests/shim/box.h"

namespace kgpu::e2e {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::Not;

// Far more than any of these take, far less than a test may.
constexpr std::chrono::seconds kLimit{30};
constexpr int kKilled = 137;

class AttackTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const std::string reason = WhyNotWith("runc"); !reason.empty()) {
      GTEST_SKIP() << reason;
    }
    host_ = std::make_unique<SimHost>("4xT4");
    PrepareHost(*host_);
    victim_.MakeDir("folder");
    victim_.WriteFile("folder/file", "untouched");
  }

  // Those that are here; the shim starts the one that the host's configuration names.
  std::vector<std::string> Runtimes() const {
    std::vector<std::string> here = {"runc", "crun"};
    std::erase_if(here, [](const std::string& runtime) { return !WhyNotWith(runtime).empty(); });
    return here;
  }
  void UseRuntime(const std::string& runtime) const {
    host_->dir().WriteFile("host/etc/kgpu/runtime.json",
                           fmt::format(R"({{"runtimes": ["{}"]}})", runtime));
  }

  // Everything that is mounted into a container with a GPU.
  std::set<std::string> Targets() const {
    const auto index =
        inject::ParseIndex(host_->dir().ReadFile("host/run/kgpu/injection.json"), "index");
    std::set<std::string> paths;
    for (const cdi::Mount& mount : inject::MountsFor(*index, inject::kDefaultCapabilities)) {
      paths.insert(mount.container_path);
    }
    return paths;
  }

  void ExpectVictimUntouched() const {
    std::vector<std::string> found;
    for (const auto& entry : fs::recursive_directory_iterator(victim_.path())) {
      found.push_back(entry.path().filename());
    }
    EXPECT_THAT(found, ::testing::UnorderedElementsAre("folder", "file"));
    EXPECT_EQ(victim_.ReadFile("folder/file"), "untouched");
  }

  std::unique_ptr<SimHost> host_;
  TempDir victim_;  // of the host, outside of every container
};

TEST_F(AttackTest, AHostilePreloadRunsInsideTheContainerOnly) {
  const Box box(*host_);
  fs::copy_file(KGPU_ESCAPE_LIBRARY, box.rootfs() + "/usr/bin/escape.so");
  std::ofstream(box.rootfs() + "/etc/ld.so.preload") << "/usr/bin/escape.so\n";
  box.AddEnv("LD_PRELOAD=/usr/bin/escape.so");
  box.AddEnv("LD_LIBRARY_PATH=/usr/bin");
  box.AddEnv("KGPU_TEST_ESCAPE=" + victim_.At("folder/escaped"));
  box.AddGpus("0");
  box.SetScript("load-library libcuda.so.1; ls /dev");
  const Result result = box.Run(kLimit);
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("hostile library loaded"), HasSubstr("nvidia0\n")));
  ExpectVictimUntouched();
}

TEST_F(AttackTest, LinksAtEveryPathThatIsMountedToLeadNowhere) {
  const std::string folder = victim_.At("folder");
  const std::string climbing = "/../../../../../../../.." + folder;
  const std::string missing = victim_.At("new");
  std::vector<std::pair<std::string, std::string>> rounds;
  for (const std::string& runtime : Runtimes()) {
    for (const std::string& target : {folder, climbing, missing}) {
      rounds.emplace_back(runtime, target);
    }
  }
  for (const auto& [runtime, target] : rounds) {
    UseRuntime(runtime);
    const Box box(*host_, runtime);
    for (const std::string& path : Targets()) {
      fs::create_directories(box.rootfs() + fs::path(path).parent_path().string());
      fs::remove(box.rootfs() + path);
      fs::create_symlink(target, box.rootfs() + path);
    }
    box.AddGpus("0");
    box.SetScript("echo started");
    const Result result = box.Run(kLimit);
    EXPECT_NE(result.code, kKilled);
    // The runtime may make the target inside of the container, or refuse.
    EXPECT_THAT(result.out + result.err + box.log(),
                AnyOf(HasSubstr("started"), HasSubstr("error")));
    ExpectVictimUntouched();
  }
}

TEST_F(AttackTest, FoldersThatAreLinksOutOfTheImageLeadNowhere) {
  for (const std::string& runtime : Runtimes()) {
    UseRuntime(runtime);
    const Box box(*host_, runtime);
    for (const char* folder : {"/usr/lib64", "/run", "/lib/firmware"}) {
      fs::remove_all(box.rootfs() + folder);
      fs::create_directories(box.rootfs() + fs::path(folder).parent_path().string());
      fs::create_symlink(victim_.At("folder"), box.rootfs() + folder);
    }
    box.AddGpus("0");
    box.SetScript("echo started");
    EXPECT_NE(box.Run(kLimit).code, kKilled);
    ExpectVictimUntouched();
  }
}

// Exchanges two names in one step, as fast as the kernel does, while it lives.
class Racer {
 public:
  Racer(std::string a, std::string b)
      : thread_([a = std::move(a), b = std::move(b)](const std::stop_token& stop) {
          while (!stop.stop_requested()) {
            (void)renameat2(AT_FDCWD, a.c_str(), AT_FDCWD, b.c_str(), RENAME_EXCHANGE);
          }
        }) {}

 private:
  std::jthread thread_;
};

TEST_F(AttackTest, ARaceThatSwapsFoldersForLinksWinsNothingOfUs) {
  // Without a runtime behind the shim: all that happens to files is our doing.
  UseRuntime("/bin/true");
  const Box box(*host_);
  box.AddGpus("0");
  const std::string asking = box.spec();
  fs::create_directories(box.rootfs() + "/usr/lib64");
  fs::create_directory_symlink(victim_.At("folder"), box.rootfs() + "/usr/link");
  {
    const Racer racer(box.rootfs() + "/usr/lib64", box.rootfs() + "/usr/link");
    for (int round = 0; round < 100; ++round) {
      box.dir().WriteFile("bundle/config.json", asking);
      EXPECT_EQ(box.Run(kLimit).code, 0);
    }
  }
  EXPECT_THAT(box.spec(), HasSubstr("/dev/nvidia0"));
  ExpectVictimUntouched();
}

TEST_F(AttackTest, ARaceThatSwapsFoldersForLinksGetsNothingMountedOrWritten) {
  const Box box(*host_);
  box.AddGpus("0");
  box.SetScript("cat /usr/lib64/file; echo started");
  const std::string asking = box.spec();
  fs::create_directories(box.rootfs() + "/usr/lib64");
  fs::create_directory_symlink(victim_.At("folder"), box.rootfs() + "/usr/link");
  {
    const Racer racer(box.rootfs() + "/usr/lib64", box.rootfs() + "/usr/link");
    for (int round = 0; round < 15; ++round) {
      box.dir().WriteFile("bundle/config.json", asking);
      const Result result = box.Run(kLimit);
      EXPECT_NE(result.code, kKilled);
      EXPECT_THAT(result.out, Not(HasSubstr("untouched")));
      (void)box.Call({"delete", "--force", box.id()}, kLimit);
    }
  }
  EXPECT_EQ(victim_.ReadFile("folder/file"), "untouched");
  // runc before 1.1.14 loses this race so far as to make empty files (CVE-2024-45310), whoever asks
  // it for a mount.
  for (const auto& entry : fs::directory_iterator(victim_.At("folder"))) {
    const uintmax_t size = entry.is_regular_file() ? entry.file_size() : 0;
    EXPECT_EQ(size, entry.path().filename() == "file" ? 9U : 0U) << entry.path();
  }
}

TEST_F(AttackTest, ARaceThatSwapsTheSpecForALinkWinsNothing) {
  const Box box(*host_);
  box.AddGpus("0");
  const std::string spec = box.bundle() + "/config.json";
  const std::string link = box.bundle() + "/link";
  fs::create_symlink(victim_.At("folder/file"), link);
  {
    const Racer racer(spec, link);
    for (int round = 0; round < 50; ++round) {
      EXPECT_NE(box.Run(kLimit).code, kKilled);
      (void)box.Call({"delete", "--force", box.id()}, kLimit);
    }
  }
  ExpectVictimUntouched();
}

struct Refusal {
  std::string name;
  std::string asked;
  std::string error;
};

TEST_F(AttackTest, NamesThatClimbAreRefusedWithTheirReason) {
  std::string many = "0";
  for (int i = 1; i < 10'000; ++i) {
    many += fmt::format(",{}", i);
  }
  for (const Refusal& one :
       std::vector<Refusal>{{"climbing", "../../dev/sda", "must be an index, UUID"},
                            {"absolute", "/dev/sda", "no GPU"},
                            {"climbing CDI", "kgpu.dev/gpu=../0", "kgpu.dev/gpu=../0"},
                            {"escape sequence", "\x1b]0;x", "must be an index, UUID"},
                            {"10,000", many, "10000 devices requested, limit 1024"}}) {
    const Box box(*host_);
    box.AddGpus(one.asked);
    const Result result = box.Run(kLimit);
    EXPECT_EQ(result.code, 1) << one.name;
    EXPECT_THAT(result.err,
                AllOf(HasSubstr("kgpu-runtime: "), HasSubstr(one.error), Not(HasSubstr("\x1b"))))
        << one.name;
    EXPECT_THAT(box.log(), HasSubstr(R"("level":"error")")) << one.name;
  }
  const Box box(*host_);
  box.AddMount("/var/run/nvidia-container-devices/../../../etc/shadow", "/dev/null");
  EXPECT_THAT(box.Run(kLimit).err, HasSubstr("its path must be normalized"));
}

TEST_F(AttackTest, ASpecOf64MebibytesIsRefusedAtOnce) {
  const Box box(*host_);
  box.AddGpus("0");
  fs::resize_file(box.bundle() + "/config.json", uintmax_t{64} << 20);
  const auto start = std::chrono::steady_clock::now();
  const Result result = box.Run(kLimit);
  EXPECT_EQ(result.code, 1);
  EXPECT_THAT(result.err, HasSubstr("67108864 bytes exceed the limit of 4194304"));
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(10));
}

TEST_F(AttackTest, ASpecThatIsAPipeIsRefusedWithoutWaiting) {
  const Box box(*host_);
  fs::remove(box.bundle() + "/config.json");
  ASSERT_EQ(RunProgram({"/usr/bin/mkfifo", box.bundle() + "/config.json"}).code, 0);
  const Result result = box.Run(kLimit);
  EXPECT_EQ(result.code, 1);
  EXPECT_THAT(result.err, HasSubstr("not a file"));
}

TEST_F(AttackTest, TheEnvironmentOfTheShimDecidesNothing) {
  const Box box(*host_);
  box.SetScript("ls /dev; echo started");
  const Result result =
      RunProgram({"/usr/bin/env", "NVIDIA_VISIBLE_DEVICES=all", "PATH=" + box.rootfs() + "/usr/bin",
                  "LD_PRELOAD=" KGPU_ESCAPE_LIBRARY,
                  "KGPU_TEST_ESCAPE=" + victim_.At("folder/escaped-env"), "HOME=/nonexistent",
                  ProgramPath("kgpu-runtime"), "--kgpu-root", host_->path(), "--version"});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("runc version"));
}

}  // namespace
}  // namespace kgpu::e2e
